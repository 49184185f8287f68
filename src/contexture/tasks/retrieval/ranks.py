"""Recall@k of retrieval question answering (two-tower paper, section 4.1), over the whole set of candidates.

A candidate is a (sentence, passage) pair. A question is answered at k if its gold pair is among the first k that were
found (the paper's footnote 3). The laxer count takes any pair whose sentence reads as that of a gold pair does.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from contexture.metrics.scores import to_records
from contexture.tasks.retrieval.reqa import stable_id

Rows = NDArray[np.int64]

RECALL_AT = (1, 5, 10, 50, 100)
#: The columns of `recalls` and the metric names of the records: the gold pair, then the laxer count.
METRICS = [f"{count}_at_{k}" for count in ("recall", "sentence_recall") for k in RECALL_AT]


def gold_rows(questions: pd.DataFrame, candidates: pd.DataFrame) -> list[Rows]:
    """Return the rows in `candidates` of every question's answers.

    Args:
        questions: question_id, answers (list of candidate ids).
        candidates: candidate_id; row numbers are places in this table, whatever its index.

    Raises:
        ValueError: for no candidates, a candidate id that occurs twice, a question without an answer or with one that
            is not among the candidates, naming it.
    """
    if candidates.empty:
        raise ValueError("there are no candidates to retrieve: the table of candidates is empty")
    places = pd.Index(candidates["candidate_id"])
    if not places.is_unique:
        raise ValueError(f"candidate {places[places.duplicated()][0]} occurs twice: give each an id of its own")
    answers = questions["answers"].reset_index(drop=True).explode()
    rows = places.get_indexer(pd.Index(answers))
    if (rows < 0).any():
        place = int(np.argmax(rows < 0))
        question, answer = questions["question_id"].iloc[answers.index[place]], answers.iloc[place]
        what = "has no answer" if pd.isna(answer) else f"is answered by {answer}, which is not among the candidates"
        raise ValueError(f"question {question} {what}: make questions and candidates from the same files")
    bounds = np.flatnonzero(np.diff(answers.index.to_numpy(), prepend=-1))
    return np.split(rows.astype(np.int64), bounds[1:]) if len(rows) else []


def question_ranks(questions: pd.DataFrame, candidates: pd.DataFrame, found: Rows) -> pd.DataFrame:
    """Return where the first right candidate of every question was found.

    Args:
        questions: question_id, answers (list of candidate ids).
        candidates: candidate_id, sentence; all that were searched.
        found: [Q, K] rows of `candidates`, best first, −1 where nothing was found.

    Returns:
        One row a question: question_id, rank of the gold pair and sentence_rank of the gold sentence in any passage,
        both from 1, and 0 if it is not among the K.

    Raises:
        ValueError: for what `gold_rows` refuses, and if `found` has other questions or too few places for R@100.
    """
    gold = gold_rows(questions, candidates)
    depth = min(max(RECALL_AT), len(candidates))
    if len(found) != len(gold) or found.shape[1] < depth:
        raise ValueError(f"expected the {depth} best candidates of {len(gold)} questions, got an array {found.shape}")
    sentences, _ = pd.factorize(candidates["sentence"])
    found_sentences = np.where(found < 0, -1, sentences[found])
    return pd.DataFrame(
        {
            "question_id": questions["question_id"].to_numpy(),
            "rank": _first(found, gold),
            "sentence_rank": _first(found_sentences, [sentences[rows] for rows in gold]),
        }
    )


def recalls(ranks: pd.DataFrame) -> pd.DataFrame:
    """Turn what `question_ranks` returns into question_id and the columns METRICS, each 0.0 or 1.0."""
    values = {
        f"{count}_at_{k}": ranks[column].between(1, k).astype("float64")
        for count, column in (("recall", "rank"), ("sentence_recall", "sentence_rank"))
        for k in RECALL_AT
    }
    return pd.DataFrame({"question_id": ranks["question_id"], **values})


def average_recalls(table: pd.DataFrame, system: str, task: str) -> list[dict[str, Any]]:
    """Average the recalls of questions into the records of `metrics.json`.

    Args:
        table: what `recalls` returns, with the columns variant, seed and split (the share trained on, "1%").
        system: such as "two_tower".
        task: the name of the ReQA set, such as "squad".

    Returns:
        One record a variant, seed, split and metric, with the keys system, variant, task, split, metric,
        value (0..1), seed.
    """
    return to_records(table, METRICS, system, task)


def grow(candidates: pd.DataFrame, others: pd.DataFrame, count: int, seed: int) -> pd.DataFrame:
    """Add `count` other pairs to the candidates: the open-domain setting (section 4.4), where they are never right.

    Which ones is a function of the seed and their ids; a larger count adds to those of a smaller one. Pairs that are
    candidates already are left out. The rows of the candidates stay the first ones, in their order.

    Args:
        candidates: candidate_id, sentence, passage and more.
        others: the same columns, with ids of their own.
        count: how many to add.
        seed: of the draw.

    Raises:
        ValueError: if there are fewer others, or one has the id of a candidate.
    """
    known = set(zip(candidates["sentence"], candidates["passage"], strict=True))
    others = others.sort_values("candidate_id").drop_duplicates(["sentence", "passage"])
    new = others[[pair not in known for pair in zip(others["sentence"], others["passage"], strict=True)]]
    if len(new) < count:
        raise ValueError(
            f"cannot add {count} pairs to the candidates: the corpus holds {len(new)} others; ask for fewer"
        )
    drawn = sorted(range(len(new)), key=[draw(seed, name) for name in new["candidate_id"]].__getitem__)[:count]
    grown = pd.concat([candidates, new.iloc[drawn]], ignore_index=True)[candidates.columns.tolist()]
    if not grown["candidate_id"].is_unique:
        twice = grown["candidate_id"][grown["candidate_id"].duplicated()].iloc[0]
        raise ValueError(f"candidate {twice} is also the id of another pair: give the pairs of the corpus other ids")
    return grown


def draw(seed: int, name: str) -> str:
    """What pairs are ordered by to draw some of them."""
    return stable_id(f"{seed} {name}")


def _first(found: Rows, gold: Sequence[Rows]) -> Rows:
    """Rank from 1 of the first of the gold numbers in each line, 0 where there is none."""
    right = [np.isin(line, numbers) for line, numbers in zip(found, gold, strict=True)]
    hits = np.array(right, np.bool_).reshape(found.shape)
    return np.where(hits.any(axis=1), hits.argmax(axis=1) + 1, 0)

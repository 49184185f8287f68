"""Recall@k of retrieval question answering (two-tower paper, section 4.1), over the whole set of candidates.

A candidate is a (sentence, passage) pair. A question is answered at k if its gold pair is among the first k that were
found (the paper's footnote 3). The laxer count takes any pair whose sentence reads as that of a gold pair does.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from contexture.metrics.top import NOTHING, Rows
from contexture.reporting.records import RECALL_AT

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
    found_sentences = np.where(found < 0, NOTHING, sentences[found])
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


def _first(found: Rows, gold: Sequence[Rows]) -> Rows:
    """Rank from 1 of the first of the gold numbers in each line, 0 where there is none."""
    right = [np.isin(line, numbers) for line, numbers in zip(found, gold, strict=True)]
    hits = np.array(right, np.bool_).reshape(found.shape)
    return np.where(hits.any(axis=1), hits.argmax(axis=1) + 1, 0)

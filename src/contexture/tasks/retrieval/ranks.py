"""Recall@k of retrieval question answering (two-tower paper, section 4.1) over all candidates.

A candidate is a (sentence, passage) pair. A question is answered at k if a gold pair is among the first k (footnote 3).
The sentence recall also accepts the gold sentence in another passage.
"""

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
from pandas.util import hash_array

from contexture.retrieval.top import NO_ROW, Rows
from contexture.tasks.retrieval.config import RECALL_AT

Hashes = npt.NDArray[np.uint64]
#: Columns of candidates that are read.
READ_COLUMNS = ["candidate_id", "sentence"]
#: Columns of `recalls` and metrics of the records.
METRICS = [f"{count}_at_{k}" for count in ("recall", "sentence_recall") for k in RECALL_AT]


def gold_rows(questions: pd.DataFrame, candidates: Iterable[pa.RecordBatch]) -> tuple[list[Rows], Hashes]:
    """Return the rows of each question's right answers among the candidates, and a hash of each candidate sentence.

    `questions` has question_id and answers (list of candidate ids); `candidates`, read once, candidate_id and sentence.
    Raises ValueError for no candidates, an answer that occurs twice among them, or a question without an answer among
    them.
    """
    answers = questions["answers"].reset_index(drop=True).explode()
    answer_ids = pd.Index(answers.dropna().unique())
    row_of = np.full(len(answer_ids) + 1, NO_ROW, np.int64)  # the last entry is for unknown ids
    hashes, count = list[Hashes](), 0
    for batch in candidates:
        positions = answer_ids.get_indexer(pd.Index(batch["candidate_id"].to_pandas()))
        rows = np.flatnonzero(positions >= 0)
        present_positions, counts = np.unique(positions[rows], return_counts=True)
        if len(repeated := present_positions[(counts > 1) | (row_of[present_positions] != NO_ROW)]):
            raise ValueError(f"candidate {answer_ids[repeated[0]]} occurs twice: give each candidate a unique id")
        row_of[positions[rows]] = rows + count
        hashes.append(hash_array(batch["sentence"].to_numpy(zero_copy_only=False), categorize=False))
        count += len(batch)
    if not count:
        raise ValueError("there are no candidates to retrieve: the table of candidates is empty")
    rows = row_of[answer_ids.get_indexer(pd.Index(answers))]
    if (rows < 0).any():
        first = int(np.argmax(rows < 0))
        question, answer = questions["question_id"].iloc[answers.index[first]], answers.iloc[first]
        problem = "has no answer" if pd.isna(answer) else f"is answered by {answer}, which is not among the candidates"
        raise ValueError(f"question {question} {problem}: make questions and candidates from the same files")
    bounds = np.flatnonzero(np.diff(answers.index.to_numpy(), prepend=-1))
    return np.split(rows, bounds[1:]) if len(rows) else [], np.concatenate(hashes)


def question_ranks(questions: pd.DataFrame, candidates: Iterable[pa.RecordBatch], ranked: Rows) -> pd.DataFrame:
    """Return the rank of each question's first right candidate among `ranked`, rows [Q, K], best first, padded with −1.

    Questions and candidates are as in `gold_rows`. The table has one row per question: question_id, rank of the gold
    pair and sentence_rank of the gold sentence in any passage, both from 1, or 0 if it is not among the K. Raises
    ValueError as `gold_rows` does, and if `ranked` has another number of questions or too few columns for R@100.
    """
    gold, sentences = gold_rows(questions, candidates)
    depth = min(max(RECALL_AT), len(sentences))
    if len(ranked) != len(gold) or ranked.shape[1] < depth:
        raise ValueError(f"expected the {depth} best candidates of {len(gold)} questions, got an array {ranked.shape}")
    is_row = ranked != NO_ROW
    return pd.DataFrame(
        {
            "question_id": questions["question_id"].to_numpy(),
            "rank": _first_rank(ranked, gold, is_row),
            "sentence_rank": _first_rank(sentences[ranked], [sentences[rows] for rows in gold], is_row),
        }
    )


def recalls(ranks: pd.DataFrame) -> pd.DataFrame:
    """Return a table of R@k of each question, 0.0 or 1.0, by ranks of `question_ranks`: question_id and METRICS."""
    values = {
        f"{count}_at_{k}": ranks[column].between(1, k).astype("float64")
        for count, column in (("recall", "rank"), ("sentence_recall", "sentence_rank"))
        for k in RECALL_AT
    }
    return pd.DataFrame({"question_id": ranks["question_id"], **values})


def _first_rank(ranked: Rows | Hashes, gold: Sequence[Rows | Hashes], is_row: npt.NDArray[np.bool_]) -> Rows:
    """Return the rank, from 1, of the first right candidate in each row of `ranked`; 0 for none.

    `gold` has the right numbers of each row; where `is_row` is false, there is no candidate.
    """
    right = [np.isin(line, numbers) for line, numbers in zip(ranked, gold, strict=True)]
    hits = np.array(right, np.bool_).reshape(ranked.shape) & is_row
    return np.where(hits.any(axis=1), hits.argmax(axis=1) + 1, 0)

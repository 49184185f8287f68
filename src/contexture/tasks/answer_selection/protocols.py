"""Protocols of joint models, which read k candidates at a time (MSPP paper, sections 3.2 and 4.3, appendix C.1).

*Grouped*: all candidates of a question in consecutive groups of k, ranked together by score (Table 1).
*Reranked*: only the top k of the pairwise model, in one group (Tables 2 and 7).

Tables have the rows of one run and split: `question_id`, `candidate_id`, `label` (0 or 1), `score`.
"""

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from contexture.metrics.scores import check_scores

KEYS = ["question_id"]


def rank_candidates(scores: pd.DataFrame) -> pd.DataFrame:
    """Return the rows sorted by question and, within it, best score first: question_id, score, label, candidate_id.

    Ties are resolved against the model: negatives before positives, then by `candidate_id`. The index is the row's
    position in `scores`. Raise ValueError for scores that `check_scores` rejects.
    """
    check_scores(scores, KEYS)
    by = [*KEYS, "score", "label", "candidate_id"]
    columns = scores[by].reset_index(drop=True)
    return columns.sort_values(by, ascending=[column != "score" for column in by], kind="stable")


def select_top_k(scores: pd.DataFrame, k: int) -> list[NDArray[np.int64]]:
    """Return the positions in `scores` of each question's top k, best first (`rank_candidates`), by question id."""
    rows = rank_candidates(scores)
    top = rows[rows.groupby(KEYS).cumcount() < k]
    return [of_question.index.to_numpy() for _, of_question in top.groupby("question_id", sort=True)]


def rerank(pairwise: pd.DataFrame, joint: ArrayLike) -> pd.DataFrame:
    """Return the candidates re-ranked: the pairwise model's top k by the joint model, then the rest in pairwise order.

    The new score is the rank from the bottom, as the models' scores have no common scale. Ties within either part stay
    ties. A positive outside the top k counts at its pairwise rank.

    Args:
        pairwise: question_id, candidate_id, label and score of the pairwise model for all candidates.
        joint: scores (n,) of the joint model for the rows of `select_top_k(pairwise, k)`, for any k; NaN for others.

    Returns:
        `pairwise` with the new score.

    Raises:
        ValueError: `check_scores` rejects the scores.
    """
    rows = rank_candidates(pairwise)
    second = np.asarray(joint, np.float64)[rows.index]
    rows["top"] = ~np.isnan(second)
    rows["own"] = np.where(rows["top"], second, rows["score"])
    rows["rank"] = rows.groupby([*KEYS, "top"])["own"].rank(method="dense")
    rest = rows["rank"].where(~rows["top"], 0).groupby(rows["question_id"]).transform("max")
    merged = rows["rank"] + rest.where(rows["top"], 0)
    return pairwise.assign(score=merged.sort_index().to_numpy())

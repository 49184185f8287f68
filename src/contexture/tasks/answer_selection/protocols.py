"""How candidates reach a joint model that takes k at a time (MSPP paper, sections 3.2 and 4.3, appendix C.1).

*Grouped*: all candidates of a question in consecutive groups of k, ranked together by their scores (Table 1).
*Reranked*: only the top k of the pairwise model, in one group (Tables 2 and 7).

The tables here are of one run and one split: `question_id`, `candidate_id`, `label` (0 or 1), `score`.
"""

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from contexture.metrics.scores import check_scores

KEYS = ["question_id"]


def group_candidates(n: int, k: int) -> list[range]:
    """Cut the candidates 0..n-1 into consecutive groups of k; the last one may be shorter.

    Padding the short group with slots that count as invalid is the caller's part.

    Raises:
        ValueError: if k is below 1 or n below 0.
    """
    if n < 0 or k < 1:
        raise ValueError(f"cannot cut {n} candidates into groups of {k}")
    return [range(start, min(start + k, n)) for start in range(0, n, k)]


def ranked(scores: pd.DataFrame) -> pd.DataFrame:
    """The rows by question, best first, with the columns question_id, score, label and candidate_id.

    Ties are decided by the worst case for the model: negatives before positives, then by `candidate_id`; never by the
    order of the rows. The index is the row's position in `scores`.

    Raises ValueError for scores that `check_scores` refuses.
    """
    check_scores(scores, KEYS)
    by = [*KEYS, "score", "label", "candidate_id"]
    columns = scores[by].reset_index(drop=True)
    return columns.sort_values(by, ascending=[column != "score" for column in by], kind="stable")


def top_k_by(scores: pd.DataFrame, k: int) -> list[NDArray[np.int64]]:
    """Return the k best scored candidates of each question (all, if it has fewer), as `ranked` has them.

    Args:
        scores: question_id, candidate_id, label, score.
        k: at least 1.

    Returns:
        One array a question, in the order of the question ids: positions of rows in `scores`, best first.

    Raises:
        ValueError: for scores that `check_scores` refuses, or k below 1.
    """
    if k < 1:
        raise ValueError(f"cannot keep the top {k} candidates")
    rows = ranked(scores)
    top = rows[rows.groupby(KEYS).cumcount() < k]
    return [found.index.to_numpy() for _, found in top.groupby("question_id", sort=True)]


def rerank(pairwise: pd.DataFrame, joint: ArrayLike) -> pd.DataFrame:
    """Put the joint model's order of the pairwise model's top k in front of the rest in pairwise order.

    The metrics are then defined over the whole list: a positive that the pairwise model left out of its top
    k counts at the rank it has there. As the two models' scores have no common scale, the new score is the
    place in the merged order counted from the bottom; candidates that were tied in their part stay tied.

    Args:
        pairwise: question_id, candidate_id, label, score of the pairwise model for all candidates.
        joint: [n] the joint model's scores for the rows that `top_k_by(pairwise, k)` names, whatever k, and
            NaN for all others.

    Returns:
        `pairwise`, in its own order of rows, with the new score.

    Raises:
        ValueError: for scores that `check_scores` refuses, lengths that differ, an infinite score, or a
            question whose jointly scored candidates are not the top of the pairwise order.
    """
    second = np.asarray(joint, np.float64)
    if second.shape != (len(pairwise),):
        raise ValueError(f"expected one joint score a row, {len(pairwise)}, got the shape {second.shape}")
    rows = ranked(pairwise)
    second = second[rows.index]
    rows["top"] = _checked_top(rows, second)
    rows["own"] = np.where(rows["top"], second, rows["score"])
    rows["place"] = rows.groupby([*KEYS, "top"])["own"].rank(method="dense")
    rest = rows["place"].where(~rows["top"], 0)
    places_below = rest.groupby(rows["question_id"]).transform("max")
    place = rows["place"] + places_below.where(rows["top"], 0)
    return pairwise.assign(score=place.sort_index().to_numpy())


def _checked_top(rows: pd.DataFrame, joint: NDArray[np.float64]) -> NDArray[np.bool_]:
    scored: NDArray[np.bool_] = ~np.isnan(joint)
    question = rows["question_id"].to_numpy()
    depth = rows.assign(scored=scored).groupby(KEYS)["scored"].transform("sum").to_numpy()
    rank = rows.groupby(KEYS).cumcount().to_numpy()
    bad = ((rank < depth) != scored) | (depth == 0) | np.isinf(joint)
    if bad.any():
        raise ValueError(
            f"the joint scores of question {question[bad][0]!r} are not finite scores of its top pairwise "
            "candidates and NaN for the others: score the rows of top_k_by(pairwise, k)"
        )
    return scored

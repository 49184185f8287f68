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


def rank_candidates(scores: pd.DataFrame) -> pd.DataFrame:
    """The rows by question, best first, with the columns question_id, score, label and candidate_id.

    Ties are broken by the worst case for the model: negatives before positives, then by `candidate_id`; never by the
    order of the rows. The index is the row's position in `scores`.

    Raises ValueError for scores that `check_scores` rejects.
    """
    check_scores(scores, KEYS)
    by = [*KEYS, "score", "label", "candidate_id"]
    columns = scores[by].reset_index(drop=True)
    return columns.sort_values(by, ascending=[column != "score" for column in by], kind="stable")


def select_top_k(scores: pd.DataFrame, k: int) -> list[NDArray[np.int64]]:
    """The `k` best scored candidates of each question, in the order of the question ids.

    Returns one array of positions in `scores` a question, best first as by `rank_candidates`, which may raise ValueError.
    """
    rows = rank_candidates(scores)
    top = rows[rows.groupby(KEYS).cumcount() < k]
    return [of_question.index.to_numpy() for _, of_question in top.groupby("question_id", sort=True)]


def rerank(pairwise: pd.DataFrame, joint: ArrayLike) -> pd.DataFrame:
    """Put the joint model's order of the pairwise model's top k in front of the rest in pairwise order.

    The metrics are then defined over the whole list: a positive that the pairwise model left out of its top k counts at
    its rank there. The two models' scores have no common scale: the new score is the rank in the merged order from the
    bottom; candidates that were tied in their part stay tied.

    Args:
        pairwise: question_id, candidate_id, label, score of the pairwise model for all candidates.
        joint: [n] the joint model's scores for the rows that `select_top_k(pairwise, k)` names, for any k, NaN for others.

    Returns:
        `pairwise`, in its own order of rows, with the new score.

    Raises ValueError for scores that `check_scores` rejects.
    """
    rows = rank_candidates(pairwise)
    second = np.asarray(joint, np.float64)[rows.index]
    rows["top"] = ~np.isnan(second)
    rows["own"] = np.where(rows["top"], second, rows["score"])
    rows["rank"] = rows.groupby([*KEYS, "top"])["own"].rank(method="dense")
    rest = rows["rank"].where(~rows["top"], 0).groupby(rows["question_id"]).transform("max")
    merged = rows["rank"] + rest.where(rows["top"], 0)
    return pairwise.assign(score=merged.sort_index().to_numpy())

"""Tables of what runs left behind: what must hold before they are measured, and the records that they make.

A table of scores has one row a candidate: `variant`, `seed`, `split`, `protocol`, `question_id`, `candidate_id`,
`label` (0 or 1), `score` (finite, higher is better).
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

#: What tells one run from another in a table of several.
RUN = ["variant", "seed", "split", "protocol"]
#: What tells one ranked list from another.
QUESTION = [*RUN, "question_id"]


def check_scores(scores: pd.DataFrame, question: Sequence[str] = QUESTION) -> None:
    """Raise ValueError, naming the question, unless `scores` can be ranked.

    Refused: a missing column, an empty key, a score that is not finite, a label other than 0 and 1, a candidate
    that occurs twice in one list.

    Args:
        scores: the columns `question`, candidate_id, label, score; others are left alone.
        question: the columns that tell one ranked list from another.
    """
    candidate = [*question, "candidate_id"]
    expected = [*candidate, "label", "score"]
    missing = [column for column in expected if column not in scores.columns]
    if missing:
        raise ValueError(f"the scores lack the columns {missing}; expected {expected}")
    finite = np.isfinite(scores["score"].to_numpy(dtype=np.float64))
    for what, bad in (
        ("an empty key", scores[candidate].isna().any(axis=1)),
        ("a score that is not finite (did the training diverge?)", ~finite),
        ("a label other than 0 and 1", ~scores["label"].isin([0, 1])),
        ("a candidate that is scored twice", scores.duplicated(candidate)),
    ):
        if bad.any():
            row = scores[np.asarray(bad)].iloc[0]
            place = ", ".join(f"{column}={row[column]}" for column in candidate)
            raise ValueError(f"{what}: score {row['score']}, label {row['label']} ({place})")


def to_records(table: pd.DataFrame, metrics: Sequence[str], task: str, data: str) -> list[dict[str, Any]]:
    """Average the metrics of questions.

    Args:
        table: one row a question: the columns `RUN`, and one for each of the metrics.
        metrics: the columns to average.
        task: such as "retrieval".
        data: what was measured on, such as "squad".

    Returns:
        One record a run and metric, with the keys variant, seed, task, data, protocol, split, metric, value.
    """
    means = table.groupby(RUN, sort=True)[list(metrics)].mean().reset_index()
    return [
        {
            "variant": str(run["variant"]),
            "seed": int(run["seed"]),
            "task": task,
            "data": data,
            "protocol": str(run["protocol"]),
            "split": str(run["split"]),
            "metric": metric,
            "value": float(run[metric]),
        }
        for run in means.to_dict("records")
        for metric in metrics
    ]

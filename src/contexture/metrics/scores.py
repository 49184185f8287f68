"""Check tables of scores, and average their metrics into records.

A table of scores has one row per candidate: `variant`, `seed`, `split`, `protocol`, `question_id`, `candidate_id`,
`label` (0 or 1), `score` (finite, higher is better).
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

#: The columns that identify a run.
RUN_COLUMNS = ["variant", "seed", "split", "protocol"]
#: The columns that identify a ranked list.
QUESTION_COLUMNS = [*RUN_COLUMNS, "question_id"]


def check_scores(scores: pd.DataFrame, question: Sequence[str] = QUESTION_COLUMNS) -> None:
    """Raise ValueError, naming the ranked list, if `scores` cannot be ranked; columns `question` identify a list."""
    candidate = [*question, "candidate_id"]
    expected = [*candidate, "label", "score"]
    missing = [column for column in expected if column not in scores.columns]
    if missing:
        raise ValueError(f"scores: the columns {missing} are missing; expected {expected}")
    finite = np.isfinite(scores["score"].to_numpy(dtype=np.float64))
    for problem, bad in (
        ("an empty key", scores[candidate].isna().any(axis=1)),
        ("a score that is not finite (did the training diverge?)", ~finite),
        ("a label other than 0 and 1", ~scores["label"].isin([0, 1])),
        ("a candidate that is scored twice", scores.duplicated(candidate)),
    ):
        if bad.any():
            row = scores[np.asarray(bad)].iloc[0]
            location = ", ".join(f"{column}={row[column]}" for column in candidate)
            raise ValueError(f"{problem}: score {row['score']}, label {row['label']} ({location})")


def to_records(table: pd.DataFrame, metrics: Sequence[str], task: str, data: str) -> list[dict[str, Any]]:
    """Return one record per run and metric with the metric's mean over the run's questions.

    `table`: one row per question with `RUN_COLUMNS` and the metrics. Records have the keys variant, seed, task, data,
    protocol, split, metric, value, examples (number of questions).
    """
    runs = table.groupby(RUN_COLUMNS, sort=True)
    means = runs[list(metrics)].mean().assign(examples=runs.size()).reset_index()
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
            "examples": int(run["examples"]),
        }
        for run in means.to_dict("records")
        for metric in metrics
    ]

"""The table of scores that a ranking model leaves behind, and what must hold before it is measured.

One row a candidate: `variant`, `seed`, `split`, `protocol`, `question_id`, `candidate_id`, `label` (0 or 1),
`score` (finite, higher is better).
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

#: What tells one ranked list from another in a table of several runs.
QUESTION = ["variant", "seed", "split", "protocol", "question_id"]


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


def to_records(table: pd.DataFrame, metrics: Sequence[str], system: str, task: str) -> list[dict[str, Any]]:
    """Average the metrics of questions into the records of `metrics.json`.

    Args:
        table: one row a question: variant, seed, split, and a column for each of the metrics.
        metrics: the columns to average.
        system: such as "mspp".
        task: such as "wikiqa".

    Returns:
        One record a variant, seed, split and metric, with the keys system, variant, task, split, metric,
        value (0..1), seed.
    """
    means = table.groupby(["variant", "seed", "split"], sort=True)[list(metrics)].mean().reset_index()
    return [
        {
            "system": system,
            "variant": str(run["variant"]),
            "task": task,
            "split": str(run["split"]),
            "metric": metric,
            "value": float(run[metric]),
            "seed": int(run["seed"]),
        }
        for run in means.to_dict("records")
        for metric in metrics
    ]

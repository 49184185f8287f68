"""Records and trainings for tests of reports."""

from collections.abc import Sequence
from typing import Any

from contexture.reporting.published import ScoreTable
from contexture.reporting.records import Record

COST = {"training_text": "novels", "steps": 10, "tokens": 1000, "seconds": 60.0, "flops": 1e12, "parameters": 5000}

TRAINING = {
    "parameters": 57_700_000,
    "steps": 300,
    "tokens": 1_250_000,
    "flops": 2.5e13,
    "seconds": 90.0,
    "tokens_per_second": 9000.0,
}


def measured(
    variant: str,
    values: Sequence[float],
    task: str = "mr",
    data: str = "senteval",
    protocol: str = "senteval",
    metric: str = "accuracy",
    split: str = "test",
    system: str = "some",
    cost: dict[str, Any] | None = None,
) -> list[Record]:
    """Return one record per value, with the seeds 0, 1, …."""
    return [
        Record(
            system=system,
            variant=variant,
            seed=seed,
            task=task,
            data=data,
            protocol=protocol,
            split=split,
            metric=metric,
            value=value,
            **(cost or {}),
        )
        for seed, value in enumerate(values)
    ]


def published_values(table: ScoreTable) -> list[tuple[str, list[int | float | None]]]:
    """Return the label and values of each published row; None: not in the paper."""
    rows = [(row.label, [row.scores.get(column.key) for column in table.columns]) for row in table.rows]
    return [(label, [None if score is None else score.value for score in scores]) for label, scores in rows]

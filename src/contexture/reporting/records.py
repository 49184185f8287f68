"""The records of `metrics.json`: one measured number each, from which every table is drawn."""

import math
from collections.abc import Mapping
from typing import Any, TypedDict

from contexture.evaluation.retrieval import RECALL_AT

#: Metric names and how the papers write them. All are fractions, shown as percentages.
METRICS = {
    "p_at_1": "P@1",
    "map": "MAP",
    "mrr": "MRR",
    **{f"recall_at_{k}": f"R@{k}" for k in RECALL_AT},
    # The laxer count: the gold sentence's text, in any passage.
    **{f"sentence_recall_at_{k}": f"sentence R@{k}" for k in RECALL_AT},
}


class Record(TypedDict):
    """One metric of one trained model on one split of one task."""

    system: str
    variant: str
    task: str
    split: str
    metric: str
    value: float
    seed: int


NAMES = ("system", "variant", "task", "split", "metric")
KEYS = (*NAMES, "value", "seed")


def check_records(records: object) -> list[Record]:
    """Return `records`, as read from `metrics.json`, if they are a list of metrics records.

    Raises:
        ValueError: naming the place in the list and what is wrong: a key missing or unknown, a value of another
            type, an unknown metric, a value outside 0..1, or the same measurement twice.
    """
    if not isinstance(records, list):
        raise ValueError(f"expected a list of metrics records, got {type(records).__name__}")
    first_at: dict[tuple[Any, ...], int] = {}
    for place, record in enumerate(records):
        problem = _problem(record)
        if not problem:
            key = tuple(record[name] for name in (*NAMES, "seed"))
            if key in first_at:
                problem = f"the same measurement as record {first_at[key]}"
            first_at[key] = place
        if problem:
            raise ValueError(f"metrics record {place}: {problem}: {record!r}")
    return records


def _problem(record: object) -> str:
    if not isinstance(record, Mapping):
        return "not an object"
    if missing := [key for key in KEYS if key not in record]:
        return f"the keys {missing} are missing"
    if unknown := [key for key in record if key not in KEYS]:
        return f"unknown keys {unknown}, expected {list(KEYS)}"
    for name in NAMES:
        if not isinstance(record[name], str) or not record[name]:
            return f"{name!r} must be a non-empty string"
    if record["metric"] not in METRICS:
        return f"unknown metric, expected one of {list(METRICS)}"
    if type(record["seed"]) is not int:
        return "'seed' must be an integer"
    value = record["value"]
    if type(value) not in (int, float) or not math.isfinite(value) or not 0 <= value <= 1:
        return "'value' must be a number in 0..1"
    return ""

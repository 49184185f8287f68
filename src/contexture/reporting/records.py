"""The records of `metrics.json`: one measured number each, from which every table is drawn."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NotRequired, TypedDict

from contexture.metrics.measures import METRICS as SHARED
from contexture.tasks.registry import TASKS

#: Every metric, in the order of the columns.
METRICS = SHARED | {name: metric for spec in TASKS.values() for name, metric in spec.metrics.items()}


class Record(TypedDict):
    """One metric of one model on one split of the data of one task, and what training the model took.

    The keys of the cost are there for models that were trained, all of them or none.
    """

    system: str
    variant: str
    seed: int
    task: str
    data: str  # what was measured on; of a part of it "<data>/<subset>"
    protocol: str  # how it was measured
    split: str
    metric: str
    value: float
    training_text: NotRequired[str]
    steps: NotRequired[int]
    tokens: NotRequired[int]
    seconds: NotRequired[float]
    flops: NotRequired[float]
    parameters: NotRequired[int]


NAMES = ("system", "variant", "task", "data", "protocol", "split", "metric")
KEYS = ("system", "variant", "seed", "task", "data", "protocol", "split", "metric", "value")
COST_KEYS = ("training_text", "steps", "tokens", "seconds", "flops", "parameters")
SPLITS = ("train", "dev", "test")


@dataclass(frozen=True)
class Place:
    """Where numbers of all variants and seeds stand."""

    task: str
    data: str
    protocol: str
    metric: str
    split: str = "test"


def place_of(record: Record) -> Place:
    """Where a record's number stands."""
    return Place(record["task"], record["data"], record["protocol"], record["metric"], record["split"])


def by_seed(records: Iterable[Record], variant: str, place: Place) -> dict[int, float]:
    """Seed → value, as it is shown: in percent, where the metric is."""
    scale = METRICS[place.metric].scale
    return {r["seed"]: scale * r["value"] for r in records if r["variant"] == variant and place_of(r) == place}


def data_of(records: Iterable[Record]) -> list[str]:
    """What was measured on, subsets left out, in the order of the records."""
    return list(dict.fromkeys(r["data"].split("/")[0] for r in records))


def check_records(records: object) -> list[Record]:
    """Return `records`, as read from `metrics.json`, if they are a list of metrics records.

    Raises:
        ValueError: naming the place in the list and what is wrong: a key missing or unknown, a value of another
            type, an unknown split or metric, a value that its metric cannot have, or the same measurement twice.
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
    if unknown := [key for key in record if key not in (*KEYS, *COST_KEYS)]:
        return f"unknown keys {unknown}, expected {[*KEYS, *COST_KEYS]}"
    for name in NAMES:
        if not isinstance(record[name], str) or not record[name]:
            return f"{name!r} must be a non-empty string"
    if record["split"] not in SPLITS:
        return f"unknown split, expected one of {list(SPLITS)}"
    if record["metric"] not in METRICS:
        return f"unknown metric, expected one of {list(METRICS)}"
    if type(record["seed"]) is not int:
        return "'seed' must be an integer"
    value, metric = record["value"], METRICS[record["metric"]]
    if type(value) not in (int, float) or not math.isfinite(value) or not metric.low <= value <= metric.high:
        where = f"in {metric.low:g}..{metric.high:g}" if math.isfinite(metric.high) else f"from {metric.low:g} upwards"
        return f"'value' must be a number {where}"
    return _problem_of_cost(record)


def _problem_of_cost(record: Mapping[str, Any]) -> str:
    cost = {key: record[key] for key in COST_KEYS if key in record}
    if not cost:
        return ""
    if missing := [key for key in COST_KEYS if key not in cost]:
        return f"of the cost of training {missing} are missing"
    if not isinstance(cost["training_text"], str) or not cost["training_text"]:
        return "'training_text' must be a non-empty string"
    for key in ("steps", "tokens", "parameters"):
        if type(cost[key]) is not int or cost[key] < 0:
            return f"{key!r} must be an integer from 0 upwards"
    for key in ("seconds", "flops"):
        if type(cost[key]) not in (int, float) or not math.isfinite(cost[key]) or cost[key] < 0:
            return f"{key!r} must be a number from 0 upwards"
    return ""

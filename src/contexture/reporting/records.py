"""The records of `metrics.json`: one measured number each, from which every table is drawn."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NotRequired

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError, with_config
from typing_extensions import TypedDict

from contexture.metrics.measures import METRICS as SHARED
from contexture.tasks.registry import TASKS

#: Every metric, in the order of the columns.
METRICS = SHARED | {name: metric for spec in TASKS.values() for name, metric in spec.metrics.items()}

Name = Annotated[str, Field(min_length=1)]
Count = Annotated[int, Field(ge=0)]
Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]


@with_config(ConfigDict(extra="forbid", strict=True))
class Record(TypedDict):
    """One metric of one model on one split of the data of one task, and what training the model took.

    A trained model has all keys of COST_KEYS, another one none.
    """

    system: Name
    variant: Name
    seed: int
    task: Name
    data: Name  # what was measured on; of a part of it "<data>/<subset>"
    protocol: Name  # how it was measured
    split: Literal["train", "dev", "test"]
    metric: Name
    value: float
    training_text: NotRequired[Name]
    steps: NotRequired[Count]
    tokens: NotRequired[Count]
    seconds: NotRequired[Amount]
    flops: NotRequired[Amount]
    parameters: NotRequired[Count]


COST_KEYS = ("training_text", "steps", "tokens", "seconds", "flops", "parameters")
_RECORD = TypeAdapter(Record)


@dataclass(frozen=True)
class ScoreKey:
    """Where numbers of all variants and seeds stand."""

    task: str
    data: str
    protocol: str
    metric: str
    split: str = "test"


def score_key(record: Record) -> ScoreKey:
    """Where a record's number stands."""
    return ScoreKey(record["task"], record["data"], record["protocol"], record["metric"], record["split"])


def values_by_seed(records: Iterable[Record], variant: str, key: ScoreKey) -> dict[int, float]:
    """Seed → value, as it is shown: in percent, where the metric is."""
    scale = METRICS[key.metric].scale
    return {r["seed"]: scale * r["value"] for r in records if r["variant"] == variant and score_key(r) == key}


def list_data(records: Iterable[Record]) -> list[str]:
    """What was measured on, subsets left out, in the order of the records."""
    return list(dict.fromkeys(r["data"].split("/")[0] for r in records))


def check_records(records: object) -> list[Record]:
    """Return `records`, as read from `metrics.json`, if they are a list of metrics records.

    Raises:
        ValueError: with the position in the list and the fault: a missing or unknown key, a value of another type, an
            unknown split or metric, a value out of its metric's range, or the same measurement twice.
    """
    if not isinstance(records, list):
        raise ValueError(f"expected a list of metrics records, got {type(records).__name__}")
    positions: dict[tuple[Any, ...], int] = {}
    for position, record in enumerate(records):
        if not (problem := _problem(record)):
            key = (record["system"], record["variant"], record["seed"], score_key(record))
            if key in positions:
                problem = f"the same measurement as record {positions[key]}"
            positions[key] = position
        if problem:
            raise ValueError(f"metrics record {position}: {problem}: {record!r}")
    return records


def _problem(record: Any) -> str:
    try:
        _RECORD.validate_python(record)
    except ValidationError as error:
        return "; ".join(": ".join([*map(str, fault["loc"]), fault["msg"]]) for fault in error.errors())
    if (metric := METRICS.get(record["metric"])) is None:
        return f"unknown metric, expected one of {list(METRICS)}"
    if not math.isfinite(record["value"]) or not metric.low <= record["value"] <= metric.high:
        where = f"in {metric.low:g}..{metric.high:g}" if math.isfinite(metric.high) else f"from {metric.low:g} upwards"
        return f"'value' must be a number {where}"
    missing = [key for key in COST_KEYS if key not in record]
    return f"the cost of training lacks {missing}" if 0 < len(missing) < len(COST_KEYS) else ""

"""Records of `metrics.json`: one score each."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NotRequired

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError, with_config
from typing_extensions import TypedDict

from contexture.metrics.measures import METRICS as SHARED
from contexture.reporting.names import BM25_SUFFIX
from contexture.tasks.registry import TASKS

#: All metrics, in the order of columns.
METRICS = SHARED | {name: metric for spec in TASKS.values() for name, metric in spec.metrics.items()}

Name = Annotated[str, Field(min_length=1)]
Count = Annotated[int, Field(ge=0)]
Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Loss = Annotated[float, Field(allow_inf_nan=False)]


@with_config(ConfigDict(extra="forbid", strict=True))
class Record(TypedDict):
    """One metric of one model on one split of a task's data, with the cost of training.

    Trained models have all of `COST_KEYS`, other models have none. They may also have their passes over the text and
    the variant with their initial weights; models of one training with held-out documents have their losses.
    """

    system: Name
    variant: Name
    seed: int
    task: Name
    data: Name  # "<data>", or "<data>/<subset>"
    protocol: Name
    split: Literal["train", "dev", "test"]
    metric: Name
    value: float
    examples: NotRequired[Annotated[int, Field(ge=1)]]  # questions, sentences or pairs that were scored
    training_text: NotRequired[Name]
    steps: NotRequired[Count]
    tokens: NotRequired[Count]
    seconds: NotRequired[Amount]
    flops: NotRequired[Amount]
    parameters: NotRequired[Count]
    epochs: NotRequired[Amount]  # tokens read in training, special tokens included, divided by those of the text
    untrained_start: NotRequired[Name]
    held_out_loss: NotRequired[Loss]
    held_out_loss_start: NotRequired[Loss]  # before the first step
    stopped_early: NotRequired[bool]  # by the loss on held-out documents


COST_KEYS = ("training_text", "steps", "tokens", "seconds", "flops", "parameters")
_RECORD = TypeAdapter(Record)


@dataclass(frozen=True)
class ScoreKey:
    """Key of a score, shared by all variants and seeds."""

    task: str
    data: str
    protocol: str
    metric: str
    split: str = "test"


def score_key(record: Record) -> ScoreKey:
    """Return what a record's score is of: task, data, protocol, metric and split."""
    return ScoreKey(record["task"], record["data"], record["protocol"], record["metric"], record["split"])


def values_by_seed(records: Iterable[Record], variant: str, key: ScoreKey) -> dict[int, float]:
    """Return seed → score of a variant for `key`, in the unit of the metric (percent for shares)."""
    scale = METRICS[key.metric].scale
    return {r["seed"]: scale * r["value"] for r in records if r["variant"] == variant and score_key(r) == key}


def list_seeded(records: Iterable[Record]) -> set[tuple[str, str]]:
    """Return system and variant of the models that depend on a seed: they have the cost of a training, or are searches
    that combine such a model with BM25."""
    trained = {(record["system"], record["variant"]) for record in records if "seconds" in record}
    return trained | {(system, variant + BM25_SUFFIX) for system, variant in trained}


def select_final(records: Iterable[Record]) -> list[Record]:
    """Return the records of each task and data set on its test split, or on dev if it has no test results, as FEVER."""
    all_records = list(records)
    tested = {_measured(record) for record in all_records if record["split"] == "test"}
    return [r for r in all_records if r["split"] == ("test" if _measured(r) in tested else "dev")]


def _measured(record: Record) -> tuple[str, ...]:
    """Return what a record's model was measured on."""
    return record["system"], record["task"], record["data"]


def list_data(records: Iterable[Record]) -> list[str]:
    """Return the names of the data sets of records, without subsets, in the order of the records."""
    return list(dict.fromkeys(r["data"].split("/")[0] for r in records))


def check_records(records: object) -> list[Record]:
    """Validate the content of `metrics.json` and return it.

    Raises:
        ValueError: with the position and the fault: a missing or unknown key, a wrong type, an unknown split or metric,
            a value outside of its metric's range, or a duplicate.
    """
    if not isinstance(records, list):
        raise ValueError(f"expected a list of metrics records, got {type(records).__name__}")
    positions: dict[tuple[Any, ...], int] = {}
    for position, record in enumerate(records):
        if not (problem := _problem(record)):
            key = (record["system"], record["variant"], record["seed"], score_key(record))
            if key in positions:
                problem = f"duplicate of record {positions[key]}"
            positions[key] = position
        if problem:
            raise ValueError(f"metrics record {position}: {problem}: {record!r}")
    return records


def _problem(record: Any) -> str:
    """Return what is wrong with a record; "" if it is valid."""
    try:
        _RECORD.validate_python(record)
    except ValidationError as error:
        return "; ".join(": ".join([*map(str, fault["loc"]), fault["msg"]]) for fault in error.errors())
    if (metric := METRICS.get(record["metric"])) is None:
        return f"unknown metric; known: {list(METRICS)}"
    if not math.isfinite(record["value"]) or not metric.low <= record["value"] <= metric.high:
        where = f"in {metric.low:g}..{metric.high:g}" if math.isfinite(metric.high) else f"of at least {metric.low:g}"
        return f"'value' must be a number {where}"
    missing = [key for key in COST_KEYS if key not in record]
    return f"training cost without {missing}" if 0 < len(missing) < len(COST_KEYS) else ""

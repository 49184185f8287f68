"""Scores as metrics of MLflow: all of an encoder on the run of its training, a few of a system on the whole run."""

import math
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from mlflow import MlflowClient
from mlflow.entities import Metric

from contexture.demo.config import DEMO
from contexture.pipelines.tracking.child_runs import MAX_BATCH_METRICS
from contexture.reporting.names import RECORD_SPECS
from contexture.reporting.records import METRICS, Record, select_final
from contexture.systems.config import SystemConfig
from contexture.systems.league.scores import League, LeagueColumn
from contexture.systems.resolved import ResolvedSystem

#: Trainings of a system that are searched, from the newest one.
MAX_TRAININGS = 1000
#: Keys of records that are metrics of the training itself.
HELD_OUT_METRICS = ("held_out_loss", "held_out_loss_start")


class TrainingKey(NamedTuple):
    """Tags of the child run of a training; pre-training has no task and no option."""

    stage: str
    variant: str
    seed: str
    task: str = ""
    option: str = ""


def name_metric(*parts: str) -> str:
    """Join parts with dots as the name of a metric in MLflow: "two_tower.retrieval.squad.recall_at_10.80_percent".

    Characters that MLflow does not allow, and blanks, become underscores. The data set of the demo is left out.
    """
    parts = tuple(part.replace("%", "_percent").replace("/", ".") for part in parts if part != DEMO)
    return ".".join(re.sub(r"[^\w.\-]+", "_", part) for part in parts)


def name_record(record: Record) -> str:
    """Return the name of a record's metric in MLflow: system, task, data set, metric and protocol."""
    return name_metric(*(record[key] for key in ("system", "task", "data", "metric", "protocol")))


class Headline(NamedTuple):
    """The main metric of a system; without a name if it was not measured."""

    name: str = ""  # in MLflow, without the variant
    means: Mapping[str, float] = {}  # variant → mean over seeds


def measure_headline(system: str, records: Sequence[Record]) -> Headline:
    """Return the scores of a system in its first use in the league, fine-tuned if possible."""
    league = League(records)
    if not league.columns:
        return Headline()
    first = league.columns[0]
    column = [column for column in league.columns if (column.use, column.data) == (first.use, first.data)][-1]
    scale = METRICS[column.use.metric].scale / 100
    means = {variant: scale * score.mean for variant, score in league.scores[column].items()}
    return Headline(name_column(system, column), means)


def score_runs(config: SystemConfig, headline: Headline) -> dict[str, float]:
    """Return run → headline score of its encoder, of those that were measured."""
    represented = find_represented_runs(config).items()
    return {run: headline.means[variant] for variant, run in represented if variant in headline.means}


def select_best_run(system: ResolvedSystem, scores: Mapping[str, float]) -> str:
    """Return the run to register: the trained one with the highest score (`score_runs`).

    Without scores, it is that of the first main variant with a trained encoder; if nothing was trained, of the first
    one.
    """
    config = system.config
    main = [run for variant in system.main_variants for run in config.run_names(variant)]
    candidates = [*dict.fromkeys([*main, *find_represented_runs(config).values()])]
    trained = [run for run in candidates if config.pretrain.runs[run].schedule] or candidates
    return max(trained, key=lambda run: scores.get(run, -math.inf))


def name_column(system: str, column: LeagueColumn) -> str:
    """Return the name of the metric of a league column; means over tasks have the use's name as their task."""
    task = column.use.task or column.use.name.lower()
    return name_metric(system, task, column.data, column.use.metric, column.keys[0].protocol)


def log_trainings(client: MlflowClient, experiment_id: str, system: ResolvedSystem, records: Iterable[Record]) -> None:
    """Log the scores of each encoder (`select_final`) to the newest child run of its training; shares are in percent.

    A pre-training also gets its losses on held-out documents, of the saved encoder and before the first step.

    A fine-tuning gets the scores of its task if it is the variant's only one on this task, or has the protocol's name.
    Nothing is logged of models that were trained without MLflow.
    """
    metrics: dict[tuple[str, TrainingKey], dict[str, float]] = {}
    for record in select_final(records):
        for owner, key in _list_trainings(system, record):
            value = METRICS[record["metric"]].scale * record["value"]
            values = metrics.setdefault((owner, key), {})
            values[name_record(record)] = value
            if key.stage == "pretrain" and "held_out_loss" in record:
                values |= {name: record[name] for name in HELD_OUT_METRICS}  # type: ignore[literal-required]
    runs = {owner: find_trainings(client, experiment_id, owner) for owner in {owner for owner, _ in metrics}}
    now = int(time.time() * 1000)
    for (owner, key), values in metrics.items():
        if (run_id := runs[owner].get(key)) is not None:
            points = [Metric(name, value, now, 0) for name, value in values.items()]
            for start in range(0, len(points), MAX_BATCH_METRICS):
                client.log_batch(run_id, metrics=points[start : start + MAX_BATCH_METRICS])


def find_trainings(client: MlflowClient, experiment_id: str, system: str) -> dict[TrainingKey, str]:
    """Return training → id of its newest finished child run, among the last `MAX_TRAININGS` of a system."""
    query = f"tags.system = '{system}' AND attributes.status = 'FINISHED'"
    order = ["attributes.start_time DESC"]
    runs = client.search_runs([experiment_id], query, max_results=MAX_TRAININGS, order_by=order)
    newest: dict[TrainingKey, str] = {}
    for run in runs:
        tags = run.data.tags
        newest.setdefault(TrainingKey(*(tags.get(key, "") for key in TrainingKey._fields)), run.info.run_id)
    return newest


def _list_trainings(system: ResolvedSystem, record: Record) -> Iterator[tuple[str, TrainingKey]]:
    """Yield system and key of the trainings whose child run shows a record."""
    owner, _, included = record["variant"].partition(": ")
    is_included = bool(included) and owner in system.included
    name, config, variant = (
        (owner, system.included[owner].config, included)
        if is_included
        else (system.name, system.config, record["variant"])
    )
    seed = str(record["seed"])
    if (run := find_represented_runs(config).get(variant)) is not None:
        yield name, TrainingKey("pretrain", run, seed)
    task = RECORD_SPECS[record["task"]].name
    options = [] if is_included else system.finetune_options.get(task, {}).get(variant, [])
    for option in options:
        if len(options) == 1 or option == record["protocol"]:
            yield name, TrainingKey("finetune", variant, seed, task, option)


def find_represented_runs(config: SystemConfig) -> Mapping[str, str]:
    """Return variant → run whose encoder it stands for: the variant with the run's name, or the first one of it alone.

    Other variants of the same encoder, such as those with another head, are left out: their metrics have equal names.
    """
    variants = {name: runs[0] for name in config.all_variants if len(runs := config.run_names(name)) == 1}
    first = {run: name for name, run in reversed(variants.items())}
    first |= {run: run for run in first if variants.get(run) == run}
    return {name: run for run, name in first.items()}

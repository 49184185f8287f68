"""Nodes of the stage `report`."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from contexture.folders import work_folder
from contexture.imports import resolve
from contexture.objectives.config import OBJECTIVES
from contexture.pipelines.evaluate.nodes import FACTS, RECORDS
from contexture.pipelines.pretrain.nodes import seed_folder
from contexture.pipelines.sources.nodes import name_of_text
from contexture.reporting.names import DATA, REFERENCES, TASKS
from contexture.systems.config import HELD_OUT, SystemConfig
from contexture.systems.registry import SYSTEMS
from contexture.tasks.base import TASK_FILE

if TYPE_CHECKING:
    from contexture.reporting.curves import History, Series
    from contexture.reporting.index import Summary
    from contexture.reporting.records import Record
    from contexture.reporting.report import Report

#: How the system of an ablation is called, behind the name of its own, and, in the same way, a protocol of it.
ABLATION, ABLATED = "_ablation", " ablation"
#: The file of all records, beside the page.
METRICS = "metrics.json"
#: MLflow's table of the means over seeds.
MEANS = "test_means.json"
#: What is said of the documents that are held out of one's own text.
KEPT = "Held out of all that was learned but the vocabulary, which is of the whole text."
#: What was spent on a record's encoder, beside the text.
COST = ("steps", "tokens", "seconds", "flops", "parameters")


def write_report(
    system: str,
    config: SystemConfig,
    guests: Mapping[str, SystemConfig],
    tasks: Sequence[str],
    whole: str,
    sources: dict[str, Any],
    corpus_report: dict[str, Any],
    models: Path,
    place: Path,
    speed: dict[str, float],
    ablation: Path,
    *given: Any,
) -> tuple[Path, list[dict[str, Any]]]:
    """The system's page, and its records with what was spent on each.

    `whole` is what runs more than this run does, where it is a short one.
    `given`: the results of all tasks, then their data, then the counts of the examples by kind, then encoders.
    """
    from contexture.reporting.index import summarize
    from contexture.reporting.page import ReportContext
    from contexture.reporting.phrases import kept_out
    from contexture.reporting.report import render_report

    results, data = given[: len(tasks)], given[len(tasks) : 2 * len(tasks)]
    kinds = list(config.examples())
    counts = dict(zip(kinds, given[2 * len(tasks) : 2 * len(tasks) + len(kinds)], strict=True))
    text = name_of_text(sources)
    read = {task: read_json(folder / TASK_FILE) for task, folder in zip(tasks, data, strict=True)}
    facts = {
        task: {"missing": {}} | read[task] | read_json(folder / FACTS)
        for task, folder in zip(tasks, results, strict=True)
    }
    records = [
        {"system": system}
        | record
        | cost(config, models, record["variant"], record["seed"], text)
        | cost_of_guest(guests, models, record["variant"], record["seed"], text)
        for folder in results
        for record in read_json(folder / RECORDS)
    ]
    if system.endswith(ABLATION):
        # Its rows alone: what needs no training is measured with the system itself.
        rows = [record for record in records if record["variant"] in config.measured]
        records = [record | {"protocol": record["protocol"] + ABLATED} for record in rows]
    if (ablation / METRICS).exists():
        records += [record | {"system": system} for record in read_json(ablation / METRICS)]
    module = SYSTEMS[system.removesuffix(ABLATION)]
    names = labels(system, config, guests)
    evaluation = KEPT if HELD_OUT in config.tasks else kept_out(corpus_report.get("evaluation"))
    context = ReportContext(
        system=system,
        title=resolve(f"{module}:TITLE"),
        note=resolve(f"{module}:NOTE"),
        run=what_was_run(config, text, evaluation, read, names),
        counts={"Corpus": corpus_report, **{f"Examples: {kind}": counted for kind, counted in counts.items()}},
        files={
            f"data/08_reporting/{system}/{METRICS}": "every number of this page",
            f"data/07_model_output/{system}": "scores, ranks and vectors",
            f"data/06_models/{system}": "encoders and fine-tuned models, with their curves",
        },
        facts=facts | {"league": {"explained": explained(config), "speed": speed}},
        labels=names,
        whole=whole,
        examples=by_table(counts),
        trainings=trainings(config, models),
        shown=shown(config, models),
        series=series(),
    )
    report = render_report(records, histories(config, models), context, resolve(f"{module}:page"))
    summary = summarize(context.title, report.page, text, f"{datetime.now():%Y-%m-%d %H:%M}")
    return save_report(report, summary, place), records


def no_speed() -> dict[str, float]:
    """Where the speed of embedding was not measured."""
    return {}


def by_table(counts: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Counts by kind of examples; of a kind of several tables, by table."""
    found: dict[str, Any] = {}
    for kind, counted in counts.items():
        found |= counted if all(isinstance(one, Mapping) for one in counted.values()) else {kind: counted}
    return found


def read_json(file: Path) -> Any:
    """What a JSON file holds."""
    return json.loads(file.read_text(encoding="utf-8"))


def cost(config: SystemConfig, models: Path, variant: str, seed: int, text: str) -> dict[str, Any]:
    """What pre-training spent on a variant's encoders; nothing for what was not trained here."""
    from contexture.training.pretrain import summary_of

    if variant not in config.measured or not (runs := config.runs_of(variant)):
        return {}
    spent: dict[str, Any] = {"training_text": text, **dict.fromkeys(COST, 0)}
    for run in (one for name in runs for one in config.line(name)):
        found = summary_of(seed_folder(models / "pretrained", run, seed))
        for key in COST:
            # Parameters are those of the encoder at the end; what it was continued from has spent the rest.
            spent[key] += found[key] if key != "parameters" or run in runs else 0
    return spent | {key: int(spent[key]) for key in ("steps", "tokens", "parameters")}


def cost_of_guest(
    guests: Mapping[str, SystemConfig], models: Path, variant: str, seed: int, text: str
) -> dict[str, Any]:
    """The same for an encoder of another system, `<system>: <variant>`."""
    name, _, own = variant.partition(": ")
    return cost(guests[name], models.parent / name, own, seed, text) if name in guests else {}


def shown(config: SystemConfig, models: Path) -> dict[str, dict[str, Any]]:
    """What the objectives of each run showed, with the first seed, where they did."""
    from contexture.training.pretrain import shown_of

    found = {run: shown_of(seed_folder(models / "pretrained", run, 0)) for run in config.pretrain.runs}
    return {run: one for run, one in found.items() if one}


def trainings(config: SystemConfig, models: Path) -> dict[str, dict[str, float]]:
    """What each run spent, of the first seed, and how fast it was."""
    from contexture.training.curves import read_curves
    from contexture.training.pretrain import summary_of

    found = {}
    for run in config.pretrain.runs:
        folder = seed_folder(models / "pretrained", run, 0)
        spent = summary_of(folder)
        if spent["steps"]:
            sizes = config.pretrain.batch_sizes(run, config.streams)
            spent["examples"] = spent["steps"] * sum(sizes[name] for name in config.pretraining(run).active)
            speed = read_curves(folder).get("train/tokens_per_second")
            spent["tokens_per_second"] = (
                spent["tokens"] / max(spent["seconds"], 1e-9) if speed is None else speed.median()
            )
            found[run] = spent
    return found


def histories(config: SystemConfig, models: Path) -> "list[History]":
    """The curves of every training that has some."""
    from contexture.reporting.curves import History
    from contexture.training.curves import read_curves

    found = []
    for seed in range(config.seeds):
        for run in config.pretrain.runs:
            found.append(History("pretrain", run, seed, read_curves(seed_folder(models / "pretrained", run, seed))))
        for task in config.tasks:
            for variant in config.variants_of(task):
                for folder in sorted((models / "finetuned" / task / variant / f"seed-{seed}").glob("*")):
                    if "." in folder.name:  # unfinished, set aside, or the system's own
                        continue
                    stage = f"finetune {folder.name}" if folder.name != "model" else "finetune"
                    found.append(History(stage, variant, seed, read_curves(folder)))
    return [history for history in found if not history.log.empty]


def explained(config: SystemConfig) -> dict[str, str]:
    """Variant → what it learned to do, in plain words."""
    found = {}
    for name, variant in config.measured.items():
        names = [objective for run in config.runs_of(name) for objective in config.pretrain.runs[run].names]
        learned = "; ".join(OBJECTIVES[objective].explained for objective in dict.fromkeys(names))
        found[name] = variant.explained or learned or "new weights, nothing learned"
    return found


def labels(system: str, config: SystemConfig, guests: Mapping[str, SystemConfig]) -> dict[str, str]:
    """Variant and run → how it is called: as the system's page has it, or by its objectives, if it is named after them.

    A guest, `<system>: <variant>`, is called as on its own page, with its system behind.
    """
    found = dict(REFERENCES)
    for name in [*config.measured, *config.pretrain.runs]:
        runs = config.runs_of(name) if name in config.measured else [name]
        names = dict.fromkeys(one for run in runs for one in config.pretrain.runs[run].names)
        if name in OBJECTIVES or len(names) > 1:
            found[name] = " + ".join(OBJECTIVES[one].title for one in names)
    found |= getattr(import_module(SYSTEMS[system.removesuffix(ABLATION)]), "LABELS", {})
    for guest, visiting in guests.items():
        own = labels(guest, visiting, {})
        found |= {f"{guest}: {variant}": f"{own.get(variant, variant)} ({guest})" for variant in visiting.measured}
    return found


def series() -> "dict[str, Series]":
    """How the curves of objectives are shown."""
    from contexture.reporting.curves import Series

    found = {}
    for name, config in OBJECTIVES.items():
        found[name] = Series(f"{config.title} loss", config.unit)
        found[f"{name}_accuracy"] = Series(f"{config.title}: guessed right", "percent", 100)
        found |= {
            f"{name}_{key}": Series(f"{config.title}: {what}", "points", 100) for key, what in config.measures.items()
        }
        found |= {f"{name}_{key}": Series(f"{config.title}: {what}", config.unit) for key, what in config.nats.items()}
    return found


def what_was_run(
    config: SystemConfig,
    text: str,
    evaluation: str,
    tasks: Mapping[str, Mapping[str, Any]],
    names: Mapping[str, str],
) -> dict[str, str]:
    """The lines at the head of the report."""
    used = {config.encoder_of(run) for run in config.pretrain.runs}
    encoders = [f"{name}: {described(one)}" for name, one in config.encoders.items() if name in used]
    steps = [f"{names.get(run, run)}: {recipe.steps:,}" for run, recipe in config.pretrain.runs.items() if recipe.steps]
    spent = {run: [stage.budget for stage in config.pretraining(run).recipe.schedule] for run in config.pretrain.runs}
    steps += [
        f"{names.get(run, run)}: {one.amount:.3g} {one.unit}"
        for run, budgets in spent.items()
        for one in budgets
        if one
    ]
    return {
        "Text": text,
        "Evaluation's documents": evaluation,
        "Encoders": "; ".join(encoders),
        "Pre-training, steps or budget": "; ".join(steps) or "none",
        "Measured on": ", ".join(
            f"{TASKS.get(task, task)} ({DATA.get(found['name'], found['name'])})" for task, found in tasks.items()
        ),
        "Seeds": ", ".join(map(str, range(config.seeds))),
    }


def described(encoder: Any) -> str:
    """An encoder's architecture and sizes, for the reader of a report."""
    pair = "" if encoder.shared else ", two networks"
    if encoder.kind == "transformer":
        size = encoder.init_from or f"{encoder.layers} × {encoder.hidden_size}, {encoder.heads} heads"
        return f"Transformer, {size}, {encoder.pooling} pooling{pair}"
    if encoder.kind == "gru":
        turned = "bi-" if encoder.bidirectional else ""
        return f"{turned}GRU over {encoder.words} words, {encoder.embedding_size}{pair}"
    return f"{encoder.kind.replace('_', ' ')}, {encoder.embedding_size}{pair}"


def save_report(report: "Report", summary: "Summary", place: Path) -> Path:
    """Write the pages, the pictures that they show, and what the index says of them."""
    from contexture.reporting.index import SUMMARY, summary_json

    with work_folder(place) as work:
        (work / "report.md").write_text(report.markdown, encoding="utf-8")
        (work / "report.html").write_text(report.html, encoding="utf-8")
        (work / SUMMARY).write_text(summary_json(summary), encoding="utf-8")
        for file, picture in report.figures.items():
            (work / file).write_bytes(picture)
    return place


def log_metrics(system: str, main: Sequence[str], metrics: "list[Record]") -> None:
    """Send to the MLflow run what the main variants reached, as the page shows it, and a table of all that was tested.

    That is one number a variant: of the first use that the system is measured for, fine-tuned where it was.
    """
    import mlflow
    import pandas as pd

    from contexture.systems.league.scores import League

    if mlflow.active_run() is None or not metrics:
        return
    tested = pd.DataFrame(metrics).query("split == 'test'")
    means = tested.groupby(["task", "data", "protocol", "metric", "variant"])["value"].mean()
    mlflow.log_table(means.reset_index(), f"{system}/{MEANS}")
    league = League(metrics)
    if not league.columns:
        return
    first = league.columns[0]
    column = [one for one in league.columns if (one.use, one.data) == (first.use, first.data)][-1]
    scores = league.scores[column]
    named = {name: f"{system}/{name.replace('=', '_')} {column.use.metric}" for name in main if name in scores}
    mlflow.log_metrics({key: scores[name].mean for name, key in named.items()})


def register(system: str, pretrained: Path) -> None:
    """Keep a system's encoder, of the first seed, in MLflow."""
    from contexture.pipelines.tracking import register_encoder

    register_encoder(system, seed_folder(pretrained.parent, pretrained.name, 0))


def register_adopted(system: str, adopted: Path) -> None:
    """Keep the encoder that was adopted in MLflow."""
    from contexture.pipelines.tracking import register_encoder

    register_encoder(system, adopted)

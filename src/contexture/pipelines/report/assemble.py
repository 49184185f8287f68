"""Collect what the page of a system shows: records with their costs, labels, counts, curves and trainings."""

import json
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from contexture.imports import resolve
from contexture.objectives.config import OBJECTIVES
from contexture.paths import (
    FACTS_FILE,
    METRICS_FILE,
    MODELS_DIR,
    RECORDS_FILE,
    REPORTS_DIR,
    RESULTS_DIR,
    encoder_dir,
    finetuned_dir,
    pretrained_dir,
)
from contexture.reporting.curves import History, Series
from contexture.reporting.names import DATA, REFERENCES, TASKS
from contexture.reporting.page import ReportContext
from contexture.reporting.phrases import kept_out
from contexture.systems.config import SystemConfig
from contexture.systems.resolved import ResolvedSystem
from contexture.tasks.base import TASK_FILE
from contexture.tasks.registry import TASKS as SPECS
from contexture.training.curves import read_curves
from contexture.training.pretrain import shown_of, summary_of

#: What a protocol of an ablation ends with.
ABLATION_PROTOCOL = " ablation"
#: What was spent on a record's encoder, besides the text.
COST = ("steps", "tokens", "seconds", "flops", "parameters")


def collect_records(
    system: ResolvedSystem, text: str, models_dir: Path, ablation_dir: Path, results: Mapping[str, Path]
) -> list[dict[str, Any]]:
    """Return the records of all tasks with their costs, and those of the system's ablation.

    `text` is the name of the training text, `results` maps each task to the folder of its results.
    """
    records = [
        {"system": system.name} | record | cost(system, models_dir, record["variant"], record["seed"], text)
        for folder in results.values()
        for record in read_json(folder / RECORDS_FILE)
    ]
    if system.is_ablation:
        # Its rows alone: what needs no training is measured with the system itself.
        rows = [record for record in records if record["variant"] in system.config.measured]
        records = [record | {"protocol": record["protocol"] + ABLATION_PROTOCOL} for record in rows]
    if (ablation_dir / METRICS_FILE).exists():
        records += [record | {"system": system.name} for record in read_json(ablation_dir / METRICS_FILE)]
    return records


def collect_context(
    system: ResolvedSystem,
    text: str,
    corpus_report: dict[str, Any],
    models_dir: Path,
    speed: dict[str, float],
    results: Mapping[str, Path],
    data: Mapping[str, Path],
    counts: Mapping[str, dict[str, Any]],
) -> ReportContext:
    """Return what the page shows besides its numbers.

    `speed` maps variants to sentences embedded per second, `results` and `data` tasks to folders, `counts` kinds of
    examples to counts.
    """
    config, name = system.config, system.name
    read = {task: read_json(folder / TASK_FILE) for task, folder in data.items()}
    facts = {task: {"missing": {}} | read[task] | read_json(results[task] / FACTS_FILE) for task in results}
    names = labels(system)
    notes = (SPECS[task].documents_note for task in config.tasks)
    evaluation = next(filter(None, notes), None) or kept_out(corpus_report.get("evaluation"))
    return ReportContext(
        system=name,
        title=resolve(f"{system.page_module}:TITLE"),
        note=resolve(f"{system.page_module}:NOTE"),
        run=what_was_run(config, text, evaluation, read, names),
        counts={"Corpus": corpus_report, **{f"Examples: {kind}": counted for kind, counted in counts.items()}},
        files={
            f"{REPORTS_DIR / name / METRICS_FILE}": "every number of this page",
            f"{RESULTS_DIR / name}": "scores, ranks and vectors",
            f"{MODELS_DIR / name}": "encoders and fine-tuned models, with their curves",
        },
        facts=facts | {"league": {"explained": explained(config), "speed": speed}},
        labels=names,
        whole=system.full_command,
        examples=by_table(counts),
        trainings=trainings(config, models_dir),
        shown=shown(config, models_dir),
        series=series(),
    )


def by_table(counts: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return counts by kind of examples; by table if the kind has several."""
    tables: dict[str, Any] = {}
    for kind, values in counts.items():
        tables |= values if all(isinstance(value, Mapping) for value in values.values()) else {kind: values}
    return tables


def read_json(file: Path) -> Any:
    """Parse a JSON file."""
    return json.loads(file.read_text(encoding="utf-8"))


def cost(system: ResolvedSystem, models_dir: Path, variant: str, seed: int, text: str) -> dict[str, Any]:
    """Return the cost of pre-training a variant's encoders, also for an included variant; {} if none was trained."""
    owner, separator, included_variant = variant.partition(": ")
    if separator and owner in system.included:
        return cost(system.included[owner], models_dir.parent / owner, included_variant, seed, text)
    config = system.config
    if variant not in config.measured or not (runs := config.runs_of(variant)):
        return {}
    spent: dict[str, Any] = {"training_text": text, **dict.fromkeys(COST, 0)}
    for run in (ancestor for name in runs for ancestor in config.line(name)):
        summary = summary_of(encoder_dir(pretrained_dir(models_dir), run, seed))
        for key in COST:
            # Parameters are those of the encoder at the end; what it was continued from has spent the rest.
            spent[key] += summary[key] if key != "parameters" or run in runs else 0
    return spent | {key: int(spent[key]) for key in ("steps", "tokens", "parameters")}


def shown(config: SystemConfig, models_dir: Path) -> dict[str, dict[str, Any]]:
    """Return what the objectives of each run showed with the first seed, if anything."""
    examples = {run: shown_of(encoder_dir(pretrained_dir(models_dir), run, 0)) for run in config.pretrain.runs}
    return {run: example for run, example in examples.items() if example}


def trainings(config: SystemConfig, models_dir: Path) -> dict[str, dict[str, float]]:
    """Return the cost and speed of each run with the first seed."""
    costs = {}
    for run in config.pretrain.runs:
        folder = encoder_dir(pretrained_dir(models_dir), run, 0)
        spent = summary_of(folder)
        if spent["steps"]:
            training = config.pretraining(run)
            sizes = config.pretrain.batch_sizes(run, training.streams)
            spent["examples"] = spent["steps"] * sum(sizes[name] for name in training.active)
            speed = read_curves(folder).get("train/tokens_per_second")
            mean_speed = spent["tokens"] / max(spent["seconds"], 1e-9)
            spent["tokens_per_second"] = mean_speed if speed is None else speed.median()
            costs[run] = spent
    return costs


def histories(config: SystemConfig, models_dir: Path) -> list[History]:
    """Return the curves of every training that has some."""
    curves = []
    for seed in range(config.seeds):
        for run in config.pretrain.runs:
            log = read_curves(encoder_dir(pretrained_dir(models_dir), run, seed))
            curves.append(History("pretrain", run, seed, log))
        for task in config.tasks:
            for variant in config.variants_of(task):
                for folder in sorted(finetuned_dir(models_dir, task, variant, seed).glob("*")):
                    if "." in folder.name:  # unfinished, set aside, or the system's own
                        continue
                    stage = f"finetune {folder.name}" if folder.name != "model" else "finetune"
                    curves.append(History(stage, variant, seed, read_curves(folder)))
    return [history for history in curves if not history.log.empty]


def explained(config: SystemConfig) -> dict[str, str]:
    """Return for each variant what it learned to do, in plain words."""
    learned = {}
    for name, variant in config.measured.items():
        names = dict.fromkeys(
            objective for run in config.runs_of(name) for objective in config.pretrain.runs[run].names
        )
        explained = "; ".join(OBJECTIVES[objective].explained for objective in names)
        learned[name] = variant.explained or explained or "new weights, nothing learned"
    return learned


def labels(system: ResolvedSystem) -> dict[str, str]:
    """Variant and run → how it is called: as the system's page has it, or by its objectives, if it is named after them.

    An included variant, `<system>: <variant>`, is called as on its own page, followed by its system.
    """
    config, names = system.config, dict(REFERENCES)
    for name in [*config.measured, *config.pretrain.runs]:
        runs = config.runs_of(name) if name in config.measured else [name]
        objectives = dict.fromkeys(objective for run in runs for objective in config.pretrain.runs[run].names)
        if name in objectives or len(objectives) > 1:
            names[name] = " + ".join(OBJECTIVES[objective].title for objective in objectives)
    names |= getattr(import_module(system.page_module), "LABELS", {})
    for other, included in system.included.items():
        included_names = labels(included)
        for variant in included.config.measured:
            names[f"{other}: {variant}"] = f"{included_names.get(variant, variant)} ({other})"
    return names


def series() -> dict[str, Series]:
    """Return title, unit and scale of each objective's curves."""
    curves = {}
    for name, config in OBJECTIVES.items():
        curves[name] = Series(f"{config.title} loss", config.unit)
        curves[f"{name}_accuracy"] = Series(f"{config.title}: guessed right", "percent", 100)
        for key, title in config.measures.items():
            curves[f"{name}_{key}"] = Series(f"{config.title}: {title}", "points", 100)
        for key, title in config.nats.items():
            curves[f"{name}_{key}"] = Series(f"{config.title}: {title}", config.unit)
    return curves


def what_was_run(
    config: SystemConfig,
    text: str,
    evaluation: str,
    tasks: Mapping[str, Mapping[str, Any]],
    names: Mapping[str, str],
) -> dict[str, str]:
    """Return the lines at the head of the report."""
    used = {config.encoder_of(run) for run in config.pretrain.runs}
    encoders = [f"{name}: {described(encoder)}" for name, encoder in config.encoders.items() if name in used]
    steps = [f"{names.get(run, run)}: {recipe.steps:,}" for run, recipe in config.pretrain.runs.items() if recipe.steps]
    for run in config.pretrain.runs:
        budgets = [stage.budget for stage in config.pretraining(run).recipe.schedule]
        steps += [f"{names.get(run, run)}: {budget.amount:.3g} {budget.unit}" for budget in budgets if budget]
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

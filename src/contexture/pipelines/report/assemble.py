"""Collect what the page of a system shows: records with their costs, labels, counts, curves and trainings."""

import json
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from contexture.imports import resolve
from contexture.objectives.config import OBJECTIVES
from contexture.paths import (
    DETAILS_FILE,
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
from contexture.reporting.phrases import describe_held_out
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
    """The records of all tasks with what was spent on each, and those of the system's ablation.

    Args:
        system: The system.
        text: Name of the training text.
        models_dir: Folder of its models.
        ablation_dir: Folder of the ablation's report, if there is one.
        results: Task → folder of its results.
    """
    records = [
        {"system": system.name} | record | cost(system, models_dir, record["variant"], record["seed"], text)
        for folder in results.values()
        for record in read_json(folder / RECORDS_FILE)
    ]
    if system.is_ablation:
        # Its rows alone: what needs no training is measured with the system itself.
        rows = [record for record in records if record["variant"] in system.config.all_variants]
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
    """What the page says besides its numbers.

    Args:
        system: The system.
        text: Name of the training text.
        corpus_report: Counts of the corpus.
        models_dir: Folder of the system's models.
        speed: Variant → sentences embedded per second.
        results: Task → folder of its results.
        data: Task → folder of its data.
        counts: Kind of examples → counts.
    """
    config, name = system.config, system.name
    read = {task: read_json(folder / TASK_FILE) for task, folder in data.items()}
    details = {task: {"missing": {}} | read[task] | read_json(results[task] / DETAILS_FILE) for task in results}
    names = labels(system)
    notes = (SPECS[task].documents_note for task in config.tasks)
    evaluation = next(filter(None, notes), None) or describe_held_out(corpus_report.get("evaluation"))
    return ReportContext(
        system=name,
        title=resolve(f"{system.page_module}:TITLE"),
        note=resolve(f"{system.page_module}:NOTE"),
        run=what_was_run(config, text, evaluation, read, names),
        counts={"Corpus": corpus_report, **{f"Examples: {kind}": counted for kind, counted in counts.items()}},
        files={
            f"{REPORTS_DIR / name / METRICS_FILE}": "all scores of this page",
            f"{RESULTS_DIR / name}": "scores, ranks and vectors",
            f"{MODELS_DIR / name}": "encoders and fine-tuned models, with their curves",
        },
        details=details | {"league": {"explained": explained(config), "speed": speed}},
        labels=names,
        full_command=system.full_command,
        examples=by_table(counts),
        trainings=trainings(config, models_dir),
        objective_details=shown(config, models_dir),
        series=series(),
    )


def by_table(counts: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Counts by kind of examples; of a kind of several tables, by table."""
    found: dict[str, Any] = {}
    for kind, counted in counts.items():
        found |= counted if all(isinstance(one, Mapping) for one in counted.values()) else {kind: counted}
    return found


def read_json(file: Path) -> Any:
    """What a JSON file holds."""
    return json.loads(file.read_text(encoding="utf-8"))


def cost(system: ResolvedSystem, models_dir: Path, variant: str, seed: int, text: str) -> dict[str, Any]:
    """What pre-training spent on the encoders of a variant, also of an included one; nothing if none was trained."""
    owner, separator, included_variant = variant.partition(": ")
    if separator and owner in system.included:
        return cost(system.included[owner], models_dir.parent / owner, included_variant, seed, text)
    config = system.config
    if variant not in config.all_variants or not (runs := config.run_names(variant)):
        return {}
    spent: dict[str, Any] = {"training_text": text, **dict.fromkeys(COST, 0)}
    for run in (one for name in runs for one in config.run_chain(name)):
        summary = summary_of(encoder_dir(pretrained_dir(models_dir), run, seed))
        for key in COST:
            # Parameters are those of the encoder at the end; what it was continued from has spent the rest.
            spent[key] += summary[key] if key != "parameters" or run in runs else 0
    return spent | {key: int(spent[key]) for key in ("steps", "tokens", "parameters")}


def shown(config: SystemConfig, models_dir: Path) -> dict[str, dict[str, Any]]:
    """What the objectives of each run showed, with the first seed, where they did."""
    found = {run: shown_of(encoder_dir(pretrained_dir(models_dir), run, 0)) for run in config.pretrain.runs}
    return {run: one for run, one in found.items() if one}


def trainings(config: SystemConfig, models_dir: Path) -> dict[str, dict[str, float]]:
    """What each run spent, of the first seed, and how fast it was."""
    found = {}
    for run in config.pretrain.runs:
        folder = encoder_dir(pretrained_dir(models_dir), run, 0)
        spent = summary_of(folder)
        if spent["steps"]:
            training = config.pretraining(run)
            sizes = config.pretrain.batch_sizes(run, training.streams)
            spent["examples"] = spent["steps"] * sum(sizes[name] for name in training.active)
            speed = read_curves(folder).get("train/tokens_per_second")
            spent["tokens_per_second"] = (
                spent["tokens"] / max(spent["seconds"], 1e-9) if speed is None else speed.median()
            )
            found[run] = spent
    return found


def histories(config: SystemConfig, models_dir: Path) -> list[History]:
    """The curves of every training that has some."""
    found = []
    for seed in range(config.seeds):
        for run in config.pretrain.runs:
            log = read_curves(encoder_dir(pretrained_dir(models_dir), run, seed))
            found.append(History("pretrain", run, seed, log))
        for task in config.tasks:
            for variant in config.task_variants(task):
                for folder in sorted(finetuned_dir(models_dir, task, variant, seed).glob("*")):
                    if "." in folder.name:  # unfinished, set aside, or the system's own
                        continue
                    stage = f"finetune {folder.name}" if folder.name != "model" else "finetune"
                    found.append(History(stage, variant, seed, read_curves(folder)))
    return [history for history in found if not history.log.empty]


def explained(config: SystemConfig) -> dict[str, str]:
    """Variant → what it learned to do, in plain words."""
    found = {}
    for name, variant in config.all_variants.items():
        names = [objective for run in config.run_names(name) for objective in config.pretrain.runs[run].names]
        learned = "; ".join(OBJECTIVES[objective].explained for objective in dict.fromkeys(names))
        found[name] = variant.explained or learned or "untrained"
    return found


def labels(system: ResolvedSystem) -> dict[str, str]:
    """Variant and run → how it is called: as the system's page has it, or by its objectives, if it is named after them.

    An included variant, `<system>: <variant>`, is called as on its own page, followed by its system.
    """
    config, names = system.config, dict(REFERENCES)
    for name in [*config.all_variants, *config.pretrain.runs]:
        runs = config.run_names(name) if name in config.all_variants else [name]
        objectives = dict.fromkeys(one for run in runs for one in config.pretrain.runs[run].names)
        if name in objectives or len(objectives) > 1:
            names[name] = " + ".join(OBJECTIVES[one].title for one in objectives)
    names |= getattr(import_module(system.page_module), "LABELS", {})
    for other, included in system.included.items():
        own = labels(included)
        for variant in included.config.all_variants:
            names[f"{other}: {variant}"] = f"{own.get(variant, variant)} ({other})"
    return names


def series() -> dict[str, Series]:
    """How the curves of objectives are shown."""
    found = {}
    for name, config in OBJECTIVES.items():
        found[name] = Series(f"{config.title} loss", config.unit)
        found[f"{name}_accuracy"] = Series(f"{config.title}: predicted correctly", "percent", 100)
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
    used = {config.encoder_name(run) for run in config.pretrain.runs}
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
        "Evaluation documents": evaluation,
        "Encoders": "; ".join(encoders),
        "Pre-training, steps or budget": "; ".join(steps) or "none",
        "Evaluated on": ", ".join(
            f"{TASKS.get(task, task)} ({DATA.get(found['name'], found['name'])})" for task, found in tasks.items()
        ),
        "Seeds": str(config.seeds) if config.seeds > 1 else "1: preliminary",
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

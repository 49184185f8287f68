"""Collect what the page of a system shows: records with their costs, labels, counts, curves and trainings."""

import json
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from contexture.imports import resolve
from contexture.objectives.config import OBJECTIVES
from contexture.paths import (
    DETAILS_FILE,
    METRICS_FILE,
    RECORDS_FILE,
    RUN_FILE,
    DataLayout,
    data_dir,
    encoder_dir,
    finetuned_dir,
    pretrained_dir,
)
from contexture.reporting.curves import History, Series
from contexture.reporting.names import DATA, REFERENCES, TASKS
from contexture.reporting.page import ReportContext
from contexture.reporting.phrases import count_noun, describe_held_out, lower_first
from contexture.reporting.saved_results import read_provenance
from contexture.reporting.training_tables import format_count
from contexture.systems.config import SystemConfig
from contexture.systems.resolved import ResolvedSystem
from contexture.tasks.base import TASK_FILE
from contexture.tasks.registry import TASKS as SPECS
from contexture.training.config import PretrainRun
from contexture.training.curves import read_curves
from contexture.training.pretrain import read_illustrations, read_stage_steps, read_summary

#: Suffix of the protocols of an ablation.
ABLATION_PROTOCOL = " ablation"
#: Kind of an encoder → title.
ENCODER_TITLES = {
    "bag_of_words": "Bag of words",
    "bag_of_words_mlp": "Bag of words with an MLP",
    "static": "Static word vectors",
}
#: Cost of a record's encoder.
COST = ("steps", "tokens", "seconds", "flops", "parameters")


def collect_records(
    system: ResolvedSystem,
    text: str,
    text_sha256: str,
    text_tokens: int,
    models_dir: Path,
    ablation_dir: Path,
    results: Mapping[str, Path],
) -> list[dict[str, Any]]:
    """Return the records of all tasks with the costs of training, and those of the system's ablation on the same text.

    `text` is the name of the training text, which has the checksum `text_sha256` and `text_tokens` tokens; `results`
    maps each task to the folder of its results.
    """
    records = [
        {"system": system.name} | record | get_cost(system, models_dir, record["variant"], record["seed"], text)
        for folder in results.values()
        for record in read_json(folder / RECORDS_FILE)
    ]
    starts = find_starts(system)
    for record in records:
        if (epochs := count_epochs(system, record, text_tokens)) is not None:
            record["epochs"] = epochs
        if (start := starts.get(record["variant"])) is not None:
            record["untrained_start"] = start
    if system.is_ablation:
        # The system itself has the records of variants without training.
        rows = [record for record in records if record["variant"] in system.config.all_variants]
        records = [record | {"protocol": record["protocol"] + ABLATION_PROTOCOL} for record in rows]
    if (ablation_dir / METRICS_FILE).exists():
        rows = read_json(ablation_dir / METRICS_FILE)
        # Files of older versions do not say which text it was.
        is_same = read_provenance(ablation_dir / RUN_FILE).text_sha256 in (text_sha256, None)
        ablation = [record for record in rows if is_same and record.get("training_text") == text]
        records += [record | {"system": system.name} for record in ablation]
    return records


def collect_report_context(
    system: ResolvedSystem,
    workspace: str | None,
    text: str,
    corpus_report: dict[str, Any],
    models_dir: Path,
    speed: dict[str, float],
    results: Mapping[str, Path],
    data: Mapping[str, Path],
    counts: Mapping[str, dict[str, Any]],
) -> ReportContext:
    """Return all that the page of a system shows besides records: labels, counts, details, trainings.

    `speed` maps variants to sentences embedded per second, `results` and `data` tasks to folders, `counts` kinds of
    examples to counts.
    """
    config, name, labels = system.config, system.name, get_labels(system)
    layout = DataLayout(data_dir(workspace))
    task_data = {task: read_json(folder / TASK_FILE) for task, folder in data.items()}
    details = {task: {"missing": {}} | task_data[task] | read_json(results[task] / DETAILS_FILE) for task in results}
    trainings = summarize_trainings(config, models_dir)
    notes = (SPECS[task].documents_note for task in config.tasks)
    evaluation = next(filter(None, notes), None) or describe_held_out(corpus_report.get("evaluation"))
    return ReportContext(
        system=name,
        title=resolve(f"{system.page_module}:TITLE"),
        note=resolve(f"{system.page_module}:NOTE"),
        run=summarize_run(config, text, evaluation, task_data, labels, trainings),
        counts={
            "Corpus": corpus_report,
            **{f"Examples: {kind.replace('_', ' ')}": values for kind, values in counts.items()},
        },
        files={
            f"{layout.reports_dir / name / METRICS_FILE}": "all scores of this page",
            f"{layout.results_dir / name}": "scores, ranks and vectors",
            f"{layout.models_dir / name}": "encoders and fine-tuned models, with their curves",
        },
        details=details | {"league": {"explained": explain_variants(config), "speed": speed}},
        labels=labels,
        full_command=system.full_command,
        examples=count_by_table(counts),
        trainings=trainings,
        objective_details=read_objective_details(config, models_dir),
        series=get_series(),
        workspace=workspace,
    )


def count_by_table(counts: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return kind of examples → counts, or table → counts for a kind with several tables."""
    tables: dict[str, Any] = {}
    for kind, values in counts.items():
        tables |= values if all(isinstance(value, Mapping) for value in values.values()) else {kind: values}
    return tables


def read_json(file: Path) -> Any:
    """Read a JSON file."""
    return json.loads(file.read_text(encoding="utf-8"))


def get_cost(system: ResolvedSystem, models_dir: Path, variant: str, seed: int, text: str) -> dict[str, Any]:
    """Return the cost of pre-training a variant, and the loss on held-out documents; {} without pre-training.

    The variant may be included from another system, or be the ensemble of several. Searches combined with BM25 have no
    cost of their own.
    """
    owner, separator, included_variant = variant.partition(": ")
    if separator and owner in system.included:
        return get_cost(system.included[owner], models_dir.parent / owner, included_variant, seed, text)
    config = system.config
    members = [variant, *(member for task in config.tasks for member in config.task(task).list_combined(variant))]
    trained = [config.run_names(member) for member in members if member in config.all_variants]
    if not (runs := [*dict.fromkeys(run for names in trained for run in names)]):
        return {}
    cost: dict[str, Any] = {"training_text": text, **dict.fromkeys(COST, 0)}
    for run in (ancestor for name in runs for ancestor in config.run_chain(name)):
        summary = read_summary(encoder_dir(pretrained_dir(models_dir), run, seed))
        for key in COST:
            # Earlier runs add to the cost, but not to the parameters.
            cost[key] += summary[key] if key != "parameters" or run in runs else 0
    losses = get_held_out_losses(encoder_dir(pretrained_dir(models_dir), runs[0], seed)) if len(runs) == 1 else {}
    return cost | {key: int(cost[key]) for key in ("steps", "tokens", "parameters")} | losses


def get_held_out_losses(folder: Path) -> dict[str, Any]:
    """Return what a record has of the loss of a training on held-out documents; {} without a finite loss."""
    held_out = read_summary(folder).get("held_out")
    if held_out is None or None in (held_out["loss"], held_out["start"]):
        return {}
    return {
        "held_out_loss": held_out["loss"],
        "held_out_loss_start": held_out["start"],
        "stopped_early": held_out["stopped_early"],
    }


def read_objective_details(config: SystemConfig, models_dir: Path) -> dict[str, dict[str, Any]]:
    """Return run → objective → illustration of what it learned (first seed), of the objectives that have one."""
    pretrained, seed = pretrained_dir(models_dir), config.first_seed
    examples = {run: read_illustrations(encoder_dir(pretrained, run, seed)) for run in config.pretrain.runs}
    return {run: example for run, example in examples.items() if example}


def summarize_trainings(config: SystemConfig, models_dir: Path) -> dict[str, dict[str, float]]:
    """Return run → steps, tokens, FLOPs, seconds, parameters, examples and tokens per second (first seed)."""
    summaries = {}
    for run in config.pretrain.runs:
        folder = encoder_dir(pretrained_dir(models_dir), run, config.first_seed)
        summary = read_summary(folder)
        if summary["steps"]:
            summary["examples"] = count_examples(config, run, read_stage_steps(config.pretraining(run).recipe, folder))
            speed = read_curves(folder).get("train/tokens_per_second")
            mean_speed = summary["tokens"] / max(summary["seconds"], 1e-9)
            summary["tokens_per_second"] = mean_speed if speed is None else speed.median()
            summaries[run] = summary
    return summaries


def count_examples(config: SystemConfig, run: str, stage_steps: Sequence[int]) -> int:
    """Return the rows of all batches of a run whose stages had these numbers of steps."""
    training = config.pretraining(run)
    sizes = config.pretrain.batch_sizes(run, training.streams)
    return sum(
        steps * sum(sizes[name] for name in training.stage_streams(number)) for number, steps in enumerate(stage_steps)
    )


def read_histories(system: ResolvedSystem, models_dir: Path) -> list[History]:
    """Return the learning curves of all pre-trainings and fine-tunings."""
    config, histories = system.config, []
    for seed in config.seed_range:
        for run in config.pretrain.runs:
            log = read_curves(encoder_dir(pretrained_dir(models_dir), run, seed))
            histories.append(History("pretrain", run, seed, log))
        for task, options in system.finetune_options.items():
            for variant, names in options.items():
                for name in sorted(names):
                    log = read_curves(finetuned_dir(models_dir, task, variant, seed) / name)
                    histories.append(History(f"finetune {name}", variant, seed, log))
    return [history for history in histories if not history.log.empty]


def count_tokens(documents_dir: Path) -> int:
    """Return the number of tokens of a table of documents, from the metadata of its files."""
    row_groups = (
        metadata.row_group(number)
        for metadata in map(pq.read_metadata, sorted(documents_dir.rglob("*.parquet")))
        for number in range(metadata.num_row_groups)
    )
    columns = (row_group.column(number) for row_group in row_groups for number in range(row_group.num_columns))
    # Documents have no empty paragraphs and sentences, so that each value is a token.
    return sum(column.num_values for column in columns if ".sentences." in column.path_in_schema)


def count_epochs(system: ResolvedSystem, record: Mapping[str, Any], text_tokens: int) -> float | None:
    """Return the tokens that a training read, special tokens included, divided by those of the text.

    None for variants of systems with another kind of vocabulary, and for those without training.
    """
    owner, separator, _ = record["variant"].partition(": ")
    config = system.included[owner].config if separator and owner in system.included else system.config
    if not record.get("tokens") or not text_tokens or config.vocabulary != system.config.vocabulary:
        return None
    return float(record["tokens"] / text_tokens)


def find_starts(system: ResolvedSystem) -> dict[str, str]:
    """Return variant → the variant with its initial weights, for trained variants of one run that have such a variant.

    Both have the same encoder, and continue the same encoder from outside of the system, if any.
    """
    config = system.config
    run_by_variant = {name: runs[0] for name in config.all_variants if len(runs := config.run_names(name)) == 1}

    def is_trained(run: str) -> bool:
        return any(config.pretrain.runs[name].schedule for name in config.run_chain(run))

    def get_initial_weights(run: str) -> tuple[str, Path | None]:
        return config.encoder_name(run), config.previous_dir(config.run_chain(run)[-1])

    untrained: dict[tuple[str, Path | None], str] = {}
    for name, run in run_by_variant.items():
        if not is_trained(run):
            untrained.setdefault(get_initial_weights(run), name)
    starts = {
        name: untrained[weights]
        for name, run in run_by_variant.items()
        if is_trained(run) and (weights := get_initial_weights(run)) in untrained
    }
    for other, included in system.included.items():
        starts |= {f"{other}: {name}": f"{other}: {start}" for name, start in find_starts(included).items()}
    return starts


def explain_variants(config: SystemConfig) -> dict[str, str]:
    """Return variant → what it learned, in plain words."""
    explanations = {}
    for name in config.all_variants:
        learned = "; ".join(
            OBJECTIVES[objective].description for objective in get_objectives(config, config.run_names(name))
        )
        explanations[name] = learned or "random weights, no training"
    return explanations


def get_objectives(config: SystemConfig, runs: Iterable[str]) -> list[str]:
    """Return the names of the objectives of runs, each once."""
    return list(dict.fromkeys(objective for run in runs for objective in config.pretrain.runs[run].objective_names))


def get_labels(system: ResolvedSystem) -> dict[str, str]:
    """Return variant or run → label, from the system's page or from its objectives.

    An included variant, `<system>: <variant>`, has the label of its own page, followed by its system unless it
    shares its first word. A run of an ablation has the label of its run, followed by its sizes.
    """
    config, labels = system.config, dict(REFERENCES)
    for name in [*config.all_variants, *config.pretrain.runs]:
        objectives = get_objectives(config, config.run_names(name) if name in config.all_variants else [name])
        if name in objectives or len(objectives) > 1:
            labels[name] = " + ".join(OBJECTIVES[objective].title for objective in objectives)
    labels |= getattr(import_module(system.page_module), "LABELS", {})
    for name in config.pretrain.runs if system.is_ablation else ():
        run, *sizes = name.split(" ")
        labels[name] = ", ".join([labels.get(run, run), *(size.replace("_", " ").replace("=", " ") for size in sizes)])
    for other, included in system.included.items():
        included_labels, title = get_labels(included), get_short_title(included)
        for variant in included.config.all_variants:
            label = included_labels.get(variant, variant)
            labels[f"{other}: {variant}"] = label if title.split(" ")[0] in label else f"{label} ({lower_first(title)})"
    return labels


def get_short_title(system: ResolvedSystem) -> str:
    """Return the title of a system's page up to a colon."""
    title: str = resolve(f"{system.page_module}:TITLE")
    return title.partition(":")[0]


def get_series() -> dict[str, Series]:
    """Return name → title, unit and scale of each objective's learning curves."""
    series = {}
    for name, config in OBJECTIVES.items():
        series[name] = Series(f"{config.title} loss", config.unit)
        series[f"{name}_accuracy"] = Series(f"{config.title}: predicted correctly", "percent", 100)
        for key, title in config.measures.items():
            series[f"{name}_{key}"] = Series(f"{config.title}: {title}", "points", 100)
        for key, title in config.nats.items():
            series[f"{name}_{key}"] = Series(f"{config.title}: {title}", config.unit)
    return series


def summarize_run(
    config: SystemConfig,
    text: str,
    evaluation: str,
    tasks: Mapping[str, Mapping[str, Any]],
    labels: Mapping[str, str],
    trained: Iterable[str],
) -> dict[str, str]:
    """Return the lines at the top of the report: text, encoders, pre-training of `trained` runs, tasks and seeds."""
    used = {config.encoder_name(run) for run in config.pretrain.runs}
    encoders = [describe_encoder(encoder) for name, encoder in config.encoders.items() if name in used]
    amounts: dict[str, list[str]] = {}
    for run in trained:
        if amount := describe_budget(config.pretraining(run).recipe):
            amounts.setdefault(amount, []).append(labels.get(run, run))
    measured = [
        f"{TASKS.get(task, task)} ({DATA.get(values['name'], values['name'])})" for task, values in tasks.items()
    ]
    return {
        "Text": text,
        "Evaluation documents": evaluation,
        "Encoders": "; ".join(dict.fromkeys(encoders)),
        "Pre-training": "; ".join(f"{amount}: {', '.join(names)}" for amount, names in amounts.items()) or "none",
        "Measured on": ", ".join(measured),
        "Repetitions": count_noun(config.seeds, "seed") + (": preliminary" if config.seeds == 1 else ""),
    }


def describe_budget(recipe: PretrainRun) -> str:
    """Return the length of a pre-training: its steps, or the budgets of its stages; "" without stages."""
    steps = [count_noun(recipe.steps, "step")] if recipe.steps else []
    budgets = [stage.budget for stage in recipe.schedule if stage.budget]
    names = {"flops": "FLOPs"}
    amounts = [f"{format_count(budget.amount)} {names.get(budget.unit, budget.unit)}" for budget in budgets]
    return ", then ".join([*steps, *amounts])


def describe_encoder(encoder: Any) -> str:
    """Return the architecture and sizes of an encoder: "Transformer (4 layers × 256, 4 heads, mean pooling)"."""
    suffix = "" if encoder.shared else ", one network each for queries and documents"
    if encoder.kind == "transformer":
        layers, heads = count_noun(encoder.layers, "layer"), count_noun(encoder.heads, "head")
        size = encoder.init_from or f"{layers} × {encoder.hidden_size}, {heads}"
        return f"Transformer ({size}, {encoder.pooling} pooling{suffix})"
    dimensions = count_noun(encoder.embedding_size, "dimension")
    if encoder.kind == "gru":
        direction = "Bidirectional " if encoder.bidirectional else ""
        return f"{direction}GRU ({encoder.words} word vectors, {dimensions}{suffix})"
    return f"{ENCODER_TITLES.get(encoder.kind, encoder.kind)} ({dimensions}{suffix})"

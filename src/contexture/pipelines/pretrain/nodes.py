"""Nodes of the stage `pretrain`."""

import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow.compute as pc

from contexture.config import ComputeConfig
from contexture.encoders.saved import seed_dir
from contexture.paths import encoder_dir
from contexture.pipelines.named import select_group
from contexture.pipelines.trainings import Training, config_file, train_all
from contexture.retrieval.parquet_rows import read_batches
from contexture.systems.config import SystemConfig
from contexture.systems.resolved import ResolvedSystem
from contexture.training.config import Stage
from contexture.training.fleet import Job
from contexture.training.rest import RUN_STARTED, RestOfRun


def pretrain_all(
    system: ResolvedSystem,
    compute: ComputeConfig,
    vocabulary: Path,
    pretrained_dir: Path,
    passages: Path | None = None,
    **inputs: Path,
) -> list[Path]:
    """Train each run with each seed; return the folder of each run. Unchanged finished trainings are reused.

    `inputs` are the folders of the examples, as `examples/<kind>`. Budgets in minutes need the table of `passages`.
    """
    config, examples, trainings = system.config, select_group(inputs, "examples"), []
    limited = [(seed, run) for seed in config.seed_range for run in config.runs_in_minutes]
    # The pipeline has passages if there are such runs.
    num_tokens = count_tokens(passages, config.lengths.document) if limited and passages else 0
    for seed in config.seed_range:
        for run in config.run_order:
            rest = None
            if (seed, run) in limited:
                rest = estimate_rest(config, run, num_tokens, len(limited) - limited.index((seed, run)))
            previous_run, external_dir = config.previous_run(run), config.previous_dir(run)
            start, predecessor = seed_dir(external_dir, seed) if external_dir else None, None
            if previous_run:
                start = encoder_dir(pretrained_dir, previous_run, seed)
                predecessor = f"pretrain {system.name} {previous_run} seed {seed}"
            output_dir = encoder_dir(pretrained_dir, run, seed)
            arguments = (config, run, seed, examples, vocabulary, start, output_dir, rest)
            job = Job(f"pretrain {system.name} {run} seed {seed}", pretrain_one, arguments, predecessor)
            tags = {"system": system.name, "stage": "pretrain", "variant": run, "seed": str(seed)}
            trainings.append(Training(job, output_dir, tags, describe_training(config, run, seed)))
    train_all(trainings, compute, f"{system.name}: pre-training")
    return [pretrained_dir / run for run in config.pretrain.runs]


def gather_encoders(*runs: Path) -> Path:
    """Return the folder of all encoders of a system; `runs` are the folders of its runs, also waited for."""
    return runs[0].parent


def pretrain_one(
    config: SystemConfig,
    run: str,
    seed: int,
    examples: dict[str, Path],
    vocabulary: Path,
    start: Path | None,
    output_dir: Path,
    rest: RestOfRun | None = None,
) -> bool:
    """Train one run with one seed, with a process for each device if there are several.

    Returns False if the encoder is there already. Budgets in minutes need `rest`.
    """
    from contexture.systems.launch import pretrain_arguments
    from contexture.training.launcher import launch_pretraining
    from contexture.training.prepare import RunFiles

    examples_dir = next((folder.parent for folder in examples.values()), Path())
    with config_file(config) as file:
        arguments = pretrain_arguments(file, run, seed, examples_dir, vocabulary, start)
        files = RunFiles(examples, vocabulary, start, rest)
        return launch_pretraining(config.pretraining(run), seed, files, output_dir, arguments)


def count_tokens(passages: Path, limit: int) -> int:
    """Return the number of tokens of all passages, at most `limit` of each."""
    batches = read_batches(passages, ["tokens"])
    return sum(pc.sum(pc.min_element_wise(pc.list_value_length(batch["tokens"]), limit)).as_py() for batch in batches)


def estimate_rest(config: SystemConfig, run: str, num_tokens: int, trainings: int) -> RestOfRun:
    """Estimate what a run of the pipeline does after `trainings` trainings; all passages have `num_tokens` tokens.

    Each encoder of the same kind embeds all passages for the evaluation, and the index embeds them again.
    """
    encoders = [name for name in config.pretrain.runs if config.encoder_name(name) == config.encoder_name(run)]
    tokens = (len(encoders) * config.seeds + 1) * num_tokens
    return RestOfRun(RUN_STARTED, trainings, tokens, time.time() - RUN_STARTED)


def describe_training(config: SystemConfig, run: str, seed: int) -> dict[str, Any]:
    """Return the settings of a training, which MLflow shows."""
    training = config.pretraining(run)
    sizes = config.pretrain.batch_sizes(run, training.streams)
    shared = asdict(training.settings)
    for key in ("runs", "budget"):  # settings of other runs, and what the schedule has
        del shared[key]
    return {
        **shared,
        "seed": seed,
        "start": training.recipe.start or "new weights",
        "schedule": "; ".join(map(describe_stage, training.recipe.schedule)) or "none",
        "objectives": training.recipe.objectives,
        "batch_size": {stream: sizes[stream] for stream in training.stream_names},
        "encoder": {"name": config.encoder_name(run), **asdict(training.encoder)},
        "lengths": asdict(training.lengths),
        "streams": {stream: asdict(training.streams[stream]) for stream in training.stream_names},
    }


def describe_stage(stage: Stage) -> str:
    """Describe a stage of a schedule, such as "300 steps of 1 mlm + 1 mspp", with its settings of streams."""
    weights = " + ".join(f"{weight:g} {name}" for name, weight in stage.weights.items())
    length = f"{stage.budget.amount:g} {stage.budget.unit}" if stage.budget else f"{stage.steps} steps"
    changes = [f"{key} {value}" for settings in stage.streams.values() for key, value in settings.items()]
    return f"{length} of {weights}" + (f" ({', '.join(changes)})" if changes else "")

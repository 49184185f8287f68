"""Nodes of the stage `pretrain`."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

from contexture.config import ComputeConfig
from contexture.encoders.saved import of_seed
from contexture.paths import encoder_dir
from contexture.pipelines.named import select_group
from contexture.pipelines.trainings import Training, config_file, train_all
from contexture.systems.config import SystemConfig
from contexture.systems.resolved import ResolvedSystem
from contexture.training.config import Stage
from contexture.training.fleet import Job


def pretrain_all(
    system: ResolvedSystem, compute: ComputeConfig, vocabulary: Path, pretrained_dir: Path, **inputs: Path
) -> list[Path]:
    """Train every run with every seed; finished ones that nothing changed are kept.

    `inputs` are the folders of the examples, as `examples/<kind>`.
    """
    config, examples, trainings = system.config, select_group(inputs, "examples"), []
    for seed in range(config.seeds):
        for run in config.run_order:
            folder, start, other = (
                encoder_dir(pretrained_dir, run, seed),
                config.previous_run(run),
                config.previous_dir(run),
            )
            before = encoder_dir(pretrained_dir, start, seed) if start else of_seed(other, seed) if other else None
            name = f"pretrain {system.name} {run} seed {seed}"
            after = f"pretrain {system.name} {start} seed {seed}" if start else None
            arguments = (config, run, seed, examples, vocabulary, before, folder)
            tags = {"system": system.name, "stage": "pretrain", "variant": run, "seed": str(seed)}
            job = Job(name, pretrain_one, arguments, after)
            trainings.append(Training(job, folder, tags, settings(config, run, seed)))
    train_all(trainings, compute, f"{system.name}: pre-training")
    return [pretrained_dir / run for run in config.pretrain.runs]


def gather(*runs: Path) -> Path:
    """The folder of a system's encoders, for those who read several: they wait for all of them."""
    return runs[0].parent


def pretrain_one(
    config: SystemConfig,
    run: str,
    seed: int,
    examples: dict[str, Path],
    vocabulary: Path,
    start: Path | None,
    folder: Path,
) -> None:
    """Train one run with one seed; on several devices in a process for each."""
    from contexture.systems.launch import pretrain_arguments
    from contexture.training.launcher import launch_pretraining
    from contexture.training.prepare import Files

    root = next((kind.parent for kind in examples.values()), Path())
    with config_file(config) as file:
        told = pretrain_arguments(file, run, seed, root, vocabulary, start)
        launch_pretraining(config.pretraining(run), seed, Files(examples, vocabulary, start), folder, told)


def settings(config: SystemConfig, run: str, seed: int) -> dict[str, Any]:
    """What makes a training what it is."""
    training = config.pretraining(run)
    sizes = config.pretrain.batch_sizes(run, training.streams)
    shared = asdict(training.settings)
    for key in ("runs", "budget"):  # other runs, and what the stages of the schedule say
        del shared[key]
    return {
        **shared,
        "seed": seed,
        "start": training.recipe.start or "new weights",
        "schedule": "; ".join(map(described, training.recipe.schedule)) or "none",
        "objectives": training.recipe.objectives,
        "batch_size": {stream: sizes[stream] for stream in training.active},
        "encoder": {"name": config.encoder_name(run), **asdict(training.encoder)},
        "lengths": asdict(training.lengths),
        "streams": {stream: asdict(training.streams[stream]) for stream in training.active},
    }


def described(stage: Stage) -> str:
    """A stage of a schedule: "300 steps of 1 mlm + 1 mspp", and how it reads its streams, if otherwise than others."""
    weights = " + ".join(f"{weight:g} {name}" for name, weight in stage.weights.items())
    spent = f"{stage.budget.amount:g} {stage.budget.unit}" if stage.budget else f"{stage.steps} steps"
    changes = [f"{key} {value}" for settings in stage.streams.values() for key, value in settings.items()]
    return f"{spent} of {weights}" + (f" ({', '.join(changes)})" if changes else "")

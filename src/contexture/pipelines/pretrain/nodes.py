"""Nodes of the stage `pretrain`."""

from pathlib import Path

from contexture.config import ComputeConfig
from contexture.encoders.saved import of_seed
from contexture.pipelines.trainings import config_file, train_all
from contexture.systems.config import SystemConfig
from contexture.training.fleet import Job


def pretrain_all(
    system: str, config: SystemConfig, compute: ComputeConfig, vocabulary: Path, place: Path, *folders: Path
) -> list[Path]:
    """Train every run with every seed into `<place>/<run>/seed-<n>`; finished ones that nothing changed are kept.

    `folders` are those of the examples, in the order of their kinds.
    """
    examples = dict(zip(config.examples(), folders, strict=True))
    jobs = []
    for seed in range(config.seeds):
        for run in config.order:
            folder, start, other = seed_folder(place, run, seed), config.before(run), config.folder_before(run)
            before = seed_folder(place, start, seed) if start else of_seed(other, seed) if other else None
            name = f"pretrain {system} {run} seed {seed}"
            after = f"pretrain {system} {start} seed {seed}" if start else None
            arguments = (config, run, seed, examples, vocabulary, before, folder)
            tags = {"system": system, "stage": "pretrain", "variant": run, "seed": str(seed)}
            jobs.append((Job(name, pretrain_one, arguments, after), folder, tags))
    train_all(jobs, compute, f"{system}: pre-training")
    return [place / run for run in config.pretrain.runs]


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
    from contexture.train import pretrain_arguments
    from contexture.training.launcher import launch_pretraining
    from contexture.training.prepare import Files

    root = next((kind.parent for kind in examples.values()), Path())
    with config_file(config) as file:
        told = pretrain_arguments(file, run, seed, root, vocabulary, start)
        launch_pretraining(config.pretraining(run), seed, Files(examples, vocabulary, start), folder, told)


def seed_folder(place: Path, run: str, seed: int) -> Path:
    """Where the encoder of a run and a seed lies."""
    return place / run / f"seed-{seed}"

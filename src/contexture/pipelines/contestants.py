"""A system's variants as tasks meet them, and the datasets that they are made of."""

from pathlib import Path

from contexture.pipelines.pretrain.nodes import seed_folder
from contexture.systems.config import SystemConfig
from contexture.systems.registry import task_of
from contexture.tasks.base import Contestant


def contestants(config: SystemConfig, task: str, pretrained: Path, finetuned: Path | None) -> list[Contestant]:
    """The variants that a task measures, of every seed."""
    found = []
    for seed in range(config.seeds):
        for name in config.variants_of(task):
            variant = config.measured[name]
            runs = [str(seed_folder(pretrained, run, seed)) for run in config.runs_of(name)]
            if variant.model is not None and seed:
                continue  # a published model is the same with every seed
            tuned = finetuned / name / f"seed-{seed}" if finetuned and options(config, task, name) else None
            encoders = (variant.model,) if variant.model is not None else tuple(runs)
            found.append(Contestant(name, seed, encoders, tuned, variant.head))
    return found


def options(config: SystemConfig, task: str, variant: str) -> list[str]:
    """The models of a task that are fine-tuned of a variant."""
    found = config.measured[variant]
    tunable = found.model is None and len(config.runs_of(variant)) == 1 and found.finetuned
    return task_of(task).options(config.task(task), found.head) if tunable else []


def datasets(config: SystemConfig, task: str) -> list[str]:
    """The encoders that a task measures, as names in the catalog."""
    runs = dict.fromkeys(run for name in config.variants_of(task) for run in config.runs_of(name))
    return [f"{run}-pretrained" for run in runs]

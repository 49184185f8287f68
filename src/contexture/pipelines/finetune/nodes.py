"""Nodes of the stage `finetune`."""

from dataclasses import asdict
from pathlib import Path

from contexture.config import ComputeConfig
from contexture.pipelines.contestants import contestants, options
from contexture.pipelines.trainings import Training, config_file, train_all
from contexture.systems.config import SystemConfig
from contexture.tasks.base import Contestant
from contexture.training.fleet import Job


def finetune_all(
    system: str,
    task: str,
    config: SystemConfig,
    compute: ComputeConfig,
    data: Path,
    pretrained: Path,
    place: Path,
    *encoders: Path,
) -> Path:
    """Fine-tune every variant with every seed into `<place>/<variant>/seed-<n>/<option>`; `encoders` to wait for."""
    place.mkdir(parents=True, exist_ok=True)
    trainings = []
    for contestant in contestants(config, task, pretrained, place):
        for option in options(config, task, contestant.variant):
            assert contestant.finetuned is not None
            folder = contestant.finetuned / option
            name = f"finetune {system} {contestant.variant} on {task} {option} seed {contestant.seed}"
            tags = {"system": system, "stage": "finetune", "variant": contestant.variant, "seed": str(contestant.seed)}
            arguments = (config, task, option, contestant, data, folder)
            tags |= {"task": task, "option": option}
            settings = {
                **asdict(config.task(task)),
                "seed": contestant.seed,
                "start": " ".join(config.runs_of(contestant.variant)),
                "head": contestant.head,
            }
            trainings.append(Training(Job(name, finetune_one, arguments), folder, tags, settings))
    train_all(trainings, compute, f"{system}: fine-tuning on {task.replace('_', ' ')}")
    return place


def finetune_one(
    config: SystemConfig, task: str, option: str, contestant: Contestant, data: Path, folder: Path
) -> None:
    """Fine-tune one model, unless it is there; on several devices in a process for each."""
    from contexture.train import finetune_arguments, launch_finetuning

    folder.parent.mkdir(parents=True, exist_ok=True)
    with config_file(config) as file:
        told = finetune_arguments(file, task, option, contestant, data)
        launch_finetuning(config, task, option, contestant, data, folder, told)

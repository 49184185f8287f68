"""Nodes of the stage `finetune`."""

import logging
from dataclasses import replace
from pathlib import Path

from contexture.config import ComputeConfig
from contexture.encoders.saved import is_encoder
from contexture.pipelines.contestants import contestants, options
from contexture.pipelines.trainings import Training, config_file, train_all
from contexture.systems.config import SystemConfig
from contexture.tasks.base import Contestant
from contexture.training.fleet import Job

LOG = logging.getLogger(__name__)


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
        named = f"finetune {system} {contestant.variant} on {task}"
        for option in options(config, task, contestant.variant):
            assert contestant.finetuned is not None
            folder = contestant.finetuned / option
            before = config.task(task).before(option)
            name = f"{named} {option} seed {contestant.seed}"
            after = f"{named} {before} seed {contestant.seed}" if before else None
            given = replace(contestant, encoders=(str(contestant.finetuned / before),)) if before else contestant
            tags = {"system": system, "stage": "finetune", "variant": contestant.variant, "seed": str(contestant.seed)}
            arguments = (config, task, option, given, data, folder)
            tags |= {"task": task, "option": option}
            settings = {
                **config.task(task).identity(option),
                "seed": contestant.seed,
                "start": before or " ".join(config.runs_of(contestant.variant)),
                "head": contestant.head,
            }
            trainings.append(Training(Job(name, finetune_one, arguments, after), folder, tags, settings))
    train_all(trainings, compute, f"{system}: fine-tuning on {task.replace('_', ' ')}")
    return place


def finetune_one(
    config: SystemConfig, task: str, option: str, contestant: Contestant, data: Path, folder: Path
) -> None:
    """Fine-tune one model, unless it is there; on several devices in a process for each.

    Nothing is made of a model to begin with that is not there, as its data were missing.
    """
    from contexture.systems.launch import finetune_arguments, launch_finetuning

    if config.task(task).before(option) and not is_encoder(Path(contestant.encoders[0])):
        LOG.warning("%s is not made: there is no %s to begin with", folder, contestant.encoders[0])
        return
    folder.parent.mkdir(parents=True, exist_ok=True)
    with config_file(config) as file:
        told = finetune_arguments(file, task, option, contestant, data)
        launch_finetuning(config, task, option, contestant, data, folder, told)

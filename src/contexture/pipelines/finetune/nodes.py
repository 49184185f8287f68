"""Nodes of the stage `finetune`."""

import logging
from dataclasses import replace
from pathlib import Path

from contexture.config import ComputeConfig
from contexture.encoders.saved import is_encoder
from contexture.paths import task_models_dir
from contexture.pipelines.trainings import Training, config_file, train_all
from contexture.systems.config import SystemConfig
from contexture.systems.resolved import ResolvedSystem
from contexture.tasks.base import EvaluatedEncoder
from contexture.training.fleet import Job

LOG = logging.getLogger(__name__)


def finetune_all(
    system: ResolvedSystem, task: str, compute: ComputeConfig, data: Path, models_dir: Path, *encoders: Path
) -> Path:
    """Fine-tune every option of every variant with every seed; `encoders` are there to wait for."""
    task_dir = task_models_dir(models_dir, task)
    task_dir.mkdir(parents=True, exist_ok=True)
    trainings = [
        _training(system, task, option, encoder, data)
        for encoder in system.encoders(task, models_dir)
        for option in system.finetune_options[task][encoder.variant]
    ]
    train_all(trainings, compute, f"{system.name}: fine-tuning on {task.replace('_', ' ')}")
    return task_dir


def _training(system: ResolvedSystem, task: str, option: str, encoder: EvaluatedEncoder, data: Path) -> Training:
    """The job that fine-tunes one model, from the model of another option if the task says so."""
    assert encoder.finetuned is not None
    settings, variant, seed = system.config.task(task), encoder.variant, encoder.seed
    start = settings.before(option)
    prefix = f"finetune {system.name} {variant} on {task}"
    predecessor = f"{prefix} {start} seed {seed}" if start else None
    model_dir = encoder.finetuned / option
    if start:
        encoder = replace(encoder, models=(str(encoder.finetuned / start),))
    tags = {"system": system.name, "stage": "finetune", "variant": variant, "seed": str(seed)}
    tags |= {"task": task, "option": option}
    identity = {
        **settings.identity(option),
        "seed": seed,
        "start": start or " ".join(system.config.run_names(variant)),
        "head": encoder.head,
    }
    arguments = (system.config, task, option, encoder, data, model_dir)
    return Training(
        Job(f"{prefix} {option} seed {seed}", finetune_one, arguments, predecessor), model_dir, tags, identity
    )


def finetune_one(
    config: SystemConfig, task: str, option: str, encoder: EvaluatedEncoder, data: Path, folder: Path
) -> None:
    """Fine-tune one model, unless it is there; on several devices in a process for each.

    Nothing is made of a model to begin with that is not there, as its data were missing.
    """
    from contexture.systems.launch import finetune_arguments, launch_finetuning

    if config.task(task).before(option) and not is_encoder(Path(encoder.models[0])):
        LOG.warning("%s is not made: there is no %s to begin with", folder, encoder.models[0])
        return
    folder.parent.mkdir(parents=True, exist_ok=True)
    with config_file(config) as file:
        told = finetune_arguments(file, task, option, encoder, data)
        launch_finetuning(config, task, option, encoder, data, folder, told)

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
    """Fine-tune each option of each variant with each seed; return the folder of the models.

    `encoders` are only waited for.
    """
    task_dir = task_models_dir(models_dir, task)
    task_dir.mkdir(parents=True, exist_ok=True)
    trainings = [
        create_training(system, task, option, encoder, data)
        for encoder in system.encoders(task, models_dir)
        for option in system.finetune_options[task][encoder.variant]
    ]
    train_all(trainings, compute, f"{system.name}: fine-tuning on {task.replace('_', ' ')}")
    return task_dir


def create_training(system: ResolvedSystem, task: str, option: str, encoder: EvaluatedEncoder, data: Path) -> Training:
    """Return the fine-tuning job of a model, which starts from the model of another option if the task says so."""
    assert encoder.finetuned_dir is not None
    settings, variant, seed = system.config.task(task), encoder.variant, encoder.seed
    start = settings.get_start_option(option)
    prefix = f"finetune {system.name} {variant} on {task}"
    predecessor = f"{prefix} {start} seed {seed}" if start else None
    model_dir = encoder.finetuned_dir / option
    if start:
        encoder = replace(encoder, models=(str(encoder.finetuned_dir / start),))
    tags = {"system": system.name, "stage": "finetune", "variant": variant, "seed": str(seed)}
    tags |= {"task": task, "option": option}
    origin = start or " ".join(system.config.run_names(variant))
    identity = {**settings.identity(option), "seed": seed, "start": origin, "head": encoder.head}
    arguments = (system.config, task, option, encoder, data, model_dir)
    job = Job(f"{prefix} {option} seed {seed}", finetune_one, arguments, predecessor)
    return Training(job, model_dir, tags, identity)


def finetune_one(
    config: SystemConfig, task: str, option: str, encoder: EvaluatedEncoder, data: Path, model_dir: Path
) -> bool:
    """Fine-tune one model, with a process for each device if there are several; return False if one is there already.

    Skip it with a warning if the model that it starts from is missing, because its data were missing.
    """
    from contexture.systems.launch import finetune_arguments, launch_finetuning

    if config.task(task).get_start_option(option) and not is_encoder(Path(encoder.models[0])):
        LOG.warning("%s is not trained: there is no %s to start from", model_dir, encoder.models[0])
        return True
    model_dir.parent.mkdir(parents=True, exist_ok=True)
    with config_file(config) as file:
        arguments = finetune_arguments(file, task, option, encoder, data)
        return launch_finetuning(config, task, option, encoder, data, model_dir, arguments)

"""Nodes of the stage `finetune`."""

import hashlib
from dataclasses import asdict
from pathlib import Path

from contexture.config import ComputeConfig
from contexture.folders import finished, work_folder
from contexture.pipelines.contestants import contestants, options
from contexture.pipelines.trainings import train_all
from contexture.systems.config import SystemConfig
from contexture.systems.registry import task_of
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
    jobs = []
    for contestant in contestants(config, task, pretrained, place):
        for option in options(config, task, contestant.variant):
            assert contestant.finetuned is not None
            folder = contestant.finetuned / option
            name = f"finetune {system} {contestant.variant} on {task} {option} seed {contestant.seed}"
            tags = {"system": system, "stage": "finetune", "variant": contestant.variant, "seed": str(contestant.seed)}
            arguments = (config, task, option, contestant, data, folder)
            jobs.append((Job(name, finetune_one, arguments), folder, tags | {"task": task, "option": option}))
    train_all(jobs, compute, f"{system}: fine-tuning on {task.replace('_', ' ')}")
    return place


def finetune_one(
    config: SystemConfig, task: str, option: str, contestant: Contestant, data: Path, folder: Path
) -> None:
    """Fine-tune one model, unless it is there of the same settings, encoder and data."""
    from contexture.encoders.saved import encoder_checksum

    settings = config.task(task)
    identity = {
        "settings": asdict(settings),
        "option": option,
        "seed": contestant.seed,
        "head": contestant.head,
        "encoders": [encoder_checksum(Path(one)) for one in contestant.encoders],
        "data": {
            file.name: hashlib.sha256(file.read_bytes()).hexdigest()
            for file in sorted(data.iterdir())
            if file.is_file()
        },
    }
    if finished(folder, identity):
        return
    folder.parent.mkdir(parents=True, exist_ok=True)
    with work_folder(folder, identity) as work:
        task_of(task).finetune(settings, option, contestant, data, work)

"""Start a pre-training or fine-tuning of a system, in this process or on several devices."""

from pathlib import Path
from typing import Any

from contexture.encoders.saved import encoder_checksum, is_encoder
from contexture.systems.config import SystemConfig
from contexture.tasks.base import EvaluatedEncoder
from contexture.tasks.registry import TASKS
from contexture.training.card import finetuning_details, finetuning_metadata, write_card
from contexture.training.launcher import file_checksums, launch
from contexture.training.prepare import RunFiles
from contexture.training.ranks import get_rank


def training_files(config: SystemConfig, examples: Path, vocabulary: Path, start: Path | None) -> RunFiles:
    """Return the input files of a pre-training: examples, vocabulary, and the encoder to start from.

    `examples` has a folder for each kind of examples.
    """
    return RunFiles({kind: examples / kind for kind in config.examples()}, vocabulary, start)


def pretrain_arguments(
    config: Path, run: str, seed: int, examples: Path, vocabulary: Path, start: Path | None
) -> list[str]:
    """Return the arguments of `contexture` that start each process of a pre-training on several devices.

    The output folder is not among them.
    """
    arguments = ["train", "pretrain", "--config", str(config), "--run", run, "--seed", str(seed)]
    arguments += ["--examples", str(examples), "--vocabulary", str(vocabulary)]
    return [*arguments, "--start", str(start)] if start else arguments


def finetune_arguments(config: Path, task: str, option: str, encoder: EvaluatedEncoder, data: Path) -> list[str]:
    """Return the arguments of `contexture` that start each process of a fine-tuning on several devices.

    The output folder is not among them.
    """
    arguments = ["train", "finetune", "--config", str(config), "--task", task, "--option", option, "--data", str(data)]
    arguments += ["--variant", encoder.variant, "--seed", str(encoder.seed)]
    return [*arguments, "--encoders", *encoder.models]


def launch_finetuning(
    config: SystemConfig,
    task: str,
    option: str,
    encoder: EvaluatedEncoder,
    data: Path,
    folder: Path,
    arguments: list[str] | None = None,
) -> bool:
    """Fine-tune one model into `folder`, unless it has a model of the same settings, encoder and data (see `launch`).

    Returns whether a model was trained.
    """
    settings = config.task(task)
    option_settings = settings.get_option_settings(option)

    def make_identity() -> dict[str, Any]:
        """Return all that the weights depend on: settings, seed, and checksums of encoders and data."""
        return {
            "settings": settings.identity(option),
            "option": option,
            "seed": encoder.seed,
            "head": encoder.head,
            "encoders": [encoder_checksum(Path(model)) for model in encoder.models],
            "data": file_checksums(settings.get_data_dir(option, data)),
        }

    def finetune_and_write_card(work: Path) -> None:
        TASKS[task].load().finetune(settings, option, encoder, data, work)
        if get_rank() == 0 and is_encoder(work):  # false if data are missing
            details = finetuning_details(encoder.variant, encoder.seed, task, option, option_settings, encoder.models)
            usage = TASKS[task].usage
            metadata = finetuning_metadata(encoder.models)
            write_card(work, details, metadata, usage.markdown if usage and (work / usage.file).exists() else "")

    return launch(folder, make_identity, option_settings.devices, finetune_and_write_card, arguments)

"""`contexture train`: train from files, without Kedro, Spark, Java or MLflow.

    contexture train pretrain --config data/05_model_input/SYSTEM/training.json --run RUN --seed 0 \
        --examples data/05_model_input/SYSTEM --vocabulary data/04_feature/VOCABULARY --output ENCODER
    contexture train finetune --config data/05_model_input/SYSTEM/training.json --variant VARIANT --seed 0 \
        --task TASK --data data/03_primary/tasks/TASK --encoders ENCODER --output MODEL
"""

import argparse
import logging
import os
import sys
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

from contexture.messages import explain_unknown

# Slow imports are local, so that other commands start quickly.
if TYPE_CHECKING:
    from contexture.systems.config import SystemConfig


def add_arguments(train: argparse.ArgumentParser) -> None:
    """Add the options of `contexture train`."""
    train.set_defaults(work=main)
    commands = train.add_subparsers(dest="training", required=True)
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--config", type=Path, required=True, help="JSON file of the examples stage")
    common.add_argument("--seed", type=int, default=0)
    common.add_argument("--output", type=Path, required=True, help="output folder")
    command = commands.add_parser("pretrain", parents=[common], help="pre-train one encoder")
    command.add_argument("--run", required=True, help="name in pretrain.runs")
    command.add_argument("--examples", type=Path, required=True, help="folder of the system's examples")
    command.add_argument("--vocabulary", type=Path, required=True, help="folder of the tokenizer")
    command.add_argument("--start", type=Path, help="folder of the run to continue")
    command = commands.add_parser("finetune", parents=[common], help="fine-tune an encoder on a task")
    command.add_argument("--variant", required=True, help="name of the variant")
    command.add_argument("--task", required=True, help="name of the task")
    command.add_argument("--option", help="which of the task's models (default: the first)")
    command.add_argument("--data", type=Path, required=True, help="folder of the task's data")
    command.add_argument("--encoders", nargs="+", required=True, help="folders that `pretrain` wrote")


def main(args: argparse.Namespace) -> None:
    """Pre-train or fine-tune on the configured devices: start one process per device, or run as one of them."""
    from contexture.training.launcher import end_with_starter
    from contexture.training.ranks import is_distributed

    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    end_with_starter()
    config = read_config(args.config)
    {"pretrain": _pretrain, "finetune": _finetune}[args.training](config, args)
    if is_distributed():
        logging.shutdown()
        sys.stdout.flush()
        os._exit(0)  # output is complete; threads of gloo can hang at interpreter exit


def read_config(file: Path) -> "SystemConfig":
    """Return the configuration of a system from a JSON file of the examples stage; ValueError with all its errors."""
    from pydantic import TypeAdapter, ValidationError

    from contexture.systems.config import SystemConfig

    try:
        return TypeAdapter(SystemConfig).validate_json(file.read_text(encoding="utf-8"))
    except ValidationError as error:
        faults = [(".".join(map(str, fault["loc"])), fault["msg"]) for fault in error.errors()]
        lines = [f"  {': '.join(filter(None, fault))}" for fault in faults]
        raise ValueError("\n".join([f"--config: {file} has errors:", *lines])) from None


def check_option(option: str, noun: str, name: str, known: Collection[str], config_file: Path) -> None:
    """Raise ValueError if `name`, the value of an option, is not among the names that `config_file` has."""
    if name not in known:
        raise ValueError(f"{option}: {explain_unknown(noun, [name], known)} ({config_file})")


def _pretrain(config: "SystemConfig", args: argparse.Namespace) -> None:
    """Pre-train the run `--run` with the seed `--seed`."""
    check_option("--run", "run", args.run, config.pretrain.runs, args.config)
    start = config.pretrain.runs[args.run].start
    if start is not None and args.start is None:
        raise ValueError(f"--start: {args.run} continues {start}; name the folder of that encoder ({args.config})")
    if start is None and args.start is not None:
        raise ValueError(f"--start: {args.run} starts from new weights; leave this option out ({args.config})")
    from contexture.systems.launch import pretrain_arguments, training_files
    from contexture.training.launcher import launch_pretraining

    files = training_files(config, args.examples, args.vocabulary, args.start)
    command = pretrain_arguments(args.config, args.run, args.seed, args.examples, args.vocabulary, args.start)
    launch_pretraining(config.pretraining(args.run), args.seed, files, args.output, command)


def _finetune(config: "SystemConfig", args: argparse.Namespace) -> None:
    """Fine-tune the variant `--variant` on the task `--task` with the seed `--seed`."""
    check_option("--task", "task", args.task, config.tasks, args.config)
    check_option("--variant", "variant", args.variant, config.all_variants, args.config)
    from contexture.systems.launch import finetune_arguments, launch_finetuning
    from contexture.tasks.base import EvaluatedEncoder
    from contexture.tasks.registry import TASKS

    head = config.all_variants[args.variant].head
    options = TASKS[args.task].load().list_options(config.task(args.task), head)
    option = args.option or next(iter(options), None)
    if option is None:
        raise ValueError(f"--variant: {args.variant} is not fine-tuned on {args.task} ({args.config})")
    check_option("--option", f"model of {args.task}", option, options, args.config)
    encoder = EvaluatedEncoder(args.variant, args.seed, tuple(args.encoders), None, head)
    command = finetune_arguments(args.config, args.task, option, encoder, args.data)
    launch_finetuning(config, args.task, option, encoder, args.data, args.output, command)

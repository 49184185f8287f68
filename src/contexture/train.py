"""Training from files alone: no Kedro, Spark, Java or MLflow.

    python -m contexture.train pretrain --config data/05_model_input/SYSTEM/training.json --run RUN --seed 0 \
        --examples data/05_model_input/SYSTEM --vocabulary data/04_feature/VOCABULARY --output ENCODER
    python -m contexture.train finetune --config data/05_model_input/SYSTEM/training.json --variant VARIANT --seed 0 \
        --task answer_selection --data data/03_primary/tasks/answer_selection --encoders ENCODER --output MODEL
"""

import argparse
import logging
import os
import sys
from collections.abc import Callable
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from contexture.folders import work_folder
from contexture.systems.config import SystemConfig
from contexture.systems.registry import TASKS, task_of
from contexture.tasks.base import Contestant
from contexture.training.launcher import end_with_starter, launch_pretraining
from contexture.training.prepare import Files
from contexture.training.pretrain import pretrain


def files_of(config: SystemConfig, examples: Path, vocabulary: Path, start: Path | None) -> Files:
    """The files of a run, where `examples` has a folder for each kind of examples."""
    return Files({kind: examples / kind for kind in config.examples()}, vocabulary, start)


def read_config(file: Path) -> SystemConfig:
    """The configuration that the examples stage wrote; SystemExit with every fault."""
    try:
        return TypeAdapter(SystemConfig).validate_json(file.read_text(encoding="utf-8"))
    except ValidationError as error:
        raise SystemExit(f"{file}: {error}") from None


def parse(arguments: list[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m contexture.train", description=__doc__.split("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--config", type=Path, required=True, help="JSON file that the examples stage wrote")
    common.add_argument("--seed", type=int, default=0)
    common.add_argument("--output", type=Path, required=True, help="folder to write; must not be half-written")
    for name, text in (
        ("pretrain", "pre-train one encoder on the configured number of devices"),
        ("pretrain-rank", "one process of a run on several devices; started by `pretrain`"),
    ):
        command = commands.add_parser(name, parents=[common], help=text)
        command.add_argument("--run", required=True, help="name among pretrain.runs")
        command.add_argument("--examples", type=Path, required=True, help="folder of the system's examples")
        command.add_argument("--vocabulary", type=Path, required=True, help="folder of the tokenizer")
        command.add_argument("--start", type=Path, help="folder of the run that this one continues")
    command = commands.add_parser("finetune", parents=[common], help="fine-tune an encoder on a task")
    command.add_argument("--variant", required=True, help="name among the variants")
    command.add_argument("--task", required=True, choices=sorted(TASKS))
    command.add_argument("--option", help="which of the task's models; without it the first")
    command.add_argument("--data", type=Path, required=True, help="folder of the task's data")
    command.add_argument("--encoders", nargs="+", required=True, help="folders that `pretrain` wrote")
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> None:
    """Run one command."""
    given = parse(arguments)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    config = read_config(given.config)
    if given.command == "finetune":
        finetune(config, given)
        return
    if given.run not in config.pretrain.runs:
        raise SystemExit(f"{given.config}: no run {given.run!r}; there are {sorted(config.pretrain.runs)}")
    recipe, files = config.pretraining(given.run), files_of(config, given.examples, given.vocabulary, given.start)
    if given.command == "pretrain":
        told = rank_arguments(given.config, given.run, given.seed, given.examples, given.vocabulary, given.start)
        launch_pretraining(recipe, given.seed, files, given.output, told)
        return
    end_with_starter()
    pretrain(recipe, given.seed, files, given.output)
    logging.shutdown()
    sys.stdout.flush()
    os._exit(0)  # all is written; gloo's threads now and then hang in the interpreter's exit


def rank_arguments(
    config: Path, run: str, seed: int, examples: Path, vocabulary: Path, start: Path | None
) -> Callable[[Path], list[str]]:
    """What each process of a run on several devices is told, by the folder to write."""
    found = ["pretrain-rank", "--config", str(config), "--run", run, "--seed", str(seed)]
    found += ["--examples", str(examples), "--vocabulary", str(vocabulary)]
    found += ["--start", str(start)] if start else []
    return lambda work: [*found, "--output", str(work)]


def finetune(config: SystemConfig, given: argparse.Namespace) -> None:
    """Fine-tune one model of a variant."""
    if given.task not in config.tasks:
        raise SystemExit(f"{given.config}: the system is not measured on {given.task}, only on {sorted(config.tasks)}")
    if given.variant not in config.measured:
        raise SystemExit(f"{given.config}: no variant {given.variant!r}; there are {sorted(config.measured)}")
    task, settings = task_of(given.task), config.task(given.task)
    head = config.measured[given.variant].head
    options = task.options(settings, head)
    option = given.option or (options[0] if options else None)
    if option not in options:
        raise SystemExit(f"{given.task} fine-tunes {options} of {given.variant}, not {option!r}")
    contestant = Contestant(given.variant, given.seed, tuple(given.encoders), None, head)
    with work_folder(given.output) as work:
        task.finetune(settings, option, contestant, given.data, work)


if __name__ == "__main__":
    main()

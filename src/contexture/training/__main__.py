"""Training from files alone: no Kedro, Spark, Java or MLflow.

    python -m contexture.training pretrain --config mspp.json --recipe mspp_ie --seed 0 \
        --examples data/05_model_input/mspp/examples --tokenizer data/04_feature/tokenizer --output mspp_ie
    python -m contexture.training finetune --config mspp.json --variant mspp_ie --seed 0 \
        --answers data/05_model_input/answers.parquet --pretrained mspp_ie --output mspp_ie_answers
    python -m contexture.training finetune-retrieval --config two_tower.json --variant ict_bfs_wlp --share 1 --seed 0 \
        --questions data/05_model_input/two_tower/questions.parquet --candidates …/candidates.parquet \
        --pretrained ict_bfs_wlp --output ict_bfs_wlp_1
"""

import argparse
import logging
import os
import sys
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from contexture.folders import work_folder
from contexture.systems.two_tower.config import TwoTowerSystem
from contexture.tasks.answer_selection.finetune import finetune
from contexture.tasks.retrieval.finetune import finetune_retrieval
from contexture.training.config import MsppSystem
from contexture.training.launcher import launch_pretraining
from contexture.training.pretrain import pretrain
from contexture.training.systems import AnySystem
from contexture.training.trainer import Tracking


def parse(arguments: list[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m contexture.training", description=__doc__.split("\n")[0])
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
        command.add_argument("--recipe", required=True, help="name among pretrain.runs")
        command.add_argument("--examples", type=Path, required=True, help="folder of Parquet files")
        command.add_argument("--tokenizer", type=Path, required=True, help="folder of the tokenizer")
        command.add_argument("--start", type=Path, help="folder of the run that this one continues")
        command.add_argument("--tracking", nargs=2, metavar=("URI", "RUN"), help="MLflow run to log curves to")
    command = commands.add_parser("finetune", parents=[common], help="fine-tune an MSPP encoder on answer selection")
    command.add_argument("--variant", required=True, help="name among finetune.variants")
    command.add_argument("--answers", type=Path, required=True, help="Parquet file of encoded answers")
    command.add_argument("--pretrained", type=Path, required=True, help="folder that `pretrain` wrote")
    command = commands.add_parser("finetune-retrieval", parents=[common], help="fine-tune two towers on questions")
    command.add_argument("--variant", required=True, help="name among pretrain.runs")
    command.add_argument("--share", type=float, required=True, help="percent of the questions to train on")
    command.add_argument("--questions", type=Path, required=True, help="Parquet file of encoded questions")
    command.add_argument("--candidates", type=Path, required=True, help="Parquet file of encoded candidates")
    command.add_argument("--pretrained", type=Path, required=True, help="folder that `pretrain` wrote")
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> None:
    """Run one command."""
    given = parse(arguments)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    try:
        config = TypeAdapter(AnySystem).validate_json(given.config.read_text(encoding="utf-8"))
    except ValidationError as error:
        raise SystemExit(f"{given.config}: {error}") from None
    wanted = {"finetune": MsppSystem, "finetune-retrieval": TwoTowerSystem}.get(given.command)
    if wanted and not isinstance(config, wanted):
        raise SystemExit(f"{given.config} is of the system {config.system}, which `{given.command}` is not for")
    if isinstance(config, MsppSystem) and given.command == "finetune":
        with work_folder(given.output) as work:
            finetune(config, given.variant, given.seed, given.answers, given.pretrained, work)
        return
    if isinstance(config, TwoTowerSystem) and given.command == "finetune-retrieval":
        files = given.questions, given.candidates, given.pretrained
        with work_folder(given.output) as work:
            finetune_retrieval(config, given.variant, given.share, given.seed, *files, work)
        return
    tracking = Tracking(*given.tracking) if given.tracking else None
    start = pretrain if given.command == "pretrain-rank" else launch_pretraining
    start(config, given.recipe, given.seed, given.examples, given.tokenizer, given.output, given.start, tracking)
    if given.command == "pretrain-rank":
        logging.shutdown()
        sys.stdout.flush()
        os._exit(0)  # all is written; gloo's threads now and then hang in the interpreter's exit


if __name__ == "__main__":
    main()

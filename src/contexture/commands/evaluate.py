"""`contexture evaluate`: print scores of any encoder on SentEval, STS and tasks of MTEB."""

import argparse
import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from contexture.commands.options import MODEL_HELP, check_output
from contexture.folders import find_upwards, whole_file
from contexture.imports import resolve
from contexture.messages import errors_at

#: Defaults of options.
PROTOCOL, COUNTS = "senteval", "published"


def add_arguments(evaluate: argparse.ArgumentParser) -> None:
    """Add the options of `contexture evaluate`."""
    evaluate.set_defaults(work=main)
    evaluate.add_argument("model", help=MODEL_HELP)
    benchmark = evaluate.add_mutually_exclusive_group(required=True)
    benchmark.add_argument("--tasks", type=Path, metavar="FOLDER", help="SentEval's folder data/downstream")
    benchmark.add_argument(
        "--mteb",
        nargs="+",
        metavar="TASK",
        help="tasks of MTEB, by name (their data are downloaded) or local folder; needs the extra mteb",
    )
    evaluate.add_argument(
        "--mteb-results", type=Path, metavar="FOLDER", help="write all scores of --mteb to FOLDER in MTEB's layout"
    )
    evaluate.add_argument(
        "--protocol",
        choices=["senteval", "skip_thoughts"],
        default=PROTOCOL,
        help="protocol of the probes (%(default)s)",
    )
    evaluate.add_argument(
        "--counts",
        choices=["published", "any"],
        default=COUNTS,
        help="any: accept files with other row counts than the published ones",
    )
    evaluate.add_argument("--only", nargs="+", metavar="TASK", help="tasks to run, such as mr sts14 (default: all)")
    evaluate.add_argument("--vectors", type=Path, help="folder to cache vectors in")
    evaluate.add_argument("--output", type=Path, help="also write the scores to this JSON file")


def main(args: argparse.Namespace) -> None:
    """Evaluate the model on the tasks and print the scores."""
    check_output(args.output)
    check_options(args)
    if args.mteb:
        text, scores = measure_mteb(args)
    else:
        text, scores = measure_senteval(args)
    print(text, end="")
    if args.output is not None:
        with whole_file(args.output) as file:
            file.write(json.dumps(scores, indent=1, ensure_ascii=False).encode())


def check_options(args: argparse.Namespace) -> None:
    """Raise ValueError if an option of the other benchmark is given, which would have no effect."""
    of_mteb = {"--mteb-results": args.mteb_results}
    of_tasks = {
        "--protocol": args.protocol != PROTOCOL,
        "--counts": args.counts != COUNTS,
        "--only": args.only,
        "--vectors": args.vectors,
    }
    benchmark, other, options = ("--mteb", "--tasks", of_tasks) if args.mteb else ("--tasks", "--mteb", of_mteb)
    for option, value in options.items():
        if value:
            raise ValueError(f"{option}: this option needs {other} and has no effect with {benchmark}; remove it")


def measure_mteb(args: argparse.Namespace) -> tuple[str, dict[str, Any]]:
    """Return the scores on tasks of MTEB as a table and a dictionary; raise ValueError without the package `mteb`."""
    if find_spec("mteb") is None:
        raise ValueError("--mteb: the package mteb is missing; pip install 'contexture[mteb]'")
    from contexture.encoders.named import find_models
    from contexture.tasks.mteb.evaluation import evaluate_mteb

    with errors_at("--mteb"):
        return evaluate_mteb(find_models(args.model), args.mteb, args.mteb_results)


def measure_senteval(args: argparse.Namespace) -> tuple[str, dict[str, Any]]:
    """Return the scores on tasks in SentEval's layout as tables and a dictionary."""
    from contexture.encoders.named import find_models
    from contexture.tasks.registry import TASKS

    folder = find_upwards(args.tasks)
    if not folder.is_dir():
        raise ValueError(f"--tasks: {folder}: there is no such folder; name SentEval's folder data/downstream")
    measure = next(resolve(spec.model_evaluator) for spec in TASKS.values() if spec.model_evaluator)
    scores: tuple[str, dict[str, Any]] = measure(
        find_models(args.model), folder, args.counts, args.only, args.protocol, args.vectors
    )
    return scores

"""`contexture evaluate`: print SentEval and STS scores of any sentence encoder."""

import argparse
import json
from pathlib import Path

from contexture.commands.options import MODEL_HELP, check_output
from contexture.folders import find_upwards, whole_file
from contexture.imports import resolve


def add_arguments(evaluate: argparse.ArgumentParser) -> None:
    """Add the options of `contexture evaluate`."""
    evaluate.set_defaults(work=main)
    evaluate.add_argument("model", help=MODEL_HELP)
    evaluate.add_argument("--tasks", type=Path, required=True, help="SentEval's folder data/downstream")
    evaluate.add_argument(
        "--protocol",
        choices=["senteval", "skip_thoughts"],
        default="senteval",
        help="protocol of the probes (%(default)s)",
    )
    evaluate.add_argument(
        "--counts",
        choices=["published", "any"],
        default="published",
        help="any: accept files with other row counts than the published ones",
    )
    evaluate.add_argument("--only", nargs="+", metavar="TASK", help="tasks to run, such as mr sts14 (default: all)")
    evaluate.add_argument("--vectors", type=Path, help="folder to cache vectors in")
    evaluate.add_argument("--output", type=Path, help="also write the scores to this JSON file")


def main(args: argparse.Namespace) -> None:
    """Evaluate the model on the tasks and print the scores."""
    from contexture.encoders.named import find_models
    from contexture.tasks.registry import TASKS

    check_output(args.output)
    folder = find_upwards(args.tasks)
    if not folder.is_dir():
        raise ValueError(f"--tasks: {folder}: there is no such folder; name SentEval's folder data/downstream")
    measure = next(resolve(spec.model_evaluator) for spec in TASKS.values() if spec.model_evaluator)
    text, scores = measure(find_models(args.model), folder, args.counts, args.only, args.protocol, args.vectors)
    print(text, end="")
    if args.output is not None:
        with whole_file(args.output) as file:
            file.write(json.dumps(scores, indent=1, ensure_ascii=False).encode())

"""`contexture evaluate`: print SentEval and STS figures of any model of sentences."""

import argparse
import json
from pathlib import Path

from contexture.commands.options import MODEL_HELP, check_output
from contexture.folders import above, whole_file
from contexture.imports import resolve


def add_arguments(evaluate: argparse.ArgumentParser) -> None:
    """Add the options of `contexture evaluate`."""
    evaluate.set_defaults(work=main)
    evaluate.add_argument("model", help=MODEL_HELP)
    evaluate.add_argument("--tasks", type=Path, required=True, help="folder that SentEval calls data/downstream")
    evaluate.add_argument(
        "--protocol", choices=["senteval", "skip_thoughts"], default="senteval", help="of the probes (%(default)s)"
    )
    evaluate.add_argument(
        "--counts",
        choices=["published", "any"],
        default="published",
        help="any: files may have other numbers of rows than the published ones",
    )
    evaluate.add_argument("--only", nargs="+", metavar="TASK", help="these tasks, as mr sts14, not all that are there")
    evaluate.add_argument("--vectors", type=Path, help="folder to keep the vectors in: a second run embeds nothing")
    evaluate.add_argument("--output", type=Path, help="write the figures to this JSON file, too")


def main(args: argparse.Namespace) -> None:
    """Measure the model on the tasks and print the figures."""
    from contexture.encoders.named import model_places
    from contexture.tasks.registry import TASKS

    check_output(args.output)
    folder = above(args.tasks)
    if not folder.is_dir():
        raise ValueError(f"{folder}: there is no such folder; name the one that SentEval calls data/downstream")
    measure = next(resolve(spec.model_evaluator) for spec in TASKS.values() if spec.model_evaluator)
    text, figures = measure(model_places(args.model), folder, args.counts, args.only, args.protocol, args.vectors)
    print(text, end="")
    if args.output is not None:
        with whole_file(args.output) as file:
            file.write(json.dumps(figures, indent=1, ensure_ascii=False).encode())

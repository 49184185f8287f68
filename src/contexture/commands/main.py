"""The command `contexture`."""

import argparse
import os
import re
import sys
from collections.abc import Mapping, Sequence

from contexture import __version__
from contexture.commands import adapt, claims, embed, evaluate, results, search, serve, train, workspaces
from contexture.messages import explain_unknown


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of `contexture` with all subcommands."""
    return _build_parsers()[0]


def _build_parsers() -> tuple[argparse.ArgumentParser, Mapping[str, argparse.ArgumentParser]]:
    """Return the parser of `contexture`, and name → parser of its subcommands."""
    parser = argparse.ArgumentParser(prog="contexture", description=main.__doc__)
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    commands = parser.add_subparsers(dest="command", required=True)
    adapt.add_arguments(commands.add_parser("adapt", help="train and evaluate an encoder on your own text"))
    workspaces.add_arguments(commands.add_parser("list", help="print the texts that you have adapted to"))
    search.add_arguments(commands.add_parser("search", help="print the best passages for a question"))
    serve.add_arguments(commands.add_parser("serve", help="search and embed over HTTP, on this machine"))
    embed.add_arguments(commands.add_parser("embed", help="write the vectors of texts"))
    evaluate.add_arguments(commands.add_parser("evaluate", help="print scores of any model: SentEval, STS, MTEB"))
    claims.add_arguments(commands.add_parser("claims", help="decide the claims of the papers on your runs"))
    results.add_arguments(commands.add_parser("results", help="save the results of runs, list and compare them"))
    train.add_arguments(commands.add_parser("train", help="pre-train or fine-tune an encoder from files"))
    return parser, commands.choices


def parse_arguments(arguments: Sequence[str]) -> argparse.Namespace:
    """Return the parsed arguments; exit with the closest name for an unknown subcommand or option."""
    parser, commands = _build_parsers()
    if arguments and not arguments[0].startswith("-") and arguments[0] not in commands:
        parser.error(explain_unknown("command", arguments[:1], commands))
    args, unknown = parser.parse_known_args(arguments)
    if unknown:
        command = getattr(args, "parser", commands[args.command])  # of `contexture results save`, for example
        options = re.findall(r"(?<=[ \[,])--[a-z-]+", command.format_help())
        named = [argument.partition("=")[0] for argument in unknown if argument.startswith("--")]
        command.error(explain_unknown("option", named[:1], set(options)) if named else f"unknown: {' '.join(unknown)}")
    return args


def main(arguments: list[str] | None = None) -> None:
    """Train an encoder on your own text (`adapt`, `list`), search passages (`search`, `serve`).

    Also embed texts (`embed`), print scores of any model (`evaluate`), decide the claims of the papers (`claims`), keep
    and compare results (`results`), and train from files (`train`).
    """
    args = parse_arguments(sys.argv[1:] if arguments is None else arguments)
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

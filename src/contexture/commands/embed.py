"""`contexture embed`: write the vectors of texts."""

import argparse
from pathlib import Path

from contexture.commands.options import MODEL_HELP, check_output
from contexture.encoders.lines import open_vectors_file
from contexture.encoders.named import find_models
from contexture.messages import errors_at


def add_arguments(embed: argparse.ArgumentParser) -> None:
    """Add the options of `contexture embed`."""
    embed.set_defaults(work=main)
    embed.add_argument("texts", metavar="FILE", help="UTF-8 file with one text per line; -: standard input")
    embed.add_argument("--model", required=True, help=MODEL_HELP)
    embed.add_argument(
        "--role", choices=["query", "document"], help="role of the texts, for models that distinguish roles"
    )
    embed.add_argument(
        "--output",
        type=Path,
        help="file to write: .npy, float32 (lines, dimension), or .jsonl, one object with text and vector per line "
        "(default: print .jsonl)",
    )


def main(args: argparse.Namespace) -> None:
    """Embed the texts and write their vectors."""
    from contexture.encoders.lines import TextLines, write_vectors

    kind = args.output.suffix if args.output else ".jsonl"
    if kind not in (".npy", ".jsonl"):
        raise ValueError(f"--output: {args.output}: the name of the file must end in .npy or .jsonl")
    check_output(args.output)
    with errors_at("--model"):
        models = find_models(args.model)
    with TextLines.open(args.texts) as lines, open_vectors_file(args.output) as file:
        from contexture.encoders.models import load_models  # slow: imports torch

        write_vectors(load_models(models), lines, args.role, file, kind == ".npy")

"""`contexture embed`: write the vectors of texts."""

import argparse
from pathlib import Path

from contexture.commands.options import MODEL_HELP, check_output


def add_arguments(embed: argparse.ArgumentParser) -> None:
    """Add the options of `contexture embed`."""
    embed.set_defaults(work=main)
    embed.add_argument("texts", metavar="FILE", help="a text a line, UTF-8; -: the standard input")
    embed.add_argument("--model", required=True, help=MODEL_HELP)
    embed.add_argument("--role", choices=["query", "document"], help="what the texts are, to models that tell them")
    embed.add_argument(
        "--output",
        type=Path,
        help="file to write: .npy, float32 (lines, dimension), or .jsonl, as is printed without it: an object a line, "
        "with text and vector",
    )


def main(args: argparse.Namespace) -> None:
    """Embed the texts and write their vectors."""
    from contexture.encoders.lines import TextLines, open_vectors_file, write_vectors
    from contexture.encoders.named import find_models

    kind = args.output.suffix if args.output else ".jsonl"
    if kind not in (".npy", ".jsonl"):
        raise ValueError(f"{args.output}: the name of a file of vectors ends in .npy or .jsonl")
    check_output(args.output)
    models = find_models(args.model)
    with TextLines.open(args.texts) as lines, open_vectors_file(args.output) as file:
        from contexture.encoders.models import load_models  # brings torch: seconds, which a mistake need not take

        write_vectors(load_models(models), lines, args.role, file, kind == ".npy")

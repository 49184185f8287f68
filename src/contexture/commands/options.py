"""Shared by several subcommands."""

from pathlib import Path

MODEL_HELP = (
    "a folder with an encoder of this project or word vectors, or a sentence-transformers model by name or folder; "
    "several joined by + are combined; data/… of this folder or of one above it"
)


def check_output(output: Path | None) -> None:
    """Raise ValueError, before any work, if a file cannot be written."""
    if output is not None and not output.absolute().parent.is_dir():
        raise ValueError(f"{output}: there is no such folder to write to")

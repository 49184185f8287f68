"""Options that several subcommands share."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

MODEL_HELP = (
    "a folder with an encoder or word vectors of this project, or a sentence-transformers model by name or folder; "
    "join several with + to concatenate them; data/… is searched in this folder and its parents"
)


@contextmanager
def errors_at(option: str, hint: str = "") -> Iterator[None]:
    """Name an option in ValueErrors of the block, and end their message with a hint."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{option}: {error}{hint}") from error


def check_output(output: Path | None) -> None:
    """Raise ValueError if the folder of the output file is missing."""
    if output is not None and not output.absolute().parent.is_dir():
        raise ValueError(f"--output: {output}: there is no such folder to write to")

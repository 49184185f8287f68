"""Options that several subcommands share."""

from pathlib import Path

MODEL_HELP = (
    "a folder with an encoder or word vectors of this project, or a sentence-transformers model by name or folder; "
    "join several with + to concatenate them; data/… is searched in this folder and its parents"
)


def check_output(output: Path | None) -> None:
    """Raise ValueError if the folder of the output file is missing."""
    if output is not None and not output.absolute().parent.is_dir():
        raise ValueError(f"--output: {output}: there is no such folder to write to")


def check_html_output(output: Path | None) -> None:
    """Raise ValueError if the output file is not an HTML file in an existing folder."""
    if output is not None and output.suffix != ".html":
        raise ValueError(f"--output: {output}: the name of the file must end in .html")
    check_output(output)

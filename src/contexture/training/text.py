"""The name of the corpus of examples: a file in their folder, which readers of tables skip."""

from pathlib import Path

FILE = "_text.txt"


def write_text_of(folder: Path, name: str) -> None:
    """Note the name of the corpus."""
    (folder / FILE).write_text(name, encoding="utf-8")


def text_of(folder: Path) -> str:
    """The name of the corpus; empty if it was not noted."""
    file = folder / FILE
    return file.read_text(encoding="utf-8") if file.exists() else ""

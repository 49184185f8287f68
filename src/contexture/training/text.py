"""What text examples were sampled from: a file in their folder, which readers of tables pass over."""

from pathlib import Path

FILE = "_text.txt"


def write_text_of(folder: Path, name: str) -> None:
    """Note what the corpus is called."""
    (folder / FILE).write_text(name, encoding="utf-8")


def text_of(folder: Path) -> str:
    """What the corpus is called; nothing where nobody noted it."""
    file = folder / FILE
    return file.read_text(encoding="utf-8") if file.exists() else ""

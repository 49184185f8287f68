"""The name of the corpus of examples, a file in their folder that readers of tables skip."""

from pathlib import Path

CORPUS_NAME_FILE = "_text.txt"


def write_corpus_name(folder: Path, name: str) -> None:
    """Write the name of the corpus."""
    (folder / CORPUS_NAME_FILE).write_text(name, encoding="utf-8")


def read_corpus_name(folder: Path) -> str:
    """Read the name of the corpus; empty if there is none."""
    file = folder / CORPUS_NAME_FILE
    return file.read_text(encoding="utf-8") if file.exists() else ""

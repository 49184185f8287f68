"""Phrases shared by tables and pages."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

#: Names in a list of files.
MAX_LISTED = 3


def list_files(files: Sequence[str | Path]) -> str:
    """Return the names of up to `MAX_LISTED` files, and the count of more: "a.txt, b.txt, c.txt … (7,000 files)".

    If some have the same name, all have their folder, too: "en/texts, fr/texts".
    """
    names = [Path(file).name for file in files]
    if len({*names}) < len(names):
        names = ["/".join(Path(file).parts[-2:]) for file in files]
    return ", ".join(names) if len(names) <= MAX_LISTED else f"{', '.join(names[:MAX_LISTED])} … ({len(names):,} files)"


def join_names(names: Iterable[str]) -> str:
    """Return "a, b and c", or "" without names."""
    *first, last = [*names] or [""]
    return f"{', '.join(first)} and {last}" if first else last


def count_noun(count: int, noun: str) -> str:
    """Return a count with its noun: "1 row", "1,200 rows"."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def lower_first(label: str) -> str:
    """Return a label for use within a sentence: with a small first letter unless its first word is a proper name."""
    return label[0].lower() + label[1:] if label[1:].split(" ")[0].islower() else label


def describe_held_out(evaluation: Mapping[str, Any] | None) -> str:
    """Say which evaluation documents are excluded from the text, by `evaluation` of the corpus report."""
    if evaluation is None:
        return "Evaluation documents are not excluded from the text."
    documents, paragraphs = (count_noun(evaluation[key], key.removesuffix("s")) for key in ("documents", "paragraphs"))
    verb = "is" if evaluation["documents"] == 1 else "are"
    sentences = [f"{documents} ({paragraphs}) {verb} excluded from the text for {evaluation['tasks']}."]
    missing = evaluation["missing"]
    no_documents = f"No documents are excluded for {join_names(missing)}: the files are missing."
    return " ".join([*(sentences if evaluation["tasks"] else []), *([no_documents] if missing else [])])

"""Small pieces of English that tables and pages share."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

#: As many are named.
MAX_LISTED = 3


def list_files(files: Sequence[str | Path]) -> str:
    """The names of a few files; of many the first and how many there are: "a.txt, b.txt, c.txt … (7,000 files)"."""
    names = [Path(file).name for file in files]
    return ", ".join(names) if len(names) <= MAX_LISTED else f"{', '.join(names[:MAX_LISTED])} … ({len(names):,} files)"


def join_names(names: Iterable[str]) -> str:
    """ "a, b and c"; nothing of none."""
    *first, last = [*names] or [""]
    return f"{', '.join(first)} and {last}" if first else last


def lower_first(label: str) -> str:
    """Labels begin with a capital, but not within a sentence, unless they are names."""
    return label[0].lower() + label[1:] if label[1:].split(" ")[0].islower() else label


def describe_held_out(evaluation: Mapping[str, Any] | None) -> str:
    """Whether the documents that an evaluation asks about are in the text, of a corpus report's `evaluation`."""
    if evaluation is None:
        return "The documents that questions are about were not kept out of the text."
    documents, paragraphs = f"{evaluation['documents']:,} documents", f"{evaluation['paragraphs']:,} paragraphs"
    sentences = [f"{documents} ({paragraphs}) were kept out of the text for {evaluation['tasks']}."]
    missing = evaluation["missing"]
    no_documents = f"Nothing could be kept out of the text for {join_names(missing)}: the files were missing."
    return " ".join([*(sentences if evaluation["tasks"] else []), *([no_documents] if missing else [])])

"""Small pieces of English that tables and pages share."""

from collections.abc import Iterable, Sequence
from pathlib import Path

#: As many are named.
NAMED = 3


def named(files: Sequence[str | Path]) -> str:
    """The names of a few files; of many the first and how many there are: "a.txt, b.txt, c.txt … (7,000 files)"."""
    names = [Path(file).name for file in files]
    return ", ".join(names) if len(names) <= NAMED else f"{', '.join(names[:NAMED])} … ({len(names):,} files)"


def all_of(names: Iterable[str]) -> str:
    """ "a, b and c"; nothing of none."""
    *first, last = [*names] or [""]
    return f"{', '.join(first)} and {last}" if first else last


def within_sentence(label: str) -> str:
    """Labels begin with a capital, but not within a sentence, unless they are names."""
    return label[0].lower() + label[1:] if label[1:].split(" ")[0].islower() else label

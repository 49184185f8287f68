"""Definitions of the tables of examples that Spark writes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

#: Folder of examples of held-out documents, beside the folders of the other examples.
HELD_OUT_DIR = "held_out"


@dataclass(frozen=True)
class ExampleTable:
    """A table that is written to disk before others read it."""

    name: str
    #: Makes the DataFrame from the tables of `reads`; if `observed`, also an observation of its counts.
    make: Callable[..., Any]
    #: `documents`, `paragraphs`, `bitext`, `nli`, `tokenizer` (its folder), or previous tables.
    reads: tuple[str, ...]
    observed: bool = False


@dataclass(frozen=True)
class ExampleTables:
    """All tables of a stream's examples. Those that training reads are in the folder of the examples.

    `count` receives the observation if a table is `observed`, otherwise the tables that training reads, and then the
    documents. It raises ValueError if there is nothing to train on.
    """

    tables: Sequence[ExampleTable]
    count: Callable[..., dict[str, Any]]
    #: Tables that only other tables read.
    intermediate: tuple[str, ...] = ()
    #: The same examples of held-out documents; see `streams.held_out`. `count` receives them before the documents.
    held_out: Sequence[ExampleTable] = ()


def held_out_dir(examples_dir: Path) -> Path:
    """Return the folder with the examples of held-out documents, of the kind of examples in `examples_dir`."""
    return examples_dir.parent / HELD_OUT_DIR / examples_dir.name

"""Definitions of the tables of examples that Spark writes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any


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

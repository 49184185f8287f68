"""What the examples of a stream are made of: tables that Spark writes, one after the other, and their counts."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class ExampleTable:
    """A table that is written to disk before others read it."""

    name: str
    #: Tables of `reads` → a DataFrame; with `observed` also what is counted while it is written.
    make: Callable[..., Any]
    #: `documents`, `paragraphs`, `bitext`, `tokenizer` (its folder), or tables before this one.
    reads: tuple[str, ...]
    observed: bool = False


@dataclass(frozen=True)
class ExampleTables:
    """All tables of a stream's examples; those that training reads lie in the folder of its examples.

    `count` gets what was observed, if anything was, otherwise the tables that training reads, and then the documents;
    it raises ValueError where there is nothing to train on.
    """

    tables: Sequence[ExampleTable]
    count: Callable[..., dict[str, Any]]
    #: Tables that others read but training does not.
    between: tuple[str, ...] = ()

"""Examples of held-out documents, apart from those that training reads."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from contexture.splits import HASH_DIGITS
from contexture.streams.tables import HELD_OUT_DIR, ExampleTable, ExampleTables

#: Column of the tables that have rows of single documents.
DOCUMENT = "doc_id"


def hold_out(tables: ExampleTables, share: float) -> ExampleTables:
    """Return tables without the examples of a share of the documents, and tables with the examples of these only.

    The tables that training reads are sampled twice, each time with the rows of one part of the documents in all of
    their inputs, so that no example has text of both parts. Intermediate tables keep all documents.
    """
    read = [table for table in tables.tables if table.name not in tables.intermediate]
    kept = [table if table not in read else _sample_part(table, share, is_held_out=False) for table in tables.tables]
    held_out = [
        replace(_sample_part(table, share, is_held_out=True), name=f"{HELD_OUT_DIR}/{table.name}") for table in read
    ]

    def count(*inputs: Any) -> dict[str, Any]:
        """Count the examples that training reads, and their documents."""
        *examples, documents = inputs
        counts: dict[str, Any] = tables.count(
            *examples[: len(examples) - len(held_out)], select_part(documents, share, is_held_out=False)
        )
        return counts

    return replace(tables, tables=kept, count=count, held_out=held_out)


def select_part(rows: Any, share: float, is_held_out: bool) -> Any:
    """Return the rows of held-out documents or of all others; inputs without documents, such as a path, unchanged."""
    if not isinstance(rows, DataFrame) or DOCUMENT not in rows.columns:
        return rows
    is_drawn = document_draw(DOCUMENT) < share
    return rows.where(is_drawn if is_held_out else ~is_drawn)


def document_draw(column: str) -> Column:
    """Return the column of `splits.document_draw` of document ids."""
    digits = F.substring(F.sha2(F.col(column), 256), 1, HASH_DIGITS)
    return F.conv(digits, 16, 10).cast("bigint") / F.lit(float(16**HASH_DIGITS))


def _sample_part(table: ExampleTable, share: float, is_held_out: bool) -> ExampleTable:
    """Return a table that is sampled from one part of the documents; without its observation if they are held out."""
    make: Callable[..., Any] = table.make

    def make_part(*inputs: Any) -> Any:
        made = make(*(select_part(rows, share, is_held_out) for rows in inputs))
        return made[0] if is_held_out and table.observed else made

    return replace(table, make=make_part, observed=table.observed and not is_held_out)

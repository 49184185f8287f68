"""The tables of retrieval that are not of models by metrics: indexes and speed."""

from collections.abc import Mapping, Sequence
from typing import Any

from contexture.reporting.tables import Column, Table, required

INDEXES = {"flat": "Exact", "ivf": "IVF", "hnsw": "HNSW"}


def index_table(rows: Sequence[Mapping[str, Any]]) -> Table:
    """What approximate search gives up and what it gains.

    Args:
        rows: one an index, with the keys kind, recall_against_exact (0..1), queries_per_second, build_seconds.

    Raises:
        ValueError: naming what a row lacks.
    """
    keys = ("kind", "recall_against_exact", "queries_per_second", "build_seconds")
    return Table(
        title="Exact and approximate search",
        columns=(
            Column("Index"),
            Column("Recall against exact", numeric=True),
            Column("Queries a second", numeric=True),
            Column("Seconds to build", numeric=True),
        ),
        rows=tuple(
            (INDEXES.get(kind, str(kind)), f"{100 * recall:.1f}", f"{speed:,.0f}", f"{seconds:,.1f}")
            for kind, recall, speed, seconds in (required("an index", row, keys) for row in rows)
        ),
        caption="Recall: percent of the candidates found by exact search that the index finds, too.",
    )


def speed_table(rows: Sequence[Mapping[str, Any]]) -> Table:
    """How fast the parts of retrieval are.

    Args:
        rows: with the keys what, unit (such as "queries") and per_second.

    Raises:
        ValueError: naming what a row lacks.
    """
    return Table(
        title="Speed of retrieval",
        columns=(Column("What"), Column("a second", numeric=True), Column("of")),
        rows=tuple(
            (str(what), f"{speed:,.0f}" if speed >= 100 else f"{speed:.3g}", str(unit))
            for what, speed, unit in (required("a speed", row, ("what", "per_second", "unit")) for row in rows)
        ),
    )

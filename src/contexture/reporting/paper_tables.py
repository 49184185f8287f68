"""Tables of a system's page that compare our scores with published ones, limited to what was measured."""

from collections.abc import Iterable, Iterator
from itertools import pairwise

from contexture.reporting.tables import NOTHING, Table

#: Headings of neighbouring columns: our score, and the published one.
SOURCES = ("ours", "paper")


def select_measured(tables: Iterable[Table]) -> Iterator[Table]:
    """Yield the tables with scores of ours and of a paper, without the rows and columns that we did not measure."""
    for table in tables:
        pairs = [(i, i + 1) for i, names in enumerate(pairwise(c.name for c in table.columns)) if names == SOURCES]
        if pairs:
            selected = _select_pairs(table, pairs)
        elif table.paper:
            selected = _select_blocks(table)
        else:
            continue
        if selected.rows:
            yield selected


def _select_pairs(table: Table, pairs: list[tuple[int, int]]) -> Table:
    """Select from a table with pairs of columns, ours and the paper's; no rows if the paper has no score in them."""
    rows = [i for i, row in enumerate(table.rows) if any(row[ours] != NOTHING for ours, _ in pairs)]
    empty = [pair for pair in pairs if all(table.rows[row][pair[0]] == NOTHING for row in rows)]
    if all(table.rows[row][paper] == NOTHING for row in rows for _, paper in pairs):
        rows = []
    columns = [column for column in range(len(table.columns)) if not any(column in pair for pair in empty)]
    return table.select(rows, columns)


def _select_blocks(table: Table) -> Table:
    """Select from a table whose published rows are followed by our row, if we have one."""
    numbers = [i for i, column in enumerate(table.columns) if column.numeric]
    ours = {
        row
        for row in range(len(table.rows))
        if row not in table.paper and any(table.rows[row][i] != NOTHING for i in numbers)
    }
    rows = [row for row in range(len(table.rows)) if row in ours or (row in table.paper and row + 1 in ours)]
    # The last published row is followed by our other rows, below a heading.
    rows = [row for row in rows if row in ours or row + 1 not in table.headings]
    empty = {i for i in numbers if all(table.rows[row][i] == NOTHING for row in ours)}
    return table.select(rows, [i for i in range(len(table.columns)) if i not in empty])

"""The published numbers, re-read from the text of the paper."""

from pathlib import Path

import pytest

from contexture.reporting.published import TaskTable
from contexture.reporting.records import METRICS
from contexture.systems.cmlm.published import COMPARISONS, LABELS, similarity_table, transfer_tables


@pytest.fixture(scope="module")
def paper(shared_data: Path) -> list[list[str]]:
    file = shared_data.parent / "papers" / "cmlm-2021.txt"
    if not file.is_file():
        pytest.skip(f"the text of the paper is absent: {file}")
    return [line.split("\t") for line in file.read_text(encoding="utf-8").splitlines() if "\t" in line]


def rows_of(paper: list[list[str]], numbers: int, first: str, count: int) -> list[tuple[str, list[float]]]:
    """So many rows with an average behind so many numbers, from one of this label on."""
    rows = [row for row in paper if len(row) == numbers + 2 and row[-1].replace(".", "").isdigit()]
    place = next(i for i, row in enumerate(rows) if row[0] == first)
    return [(row[0].removesuffix(" (ours)"), [float(cell) for cell in row[1:-1]]) for row in rows[place:][:count]]


def typed(table: TaskTable) -> list[tuple[str, list[float]]]:
    """In hundredths, as the paper has them all."""
    scales = [100 / METRICS[column.metric].scale for column in table.columns]
    return [
        (row.label, [round(scale * (score or 0), 2) for scale, score in zip(scales, row.scores, strict=True)])
        for row in table.rows
    ]


@pytest.mark.parametrize(
    ("place", "first", "count"), [(0, "SkipThought", 14), (1, "N = 1", 7), (2, "CMLM MAX", 6), (3, "40", 4)]
)
def test_transfer_tables(place: int, first: str, count: int, paper: list[list[str]]) -> None:
    """Tables 1, 7, 9 and 10."""
    assert typed(transfer_tables("senteval")[place]) == rows_of(paper, 9, first, count)


def test_similarity_table(paper: list[list[str]]) -> None:
    assert typed(similarity_table()) == rows_of(paper, 7, "Avg. GloVe embeddings", 5)


def test_columns_fit_the_rows_and_the_metrics() -> None:
    for table in (*transfer_tables("senteval"), similarity_table()):
        assert len({(c.task, c.protocol, c.metric) for c in table.columns}) == len(table.columns)
        assert {len(row.scores) for row in table.rows} == {len(table.columns)}
        assert {row.variant for row in table.rows} - {""} <= set(LABELS)
    assert {name for pair in COMPARISONS for name in pair} <= set(LABELS)

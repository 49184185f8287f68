"""Published numbers, compared with the text of the paper."""

from pathlib import Path

import pytest

from contexture.reporting.published import ScoreTable
from contexture.reporting.records import METRICS
from contexture.systems.cmlm.page import PUBLISHED
from tests.reporting.make import published_values


@pytest.fixture(scope="module")
def paper(shared_data: Path) -> list[list[str]]:
    file = shared_data.parent / "papers" / "cmlm-2021.txt"
    if not file.is_file():
        pytest.skip(f"the text of the paper is absent: {file}")
    return [line.split("\t") for line in file.read_text(encoding="utf-8").splitlines() if "\t" in line]


def read_rows(paper: list[list[str]], numbers: int, first: str, count: int) -> list[tuple[str, list[float]]]:
    """Return `count` rows with `numbers` numbers and an average, from the label `first`."""
    rows = [row for row in paper if len(row) == numbers + 2 and row[-1].replace(".", "").isdigit()]
    position = next(i for i, row in enumerate(rows) if row[0] == first)
    return [(row[0].removesuffix(" (ours)"), [float(cell) for cell in row[1:-1]]) for row in rows[position:][:count]]


def typed(table: ScoreTable) -> list[tuple[str, list[float]]]:
    """Return typed numbers in percent, as in the paper."""
    scales = [100 / METRICS[column.metric].scale for column in table.columns]
    return [
        (label, [round(scale * (value or 0), 2) for scale, value in zip(scales, values, strict=True)])
        for label, values in published_values(table)
    ]


@pytest.mark.parametrize(
    ("table", "numbers", "first", "count"),
    [
        ("table_1", 9, "SkipThought", 14),
        ("table_2", 7, "Avg. GloVe embeddings", 5),
        ("table_7", 9, "N = 1", 7),
        ("table_9", 9, "CMLM MAX", 6),
        ("table_10", 9, "40", 4),
    ],
)
def test_tables(table: str, numbers: int, first: str, count: int, paper: list[list[str]]) -> None:
    assert typed(PUBLISHED.tables[table]) == read_rows(paper, numbers, first, count)

"""Published numbers, compared with the text of the paper."""

import re
from pathlib import Path

import pytest

from contexture.reporting.published import ScoreTable
from contexture.systems.quick_thoughts.page import TABLES
from tests.reporting.make import published_values


@pytest.fixture(scope="module")
def paper(shared_data: Path) -> str:
    file = shared_data.parent / "papers" / "quick-thoughts-2018.txt"
    if not file.is_file():
        pytest.skip(f"the text of the paper is absent: {file}")
    return re.sub(r"</?[ub]>|\*\*|\$", "", file.read_text(encoding="utf-8"))


def read_rows(paper: str, first: str, last: str, numbers: int) -> list[tuple[str, list[float | None]]]:
    """Return label and last numbers of each row between two strings that has as many numbers."""
    lines = paper.split(first, 1)[1].split(last, 1)[0].splitlines()
    rows = []
    for line in lines:
        label, *cells = [cell.strip() for cell in line.strip("| ").split("|")]
        values = cells[len(cells) - numbers :]
        if label and len(values) == numbers and all(re.fullmatch(r"-|N/A|[\d.]+", cell) for cell in values):
            rows.append((re.sub(r"\W", "", label), [None if cell in ("-", "N/A") else float(cell) for cell in values]))
    return rows


def typed(table: ScoreTable) -> list[tuple[str, list[float | None]]]:
    return [(re.sub(r"\W", "", label), values) for label, values in published_values(table)]


@pytest.mark.parametrize(
    ("name", "first", "last", "numbers", "count"),
    [
        ("table_1", "| Model  | Dim", "Table 1: Comparison", 10, 15),
        ("tables_2_and_3", "# 4.4.2", "Table 3: Comparison", 9, 10),
        ("table_4", "| COCO Retrieval", "Table 4: Image", 8, 7),
        ("table_6", "| Method ", "Table 6: Analogy", 9, 2),
        ("table_8", "| Model         | News", "Table 8: Comparison", 7, 8),
    ],
)
def test_tables(name: str, first: str, last: str, numbers: int, count: int, paper: str) -> None:
    rows = read_rows(paper, first, last, numbers)
    assert len(rows) == count
    if name == "table_6":  # ours are in percent
        rows = [(label, [round(100 * (score or 0)) for score in scores]) for label, scores in rows]
    assert typed(TABLES[name]) == rows


def test_overall_is_the_mean_weighted_by_pairs() -> None:
    """`pairs` are the sizes of STS14's subsets in the order of columns."""
    pairs = (300, 450, 750, 750, 750, 750)
    for label, values in published_values(TABLES["table_8"])[1:]:
        *subsets, overall = [value or 0.0 for value in values]
        weighted = sum(n * score for n, score in zip(pairs, subsets, strict=True)) / sum(pairs)
        assert abs(weighted - overall) < 0.01, label

"""Published numbers of sections 4 and 5, compared with the text and means of the paper."""

import re
from pathlib import Path
from statistics import mean

import pytest

from contexture.reporting.published import ScoreTable
from contexture.systems.cmlm_multilingual.page import PUBLISHED
from contexture.tasks.bitext_retrieval.files import PAPER_LANGUAGES
from tests.reporting.make import published_values

TABLE_3, TABLE_4, TABLE_5, TABLE_6, TABLE_6_FINETUNED, TABLE_8 = TABLES = tuple(PUBLISHED.tables.values())
#: Language code of the paper → language code of the test set.
TATOEBA = {column.name: column.subset.removesuffix("-eng") for column in TABLE_5.columns[:-1]}
Rows = dict[str, list[float | None]]


@pytest.fixture(scope="module")
def paper(shared_data: Path) -> list[list[str]]:
    """Return the rows of tables, from Table 3."""
    file = shared_data.parent / "papers" / "cmlm-2021.txt"
    if not file.is_file():
        pytest.skip(f"the text of the paper is absent: {file}")
    lines = file.read_text(encoding="utf-8").splitlines()
    first = lines.index("Model\tar\tbg\tde\tel\ten\tes\tfr\thi\tru\tsw\tth\ttr\tur\tvi\tzh\tAvg.")
    return [[cell.strip() for cell in line.rstrip("\t").split("\t")] for line in lines[first:] if "\t" in line]


def number(cell: str) -> float | None:
    return None if cell in ("-", "_") else float(cell)


def read(rows: list[list[str]]) -> Rows:
    return {label: [number(cell) for cell in cells] for label, *cells in rows}


def typed(table: ScoreTable) -> Rows:
    return dict(published_values(table))


def sentence_tasks(paper: list[list[str]]) -> list[list[str]]:
    return [row for row in paper if len(row) == 17 and row[0] != "Model"]


def test_table_3(paper: list[list[str]]) -> None:
    assert typed(TABLE_3) == read(sentence_tasks(paper)[:4])


def test_table_4(paper: list[list[str]]) -> None:
    """Schedules are S1, S2 and S3 in the rows of the paper."""
    expected = read(sentence_tasks(paper)[4:12])
    named = {re.sub(r".*\((S\d)\)$", r"\1", label).replace(" ", ""): row for label, row in published_values(TABLE_4)}
    assert named == expected


def test_table_5(paper: list[list[str]]) -> None:
    """In the text, the lower half has several rows per line, and no rows of the paper's models."""
    first = next(position for position, row in enumerate(paper) if row[:2] == ["Lang.", "af"])
    upper, lower = (paper[first + position] for position in (0, 9))
    assert list(TATOEBA) == [*upper[1:], *lower[1:-1]] and lower[-1] == "Mean"
    expected = read(paper[first + 1 : first + 9])
    last = paper[first + 10 : first + 19]
    cells_by_label = {
        label.rpartition(")" if label.endswith(")") else " ")[2] or label: cells for label, *cells in last
    }
    label_cells = {"mBERT": cells_by_label["mBERT"], "MLM (CC)": cells_by_label["MLM (CC)"]} | {
        label: [cell.split()[-1] for cell in cells_by_label[label]] for label in ("XLM", "XLM-R", "LASER")
    }
    for label, cells in label_cells.items():
        expected[label] += [number(cell) for cell in cells]
    assert typed(TABLE_5) == {label: [*cells, *[None] * (37 - len(cells))] for label, cells in expected.items()}


def test_table_6(paper: list[list[str]]) -> None:
    """Its upper part, and after a heading its lower part."""
    first = next(position for position, row in enumerate(paper) if row[0].startswith("Eriguchi"))
    for table, start, count in ((TABLE_6, first, 9), (TABLE_6_FINETUNED, first + 10, 5)):
        expected = read(paper[start : start + count])
        assert {label.replace(" ", ""): scores for label, scores in typed(table).items()} == {
            label.replace(" ", ""): scores for label, scores in expected.items()
        }


def test_table_8(paper: list[list[str]]) -> None:
    """In the text, two rows share a line; the lower half has no rows of the paper's models."""
    of_bert = [row[1:] for row in paper if row[0] == "mBERT mBERT + PCR"]
    of_ours = [row[1:] for row in paper if row[0] == "ours ours + PCR"]
    (first,) = [row[1:] for row in paper if row[1:2] == ["fra"]]
    names = [*first, *(cell.split()[0] for cell in of_bert[1][:-1])]
    assert [column.name for column in TABLE_8.columns] == names
    expected = {}
    for label, halves in (("mBERT", of_bert), ("ours", of_ours[:1])):
        pairs = [cell.split()[-2:] for half in halves for cell in half][: len(names)]
        rows = zip(*(map(float, pair) for pair in pairs), strict=True)
        for name, row in zip((label, f"{label} + PCR"), rows, strict=True):
            expected[name] = [*row, *[None] * (len(names) - len(row))]
    assert typed(TABLE_8) == expected


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.source)
def test_values_are_percent(table: ScoreTable) -> None:
    values = [value for _, row in published_values(table) for value in row if value is not None]
    assert len(values) >= 20 and min(values) > 0 and max(values) < 100


@pytest.mark.parametrize(
    ("table", "within"),
    # The paper truncates or rounds means of XEVAL; means of other models on Tatoeba are those of XTREME.
    [(TABLE_3, 0.1), (TABLE_4, 0.1), (TABLE_5, 0.45)],
    ids=("Table 3", "Table 4", "Table 5"),
)
def test_published_means_match_their_rows(table: ScoreTable, within: float) -> None:
    complete = {label: values for label, values in published_values(table) if values[-1] is not None}
    assert len(complete) >= 4
    for label, (*values, average) in complete.items():
        assert mean(value for value in values if value is not None) == pytest.approx(average, abs=within), label


def test_published_languages_are_measured() -> None:
    assert len(TATOEBA) == 36 and TATOEBA["de"] == "deu" and TATOEBA["zh"] == "cmn"
    assert {column.name for column in TABLE_8.columns} <= set(PAPER_LANGUAGES)
    five, eight = (
        {column.subset: row.scores[column.key].value for column in table.columns if column.key in row.scores}
        for table in (TABLE_5, TABLE_8)
        for row in table.rows
        if row.variant == "cmlm_then_cmlm_br"
    )
    shared = set(five) & set(eight)
    assert len(shared) == 4 and all(five[subset] == eight[subset] for subset in shared)

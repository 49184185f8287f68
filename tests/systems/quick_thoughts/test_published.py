"""The published numbers, re-read from the text of the paper."""

import re
from collections.abc import Iterable
from pathlib import Path

import pytest

from contexture.reporting.published import TaskRow
from contexture.reporting.records import METRICS
from contexture.systems.quick_thoughts.published import (
    analogies_table,
    captions_table,
    further_table,
    similarity_table,
    supervised_table,
    unsupervised_table,
)

GOOGLE = ["gram4-superlative", "gram3-comparative", "family"]
CATEGORIES = [*GOOGLE, "JJR_JJS", "VB_VBD", "VBD_VBZ", "NN_NNS", "JJ_JJS", "JJ_JJR"]


@pytest.fixture(scope="module")
def paper(shared_data: Path) -> str:
    file = shared_data.parent / "papers" / "quick-thoughts-2018.txt"
    if not file.is_file():
        pytest.skip(f"the text of the paper is absent: {file}")
    return re.sub(r"</?[ub]>|\*\*|\$", "", file.read_text(encoding="utf-8"))


def rows_of(paper: str, first: str, last: str, numbers: int) -> list[tuple[str, list[float | None]]]:
    """Label and numbers of each row between two places of the text that has as many, the last ones of a line."""
    lines = paper.split(first, 1)[1].split(last, 1)[0].splitlines()
    found = []
    for line in lines:
        label, *cells = [cell.strip() for cell in line.strip("| ").split("|")]
        values = cells[len(cells) - numbers :]
        if label and len(values) == numbers and all(re.fullmatch(r"-|N/A|[\d.]+", cell) for cell in values):
            found.append((re.sub(r"\W", "", label), [None if cell in ("-", "N/A") else float(cell) for cell in values]))
    return found


def typed(rows: Iterable[TaskRow]) -> list[tuple[str, list[float | None]]]:
    return [(re.sub(r"\W", "", row.label), list(row.scores)) for row in rows]


def test_table_1(paper: str) -> None:
    found = rows_of(paper, "| Model  | Dim", "Table 1: Comparison", 10)
    assert len(found) == 15
    assert typed(unsupervised_table("skip_thoughts").rows) == found


def test_tables_2_and_3(paper: str) -> None:
    found = rows_of(paper, "# 4.4.2", "Table 3: Comparison", 9)
    assert len(found) == 10
    assert typed(supervised_table("skip_thoughts").rows) == found


def test_table_4(paper: str) -> None:
    found = rows_of(paper, "| COCO Retrieval", "Table 4: Image", 8)
    assert len(found) == 7
    assert typed(captions_table().rows) == found


def test_table_6(paper: str) -> None:
    found = rows_of(paper, "| Method ", "Table 6: Analogy", 9)
    assert len(found) == 2
    percent = [(label, [round(100 * (score or 0)) for score in scores]) for label, scores in found]
    assert typed(analogies_table(CATEGORIES, "senteval").rows) == percent


def test_table_8(paper: str) -> None:
    found = rows_of(paper, "| Model         | News", "Table 8: Comparison", 7)
    assert len(found) == 8
    assert typed(similarity_table().rows) == found


def test_overall_is_the_mean_weighted_by_pairs() -> None:
    """The numbers of pairs of STS14's subsets in the order of the columns."""
    pairs = (300, 450, 750, 750, 750, 750)
    for row in similarity_table().rows[1:]:
        *subsets, overall = [score or 0.0 for score in row.scores]
        weighted = sum(n * score for n, score in zip(pairs, subsets, strict=True)) / sum(pairs)
        assert abs(weighted - overall) < 0.01, row.label


def test_columns_fit_the_rows_and_the_metrics() -> None:
    tables = [table(protocol) for table in (unsupervised_table, supervised_table) for protocol in ("senteval", "x")]
    for table in (*tables, captions_table(), similarity_table(), analogies_table(CATEGORIES, "senteval")):
        assert len({(c.task, c.protocol, c.metric, c.subset) for c in table.columns}) == len(table.columns)
        assert {column.metric for column in table.columns} <= set(METRICS)
        assert {len(row.scores) for row in table.rows} == {len(table.columns)}
        assert {row.variant for row in table.rows} - {""} <= set(table.labels)


def test_what_the_paper_lacks_has_columns_of_its_own() -> None:
    measured = {(task, "accuracy") for task in ("mr", "sst2", "own", "sst5")} | {("stsb", "mse"), ("sick_r", "mse")}
    table = further_table("senteval", measured)
    assert [(c.task, c.metric) for c in table.columns] == [("sst5", "accuracy"), ("stsb", "mse"), ("own", "accuracy")]
    assert {c.protocol for c in table.columns} == {"senteval"}


def test_analogies_of_other_categories_have_no_published_rows() -> None:
    assert (analogies_table(["tense"], "demo").rows, analogies_table(["tense"], "demo").title) == (
        (),
        "Sentence analogies",
    )
    mixed = analogies_table(["tense", "family"], "demo")
    assert [row.scores for row in mixed.rows] == [(None, 4), (None, 34)]

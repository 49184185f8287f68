"""Content of the `published.yml` files, and errors for faults."""

import sys
from pathlib import Path

import pytest

from contexture.reporting.published import FILE, PERCENT, ScoreTable, read_published
from contexture.reporting.records import METRICS
from tests.reporting.make import published_values

SYSTEMS = sorted(file.parent.name for file in Path("src/contexture/systems").glob(f"*/{FILE}"))
TOY = """
paper: A paper
title: T
note: N
labels: {ours: Our own, word_average: }
tables:
  table_1:
    title: "Table 1: scores"
    unit: percent
    section: Table 1
    every_column: {task: mr, protocol: senteval}
    columns: {MR: {metric: accuracy}, SICK: {metric: pearson, unit: correlation}}
    variants: {Ours: ours}
    blocks:
      - heading: Old
        rows: {Theirs: {MR: 80, SICK: 0.5}, Ours: {MR: {value: 81.5, std: 0.5, significant: true}}}
      - rows: {Ours: {SICK: 0.7}}
"""


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the path of `published.yml` in an empty package `toy_system`."""
    (tmp_path / "toy_system").mkdir()
    (tmp_path / "toy_system" / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "toy_system", raising=False)
    read_published.cache_clear()
    return tmp_path / "toy_system" / FILE


@pytest.mark.parametrize("system", SYSTEMS)
def test_files_use_known_names(system: str) -> None:
    published = read_published(f"contexture.systems.{system}")
    named = {row.variant for table in published.tables.values() for row in table.rows} - {""}
    named |= {name for pair in published.comparisons for name in pair}
    assert named <= set(published.labels)
    for table in published.tables.values():
        keys = [column.score_key("") for column in table.columns if column.metric]
        assert len(set(keys)) == len(keys)
        assert table.rows and {key.metric for key in keys} <= set(METRICS)


def test_rows_and_columns_of_a_file(toy: Path) -> None:
    toy.write_text(TOY)
    published = read_published("toy_system")
    assert published.labels == {"ours": "Our own", "word_average": "Average of word vectors"}
    table = published.tables["table_1"]
    assert isinstance(table, ScoreTable) and table.source == "A paper, Table 1"
    assert published_values(table) == [("Theirs", [80, 0.5]), ("Ours", [81.5, None]), ("Ours", [None, 0.7])]
    assert [(row.heading, row.variant) for row in table.rows] == [("Old", ""), ("", "ours"), ("", "ours")]
    assert [(c.task, c.protocol, c.metric, c.unit) for c in table.columns] == [
        ("mr", "senteval", "accuracy", PERCENT),
        ("mr", "senteval", "pearson", "correlation"),
    ]
    assert table.rows[1].scores["MR"].significant


@pytest.mark.parametrize(
    ("right", "wrong", "message"),
    [
        ("SICK: 0.7", "SICK: high", r"tables\.table_1\.blocks\.1\.rows\.Ours\.SICK"),
        ("SICK: 0.7", "SICK: '0.7'", r"tables\.table_1\.blocks\.1\.rows\.Ours\.SICK"),
        ("SICK: 0.7", "SICH: 0.7", r"tables\.table_1\.rows\.Ours: unknown columns \['SICH'\]; known: \['MR', 'SICK'\]"),
        ("std: 0.5", "dev: 0.5", r"tables\.table_1\.blocks\.0\.rows\.Ours\.MR"),
        ("Ours: ours", "Our: ours", r"tables\.table_1\.variants: unknown rows \['Our'\]"),
        ("    section: Table 1", "    sections: Table 1", r"tables\.table_1\.sections"),
        (
            "metric: pearson, unit: correlation",
            "metric: pearson",
            r"table_1\.columns\.SICK: pearson has another unit than percent",
        ),
        ("metric: pearson,", "metric: bleu,", r"tables\.table_1\.columns\.SICK: unknown metric bleu; known: "),
        ("metric: pearson,", "metrics: pearson,", r"tables\.table_1\.columns\.SICK\.metrics"),
        ("Theirs: {MR: 80, SICK: 0.5}, Ours", "Ours: {MR: 80}, Ours", r"duplicate keys: \['Ours'\]"),
        ("paper: A paper", "", "paper"),
        ("note: N", "note: N\nauthor: me", "author"),
    ],
)
def test_error_names_file_table_and_row(right: str, wrong: str, message: str, toy: Path) -> None:
    assert TOY.count(right) == 1
    toy.write_text(TOY.replace(right, wrong))
    with pytest.raises(ValueError, match=message) as raised:
        read_published("toy_system")
    assert str(raised.value).startswith("toy_system/published.yml: ")

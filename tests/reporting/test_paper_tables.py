"""Tables of a system's page, limited to the rows and columns with scores of ours beside published ones."""

from contexture.reporting.paper_tables import select_measured
from contexture.reporting.tables import Column, Table, columns

HEADS = (*columns("Model", numbers=["Seeds"]), *columns(numbers=["ours", "paper"], group="R@1"))
PAIRS = Table(
    "Table 1",
    (*HEADS, *columns(numbers=["ours", "paper"], group="R@5"), Column("Test")),
    (
        ("BM25", "–", "–", "41.0", "–", "58.0", ""),
        ("ICT", "3", "52.0 ±1.0", "70.0", "–", "82.0", "shown"),
        ("new", "1", "50.0", "–", "–", "–", ""),
    ),
    bold=frozenset({(1, 2), (1, 5)}),
    headings={0: "1%", 2: "80%"},
)


def test_pairs_of_columns_without_scores_of_ours_are_left_out() -> None:
    (table,) = select_measured([PAIRS])
    assert [column.name for column in table.columns] == ["Model", "Seeds", "ours", "paper", "Test"]
    assert table.rows == (("ICT", "3", "52.0 ±1.0", "70.0", "shown"), ("new", "1", "50.0", "–", ""))
    assert table.bold == {(0, 2)} and table.headings == {0: "1%", 1: "80%"}


def test_published_rows_are_kept_if_ours_follows() -> None:
    table = Table(
        "Table 2",
        (*columns("Model", "Source"), *columns(numbers=["MR", "CR"])),
        (
            ("GloVe", "paper", "70.0", "71.0"),
            ("QT", "paper", "80.0", "81.0"),
            ("QT", "ours, 3 seeds", "60.0", "–"),
            ("InferSent", "paper", "85.0", "86.0"),
            ("new", "ours, 1 seed", "50.0", "–"),
        ),
        headings={0: "Published", 1: "Theirs", 4: "Ours, not in the paper"},
        paper=frozenset({0, 1, 3}),
        notes={2: "explained"},
        shades={(2, 2): 0.5, (3, 3): 1.0},
    )
    (selected,) = select_measured([table])
    assert selected.rows == (
        ("QT", "paper", "80.0"),
        ("QT", "ours, 3 seeds", "60.0"),
        ("new", "ours, 1 seed", "50.0"),
    )
    assert selected.headings == {0: "Theirs", 2: "Ours, not in the paper"}
    assert (selected.paper, selected.notes, selected.shades) == ({0}, {1: "explained"}, {(1, 2): 0.5})


def test_tables_of_only_the_paper_or_only_ours_are_left_out() -> None:
    published = PAIRS.select([0], range(7))
    ours = PAIRS.select([2], range(7))
    other = Table("Costs", columns("Model", numbers=["Minutes"]), (("ICT", "1.0"),))
    assert list(select_measured([published, ours, other])) == []

import pytest

from contexture.reporting.published import Score, ScoreColumn, ScoreRow, ScoreTable
from contexture.reporting.records import Record
from contexture.reporting.tables import Table, comparison_table
from contexture.reporting.task_tables import compare_means, task_table, task_tables
from tests.reporting.make import measured

COLUMNS = (
    ScoreColumn("mr", "senteval", "accuracy", "MR", key="mr"),
    ScoreColumn("trec", "senteval", "accuracy", "TREC", key="trec"),
    ScoreColumn("sick_r", "senteval", "pearson", "r", "SICK", 3, key="r"),
    ScoreColumn("sick_r", "senteval", "mse", "MSE", "SICK", 3, key="mse"),
)


def paper(label: str, variant: str = "", heading: str = "", **scores: float) -> ScoreRow:
    return ScoreRow(label, {key: Score(value) for key, value in scores.items()}, variant, heading=heading)


PUBLISHED = ScoreTable(
    title="T",
    columns=COLUMNS,
    source="A paper, Table 9",
    data="senteval",
    rows=(
        paper("GloVe", "word_average", mr=80.0, trec=85.25, r=0.7, mse=0.4),
        paper("QT", "uni", "From scratch", mr=82.0, trec=90.25, r=0.8, mse=0.3),
        paper("Other", mr=70.0, mse=0.35),
        paper("QT, more text", "uni", mr=90.0, trec=95.0, r=0.9, mse=0.2),
    ),
    labels={"uni": "uni-QT", "untrained": "Random encoder", "word_average": "Word average"},
)


def records(
    variant: str,
    values: list[float],
    task: str = "mr",
    metric: str = "accuracy",
    protocol: str = "senteval",
    data: str = "senteval",
) -> list[Record]:
    return measured(variant, values, task, data, protocol, metric)


def cells(table: Table, row: int) -> dict[str, str]:
    return {f"{c.group} {c.name}".strip(): text for c, text in zip(table.columns, table.rows[row], strict=True)}


OURS = [
    *records("uni", [0.50, 0.52, 0.57]),  # mean 53, deviations −3, −1, 4: √(26/2) = 3.606
    *records("uni", [0.75], metric="pearson", task="sick_r"),
    *records("uni", [1.25], metric="mse", task="sick_r"),
    *records("uni", [0.99], protocol="skip_thoughts"),
    *records("my-model", [0.6]),
    *records("my-model", [-0.25], metric="pearson", task="sick_r"),
    *records("my-model", [2.5], metric="mse", task="sick_r"),
    *records("untrained", [0.4]),
    *records("bow", [0.4], task="elsewhere"),
]


def test_our_rows_follow_the_papers() -> None:
    table = task_table(OURS, PUBLISHED, "senteval")
    assert [row[:2] for row in table.rows] == [
        ("GloVe", "paper"),
        ("QT", "paper"),
        ("uni-QT", "ours, 3 seeds"),
        ("Other", "paper"),
        ("QT, more text", "paper"),
        ("Random encoder", "ours, 1 seed"),
        ("my-model", "ours, 1 seed"),
    ]
    assert cells(table, 2) == {
        "Model": "uni-QT",
        "Source": "ours, 3 seeds",
        "MR": "53.0 ±9.0",
        "TREC": "–",
        "SICK r": "0.750",
        "SICK MSE": "1.250",
    }
    assert cells(table, 1)["SICK r"] == "0.800"
    assert cells(table, 3) == {
        "Model": "Other",
        "Source": "paper",
        "MR": "70.0",
        "TREC": "–",
        "SICK r": "–",
        "SICK MSE": "0.350",
    }
    assert cells(table, 6)["SICK r"] == "-0.250"
    assert table.headings == {1: "From scratch", 5: "Ours, not in the paper"}
    assert table.paper == {0, 1, 3, 4}
    assert table.groups == [("", 4), ("SICK", 2)]


def test_best_scores_are_bold_separately() -> None:
    table = task_table(OURS, PUBLISHED, "senteval")
    bold = {(table.rows[row][0], table.columns[column].name) for row, column in table.bold}
    assert bold == {
        ("QT, more text", "MR"),
        ("QT, more text", "TREC"),
        ("QT, more text", "r"),
        ("QT, more text", "MSE"),  # 0.2 is the least
        ("my-model", "MR"),
        ("uni-QT", "r"),
        ("uni-QT", "MSE"),  # 1.25 of 1.25 and 2.5
    }
    assert "Lower is better: MSE." in table.caption
    assert table.caption == (
        "Percent except r and MSE, mean ± half of its 95% interval over seeds; best of each column in bold, separately "
        "for ours and the paper. Lower is better: MSE. Paper: A paper, Table 9."
    )
    assert task_table(OURS, ScoreTable("T", COLUMNS[2:], data="senteval"), "senteval").caption.startswith(
        "Mean ± half of its 95% interval over seeds;"
    )


def test_tables_of_only_the_paper_or_only_ours() -> None:
    published_only = task_table([], PUBLISHED, "senteval")
    assert {row[1] for row in published_only.rows} == {"paper"}
    assert list(published_only.headings) == [1]
    ours = task_table(OURS, ScoreTable("T", COLUMNS[:1], data="senteval", labels=PUBLISHED.labels), "senteval")
    assert [row[0] for row in ours.rows] == ["uni-QT", "Random encoder", "my-model"]
    assert ours.headings == {}
    assert ours.caption == "Percent, mean ± half of its 95% interval over seeds; best of each column in bold."


def test_one_table_per_data_set_with_subset_columns() -> None:
    parts = ScoreColumn("sts14", "cosine", "pearson", "Forum", subset="deft-forum", key="forum")
    published = ScoreTable("T", (parts,), "A paper", "senteval", (paper("QT", "uni", forum=0.5),))
    ours = records("uni", [0.25], "sts14", "pearson", "cosine", "demo/deft-forum")
    ours += records("uni", [0.75], "sts14", "pearson", "cosine", "senteval/deft-forum")
    ours += records("uni", [0.9], "sts14", "pearson", "cosine", "senteval/images")
    demo, real = task_tables(ours, published)
    assert [table.rows[1][2] for table in (demo, real)] == ["0.250", "0.750"]
    assert demo.title == "T (ours: the demo's made-up world)"
    assert demo.caption.endswith("Ours: the demo's made-up world, paper: SentEval; not comparable.")
    assert real.title == "T"
    (published_only,) = task_tables([], published)
    assert len(published_only.rows) == 1


def test_means_are_compared_over_shared_seeds_and_columns() -> None:
    ours = [
        *records("uni", [0.52, 0.55, 0.9]),
        *records("uni", [0.62, 0.65], task="trec"),  # means 57, 60; the third seed lacks a task
        *records("untrained", [0.50, 0.50, 0.1]),
        *records("untrained", [0.60, 0.60, 0.1], task="trec"),  # means 55, 55
        *records("word_average", [0.45]),
        *records("word_average", [0.65], task="trec"),  # 55, whatever the seed
    ]
    pairs = (("uni", "untrained"), ("uni", "word_average"), ("uni", "nowhere"), ("word_average", "untrained"))
    gains = compare_means(ours, PUBLISHED, "senteval", COLUMNS[:2], pairs, "tasks")
    assert [(gain.variant, gain.baseline) for gain in gains] == [
        ("uni-QT", "Random encoder"),
        ("uni-QT", "Word average"),
        ("Word average", "Random encoder"),
    ]
    assert gains[0].differences == pytest.approx((2, 5))
    assert gains[0].published is None
    assert gains[1].differences == pytest.approx((2, 5))
    # the paper: the mean of 2 and 5 (of the first of the rows that correspond to `uni`)
    assert gains[1].published == pytest.approx(3.5)
    assert gains[1].setting == "tasks, mean of 2"
    assert gains[2].differences == pytest.approx((0, 0, 45))
    assert "Points" not in comparison_table(gains).caption
    with_cost: list[Record] = [{**record, "seconds": 1.0} for record in ours]
    (seeded,) = compare_means(with_cost, PUBLISHED, "senteval", COLUMNS[:2], pairs[1:2], "tasks")
    assert seeded.differences == pytest.approx((2,))  # only the seed that both have


def test_points_of_correlations_are_hundredths() -> None:
    ours = [
        *records("uni", [0.75], metric="pearson", task="sick_r"),
        *records("word_average", [-0.5], metric="pearson", task="sick_r"),
    ]
    gains = compare_means(ours, PUBLISHED, "senteval", COLUMNS[2:3], (("uni", "word_average"),), "relatedness")
    assert gains[0].differences == pytest.approx((125,))
    assert gains[0].published == pytest.approx(10)
    assert gains[0].describe() == (
        "uni-QT scores 125.0 Pearson points more than word average (1 seed: preliminary). Paper: +10.0 points."
    )
    assert comparison_table(gains).caption.count("Points of correlations are hundredths.") == 1

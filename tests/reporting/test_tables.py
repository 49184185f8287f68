import re

import pytest
from markdown import markdown

from contexture.reporting.published import read_published
from contexture.reporting.records import Record
from contexture.reporting.tables import (
    Column,
    Comparison,
    Table,
    comparison_table,
    counts_table,
    results_table,
    results_tables,
    to_markdown,
)
from contexture.reporting.task_tables import compare
from tests.reporting.make import measured

MSPP = read_published("contexture.systems.mspp")
TABLE_1, TABLE_2 = (MSPP.tables[name].select_data("wikiqa") for name in ("table_1", "table_2"))


def records(
    variant: str,
    values: list[float],
    protocol: str = "grouped",
    metric: str = "map",
    data: str = "wikiqa",
    **other: str,
) -> list[Record]:
    return measured(variant, values, "answer_selection", data, protocol, metric, **other)


def cells(table: Table, label: str) -> dict[str, str]:
    (row,) = [row for row in table.rows if row[0] == label]
    return {f"{c.group} {c.name}".strip(): text for c, text in zip(table.columns, row, strict=True)}


def test_mean_and_interval_next_to_published_scores() -> None:
    ours = [
        *records("mspp_ie", [0.50, 0.52, 0.57]),  # mean 53, deviations −3, −1, 4: √(26/2) = 3.606
        *records("mspp_ie", [0.9], split="dev"),
        *records("mspp_ie", [0.1], protocol="reranked"),
        *records("pairwise", [0.7]),
    ]
    table = results_table(ours, TABLE_1, "wikiqa")
    assert cells(table, "Joint with MSPP, IE_k") == {
        "Model": "Joint with MSPP, IE_k",
        "Seeds": "3",
        "P@1 ours": "–",
        "P@1 paper": "82.7 (2.2)†",
        "MAP ours": "53.0 ±9.0",
        "MAP paper": "88.5 (1.5)†",
        "MRR ours": "–",
        "MRR paper": "89.0 (1.5)†",
    }
    assert cells(table, "Pairwise cross-encoder")["MAP ours"] == "70.0"  # one seed: no deviation
    assert cells(table, "Joint without MSPP, AE_k")["Seeds"] == "–"  # not run, but in the table
    assert table.groups == [("", 2), ("P@1", 2), ("MAP", 2), ("MRR", 2)]
    assert "significant gain" in table.caption
    assert "significant" not in results_table(ours, TABLE_2, "wikiqa").caption


def test_reranking_table_includes_the_pairwise_row() -> None:
    ours = records("pairwise", [0.7]) + records("joint_ie", [0.4], protocol="reranked")
    table = results_table(ours, TABLE_2, "wikiqa")
    assert cells(table, "Pairwise cross-encoder")["MAP ours"] == "70.0"
    assert cells(table, "Joint without MSPP, IE_k")["MAP ours"] == "40.0"
    assert cells(table, "Joint without MSPP, IE_k")["P@1 paper"] == "24.6 (3.1)"
    assert cells(table, "Joint without MSPP, IE_k")["MAP paper"] == "49.3"


def test_variants_not_in_the_paper_have_rows() -> None:
    ours = records("mspp_ie_following", [0.3]) + records("mspp_z", [0.3], protocol="reranked")
    row = cells(results_table(ours, TABLE_1, "wikiqa"), "mspp_ie_following")
    assert (row["MAP ours"], row["MAP paper"]) == ("30.0", "–")
    assert [row[0] for row in results_table(ours, TABLE_1, "wikiqa").rows][5:] == ["mspp_ie_following"]
    assert [row[0] for row in results_table(ours, TABLE_2, "wikiqa").rows][5:] == ["mspp_z"]


def test_other_data_are_named_as_not_comparable() -> None:
    ours = (
        records("mspp_ie", [0.25], data="demo")
        + records("mspp_ie", [0.5])
        + records("mspp_ie", [0.9], "frozen", data="x")
    )
    demo, real = results_tables(ours, TABLE_1)
    assert demo.title == "Table 1: answer selection, all candidates, WikiQA (ours: the demo's made-up world)"
    assert "Ours: the demo's made-up world, paper: WikiQA; not comparable. In parentheses: the paper's" in demo.caption
    assert real.title == "Table 1: answer selection, all candidates, WikiQA"
    assert "comparable" not in real.caption
    for table, value in ((demo, "25.0"), (real, "50.0")):
        row = cells(table, "Joint with MSPP, IE_k")
        assert (row["MAP ours"], row["MAP paper"]) == (value, "88.5 (1.5)†")
    (published_only,) = results_tables([], TABLE_1)
    assert cells(published_only, "Joint with MSPP, IE_k")["MAP ours"] == "–"


def test_gains_are_paired_by_seed() -> None:
    ours = records("mspp_ie", [0.41, 0.52, 0.63, 0.99]) + records("joint_ie", [0.40, 0.50, 0.60])
    (gain,) = compare(ours, TABLE_1, "wikiqa", MSPP.comparisons, "map")
    # 1, 2, 3 points: mean 2, deviation 1, t = 2√3; with two degrees of freedom p = 1 − t/√(t² + 2)
    assert gain.differences == pytest.approx((1, 2, 3))
    assert gain.published == pytest.approx(88.5 - 39.4)
    assert gain.test == pytest.approx((12**0.5, 1 - (12 / 14) ** 0.5))
    assert gain.verdict == "t(2) = 3.46, p = 0.074: not significant at 95%"
    assert gain.describe() == (
        "Joint with MSPP, IE_k scores 2.0 MAP points more than joint without MSPP, IE_k "
        "(t(2) = 3.46, p = 0.074: not significant at 95%). Paper: +49.1 points."
    )
    (row,) = comparison_table([gain]).rows
    assert row[3:6] == ("3", "MAP +2.0 ±2.5", "+49.1")


def test_verdicts() -> None:
    def gain(*differences: float) -> Comparison:
        return Comparison("wikiqa", "map", "a", "b", differences, None)

    # mean 11, deviation 1: t = 11√3 = 19.05, p = 1 − 19.05/√(19.05² + 2) = 0.0027
    assert gain(10.0, 11.0, 12.0).verdict == "t(2) = 19.05, p = 0.0027: significant at 95%"
    assert gain(-10.0, -11.0, -12.0).test[0] == pytest.approx(-gain(10.0, 11.0, 12.0).test[0])
    assert gain(10.0).verdict == "1 seed: preliminary"
    assert gain(10.0, 10.0).verdict == gain(0.0, 1e-14).verdict == "no test: same difference for all seeds"
    assert comparison_table([gain(10.0)]).rows[0][4:6] == ("MAP +10.0", "–")


def test_comparison_needs_both_variants() -> None:
    assert compare(records("mspp_ie", [0.4]), TABLE_1, "wikiqa", MSPP.comparisons, "map") == []


def test_proper_names_keep_capitals_in_sentences() -> None:
    def over(baseline: str) -> str:
        return Comparison("squad, 1%", "recall_at_10", "ICT", baseline, (-1.25,), None).describe("SQuAD")

    assert over("No pre-training") == (
        "ICT scores 1.2 R@10 points less than no pre-training (SQuAD; 1 seed: preliminary)."
    )
    assert "than BM-25 (" in over("BM-25")
    assert "than MLM (" in over("MLM")


def test_best_of_each_column_is_bold() -> None:
    ours = records("mspp_ie", [0.50]) + records("mspp_ae", [0.61]) + records("pairwise", [0.6104])
    table = results_table(ours, TABLE_1, "wikiqa")
    bold = {(table.rows[row][0], f"{table.columns[c].group} {table.columns[c].name}") for row, c in table.bold}
    assert {cell for cell in bold if cell[1] == "MAP ours"} == {  # 61.0 is shown for both
        ("Joint with MSPP, AE_k", "MAP ours"),
        ("Pairwise cross-encoder", "MAP ours"),
    }
    assert ("Joint with MSPP, IE_k", "MAP paper") in bold
    assert not any("Seeds" in column or "MRR ours" in column for _, column in bold)
    single = results_table(records("mspp_ie", [0.50]), TABLE_1, "wikiqa")
    assert not any(single.columns[column].name == "ours" for _, column in single.bold)


def test_counts_are_flattened() -> None:
    table = counts_table("Corpus", {"pages_in": 1234567, "dropped": {"redirect": 3}, "share": 0.25, "text": "x"})
    assert table.rows == (
        ("pages in", "1,234,567"),
        ("dropped: redirect", "3"),
        ("share", "0.25"),
        ("text", "x"),
    )


def test_markdown_round_trip() -> None:
    rows = (("a|b", "1*"), ("IE_k\\", "–"), ("*x* <b>", "two\nlines"))
    html = markdown(to_markdown(Table("T", (Column("What"), Column("n", "G", True)), rows)), extensions=["tables"])
    parsed = re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", html)
    assert parsed == ["What", "G n", "a|b", "1*", "IE_k\\", "–", "*x* <b>", "two lines"]


def test_markdown_explains_rows() -> None:
    table = Table("T", (Column("What"),), (("a",), ("b",)), bold=frozenset({(0, 0)}), notes={0: "predicts | words"})
    assert to_markdown(table).splitlines()[2:] == [r"| **a**: predicts \| words |", "| b |"]


def test_markdown_shows_headings_and_bold_cells() -> None:
    table = Table(
        "T", (Column("What"), Column("n")), (("a*", "1"), ("b", "2")), "", frozenset({(0, 0), (1, 1)}), {1: "B"}
    )
    html = markdown(to_markdown(table), extensions=["tables"])
    parsed = re.findall(r"<td[^>]*>(.*?)</td>", html)
    assert parsed == ["<strong>a*</strong>", "1", "<strong>B</strong>", "", "b", "<strong>2</strong>"]

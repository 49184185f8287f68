import pytest

from contexture.reporting.records import Record
from contexture.reporting.report import ReportContext, Retrieval, render_report
from tests.reporting.pages import Page

CONTEXT = ReportContext(
    system="two_tower",
    title="Two-tower retrieval",
    note="Small models: not comparable with the paper.",
    retrieval=Retrieval(
        pairs={"wlp": {"pairs": 77, "tokens": 7777, "mean_query_tokens": 21.5, "mean_document_tokens": 79.5}},
        sets={"squad": {"queries": 10570, "candidates": 10123, "tuples": 11000}},
        indexes=[{"kind": "hnsw", "recall_against_exact": 0.991, "queries_per_second": 9876.0, "build_seconds": 2.0}],
        speeds=[{"what": "Encoding candidates", "unit": "candidates", "per_second": 321.0}],
        commands={"squad_open": "kedro run --pipelines open"},
    ),
)


def recalls(
    variant: str, split: str, values: list[float], task: str = "squad", metric: str = "recall_at_10"
) -> list[Record]:
    return [
        Record(system="two_tower", variant=variant, task=task, split=split, metric=metric, value=value, seed=seed)
        for seed, value in enumerate(values)
    ]


RECORDS = [
    *recalls("ict_bfs_wlp", "1%", [0.50, 0.52, 0.54]),
    *recalls("bm25", "1%", [0.55, 0.55, 0.56]),
    *recalls("ict", "1%", [0.45]),
    *recalls("ict_bfs_wlp", "80%", [0.75]),
    *recalls("bm25", "80%", [0.56]),
    *recalls("ict_bfs_wlp", "1%", [0.58], metric="sentence_recall_at_10"),
]


def section(markdown: str, title: str) -> list[str]:
    """The lines below a heading."""
    return markdown.split(f"\n## {title}\n")[1].split("\n## ")[0].splitlines()


def row(lines: list[str], label: str, place: int = 0) -> list[str]:
    found = [line for line in lines if line.startswith((f"| {label} |", f"| **{label}** |"))]
    return [cell.strip() for cell in found[place].strip("|").split("|")]


def test_the_main_table() -> None:
    lines = section(render_report(RECORDS, [], CONTEXT).markdown, "Table 3: recall on SQuAD")
    header = row(lines, "Model")
    assert header[:4] == ["Model", "Seeds", "R@1 ours", "R@1 paper"]
    at_10, paper = header.index("R@10 ours"), header.index("R@10 paper")
    shares = [line.split("**")[1] for line in lines if line.startswith("| **")]
    assert shares == [f"{share} of the questions trained on" for share in ("1%", "5%", "80%")]
    assert [row(lines, "ICT+BFS+WLP", place)[at_10] for place in range(3)] == ["52.0 (2.0)", "–", "**75.0**"]
    assert [row(lines, "BM-25", place)[paper] for place in range(3)] == ["63.64", "63.63", "63.55"]
    assert row(lines, "BM-25")[at_10] == "**55.3 (0.6)**"  # the best of those trained on 1%
    assert row(lines, "ICT+BFS+WLP")[paper] == "**70.18**"
    assert (row(lines, "ICT")[at_10], row(lines, "ICT")[paper]) == ("45.0", "–")  # a row that the paper lacks
    assert (row(lines, "MLM")[1], row(lines, "MLM")[at_10], row(lines, "MLM")[paper]) == ("–", "–", "0.82")


def test_both_forms_say_the_same() -> None:
    report = render_report(RECORDS, [], CONTEXT)
    page = Page(report.html)
    for shown in (
        "Table 3: recall on SQuAD",
        "5% of the questions trained on",
        "58.35",
        "The gold sentence in any passage, on SQuAD",
        "58.0",
        "Table 1: pairs of the pre-training tasks",
        "7,777",
        "Table 2: questions and candidates",
        "10,123",
        "Exact and approximate search",
        "9,876",
        "Speed of retrieval",
        "Encoding candidates",
        "Table 5: layers, tasks and size of the embedding",
        "Not run, there are no records of squad_ablation.",
        "Not run: kedro run --pipelines open makes it.",
    ):
        assert shown in page.text
        assert shown in report.markdown
    assert list(report.figures) == ["recall_squad.png"]
    assert "![recall_squad.png](recall_squad.png)" in report.markdown
    assert len([tag for tag, _ in page.tags if tag == "img"]) == 1
    assert "<strong>55.3 (0.6)</strong>" in report.html
    findings = [line for line in report.markdown.splitlines() if line.startswith("- ")]
    assert findings == [  # differences −5, −3, −2: mean −3.33, std. dev. 1.53
        "- With 1% of the questions, ICT+BFS+WLP: -3.3 points of R@10 over BM-25 "
        "(t(2) = -3.78, p = 0.063: not significant at 95%). The paper: +6.5."
    ]
    gains = [line for line in section(report.markdown, "Gains, seed by seed") if "BM-25" in line]
    assert ["squad, 1%" in gains[0], "squad, 80%" in gains[1]] == [True, True]


def test_ablation_and_open_domain_when_they_were_run() -> None:
    ours = [
        *RECORDS,
        *recalls("layers=2 ict dim=64", "10%", [0.5], "squad_ablation", "recall_at_100"),
        *recalls("ict", "5%", [0.333], "squad_open"),
    ]
    text = render_report(ours, [], CONTEXT).markdown
    assert "Not run" not in text
    assert "| 2 | ICT | 64 | – | – | 50.0 | – |" in section(text, "Table 5: layers, tasks and size of the embedding")
    opened = section(text, "Table 6: open domain, SQuAD")
    assert "33.3" in row(opened, "ICT", 1)
    assert "57.11" in row(opened, "ICT", 1)
    assert not any("10% of the questions" in line for line in section(text, "Table 3: recall on SQuAD"))


def test_before_anything_was_run_the_papers_numbers_stand_alone() -> None:
    report = render_report([], [], ReportContext("two_tower", "Two-tower", "Nothing was run."))
    assert "58.35" in report.html
    assert report.figures == {}
    for absent in ("Gains", "gold sentence", "Table 1", "Table 2", "Speed", "approximate", "Corpus"):
        assert absent not in report.markdown.replace("the gold pair of sentence", "")
        assert f"<h2>{absent}" not in report.html


def test_other_sets_of_questions() -> None:
    ours = recalls("bm25", "1%", [0.1], "natural_questions") + recalls("ict", "30%", [0.2], "own")
    text = render_report(ours, [], CONTEXT).markdown
    assert "15.41" in row(section(text, "Table 4: recall on Natural Questions"), "BM-25")
    own = section(text, "Recall on own")
    assert row(own, "Model") == ["Model", "Seeds", "R@1", "R@5", "R@10", "R@50", "R@100"]
    assert row(own, "ICT") == ["ICT", "1", "–", "–", "20.0", "–", "–"]
    assert next(line for line in own if line.startswith("| **")).startswith("| **30% of the questions")
    assert "Table 3" not in text


def test_a_split_that_is_no_share_is_refused() -> None:
    with pytest.raises(ValueError, match=r"share of the questions trained on, such as '1%': .*'split': 'test'"):
        render_report(recalls("ict", "test", [0.1]), [], CONTEXT)

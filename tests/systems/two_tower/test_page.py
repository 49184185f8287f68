import pytest

from contexture.reporting.page import ReportContext
from contexture.reporting.records import Record
from contexture.reporting.report import Report, render_report
from contexture.systems.two_tower.page import NOTE, TITLE, page
from tests.reporting.make import TRAINING, measured
from tests.reporting.pages import Page

CONTEXT = ReportContext(
    system="two_tower",
    title=TITLE,
    note=NOTE,
    examples={
        "wlp": {"pairs": 77, "tokens": 7777, "mean_query_tokens": 21.5, "mean_document_tokens": 79.5},
        "bfs": {"pairs": 0, "tokens": 0, "mean_query_tokens": 0.0, "mean_document_tokens": 0.0},
    },
    facts={
        "retrieval": {
            "name": "squad",
            "counts": {"queries": 10570, "candidates": 10123, "tuples": 11000},
            "indexes": [
                {"kind": "hnsw", "recall_against_exact": 0.991, "queries_per_second": 9876.0, "build_seconds": 2.0}
            ],
            "speeds": [{"what": "Encoding candidates", "unit": "candidates", "per_second": 321.0}],
        }
    },
    trainings={"ict": TRAINING},
)


def recalls(
    variant: str, protocol: str, values: list[float], data: str = "squad", metric: str = "recall_at_10"
) -> list[Record]:
    return measured(variant, values, "retrieval", data, protocol, metric, system="two_tower")


def rendered(records: list[Record], context: ReportContext = CONTEXT) -> Report:
    return render_report(records, [], context, page)


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
    lines = section(rendered(RECORDS).markdown, "Table 3: recall on SQuAD")
    header = row(lines, "Model")
    assert header[:4] == ["Model", "Seeds", "R@1 ours", "R@1 paper"]
    at_10, paper = header.index("R@10 ours"), header.index("R@10 paper")
    shares = [line.split("**")[1] for line in lines if line.startswith("| **")]
    assert shares == [f"{share} of the questions trained on" for share in ("1%", "5%", "80%")]
    assert [row(lines, "ICT+BFS+WLP", place)[at_10] for place in range(3)] == ["52.0 (2.0)", "–", "**75.0**"]
    assert [row(lines, "BM25", place)[paper] for place in range(3)] == ["63.64", "63.63", "63.55"]
    assert row(lines, "BM25")[at_10] == "**55.3 (0.6)**"  # the best of those trained on 1%
    assert row(lines, "ICT+BFS+WLP")[paper] == "**70.18**"
    assert (row(lines, "ICT")[at_10], row(lines, "ICT")[paper]) == ("45.0", "–")  # a row that the paper lacks
    assert (row(lines, "MLM")[1], row(lines, "MLM")[at_10], row(lines, "MLM")[paper]) == ("–", "–", "0.82")


def test_shares_and_rows_that_were_not_run_are_named() -> None:
    caption = next(
        line for line in section(rendered(RECORDS).markdown, "Table 3: recall on SQuAD") if "Not run" in line
    )
    assert caption.endswith(
        "Not run here: 5% of the questions trained on; BoW-MLP, no pre-training; BoW-MLP, ICT+BFS+WLP; "
        "No pre-training; MLM."
    )


def test_both_forms_say_the_same() -> None:
    report = rendered(RECORDS)
    html = Page(report.html)
    for shown in (
        "Table 3: recall on SQuAD",
        "5% of the questions trained on",
        "58.35",
        "The gold sentence in any passage (SQuAD)",
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
        "Not run: kedro run --pipelines two_tower_ablation makes it.",
        "Table 6: open domain",
        "Not run: the questions were asked of their own candidates alone.",
        "Training: size and speed",
    ):
        assert shown in html.text
        assert shown in report.markdown
    assert list(report.figures) == ["recall_squad.png"]
    assert "![recall_squad.png](recall_squad.png)" in report.markdown
    assert len([tag for tag, _ in html.tags if tag == "img"]) == 1
    assert "<strong>55.3 (0.6)</strong>" in report.html
    findings = [line for line in report.markdown.splitlines() if line.startswith("- ")]
    assert findings == [  # differences −5, −3, −2: mean −3.33, std. dev. 1.53
        "- With 1% of the questions, ICT+BFS+WLP: -3.3 points of R@10 over BM25 "
        "(t(2) = -3.78, p = 0.063: not significant at 95%). The paper: +6.5.",
        "- This text has no pairs of BFS: the row of that name was not pre-trained, and mixtures are of the other "
        "tasks.",
    ]
    gains = [line for line in section(report.markdown, "Gains, seed by seed") if "BM25" in line]
    assert ["SQuAD, 1%" in gains[0], "SQuAD, 80%" in gains[1]] == [True, True]


def test_ablation_and_open_domain_when_they_were_run() -> None:
    ours = [
        *RECORDS,
        *recalls("ict layers=2 embedding_size=64", "10% ablation", [0.5], metric="recall_at_100"),
        *recalls("ict", "5% open", [0.333]),
        *recalls("ict", "frozen open", [0.125]),
    ]
    text = rendered(ours).markdown
    assert "Not run:" not in text
    assert "| 2 | ICT | 64 | – | – | 50.0 | – |" in section(text, "Table 5: layers, tasks and size of the embedding")
    opened = section(text, "Table 6: open domain (ours: SQuAD)")
    assert "12.5" in row(opened, "ICT")[6]
    assert "33.3" in row(opened, "ICT", 2)[6]
    assert "57.11" in row(opened, "ICT", 2)[7]
    assert not any("10% of the questions" in line for line in section(text, "Table 3: recall on SQuAD"))


def test_frozen_towers_have_a_table_and_other_tasks_too() -> None:
    ours = [
        *RECORDS,
        *recalls("ict", "frozen", [0.25]),
        *measured("ict", [0.625], "mr", system="two_tower"),
    ]
    text = rendered(ours).markdown
    assert row(section(text, "Without fine-tuning (SQuAD)"), "ICT")[:5] == ["ICT", "1", "–", "–", "25.0"]
    assert row(section(text, "MR (SentEval)"), "ICT")[2] == "62.5"
    assert "Without fine-tuning" not in rendered(RECORDS).markdown


def test_before_anything_was_run_the_papers_numbers_stand_alone() -> None:
    report = rendered([], ReportContext("two_tower", "Two-tower", "Nothing was run."))
    assert "58.35" in report.html
    assert report.figures == {}
    for absent in ("Gains", "gold sentence", "Table 1", "Table 2", "Speed", "approximate", "Corpus", "Training"):
        assert absent not in report.markdown.replace("the gold pair of sentence", "")
        assert f"<h2>{absent}" not in report.html


def test_other_sets_of_questions() -> None:
    ours = recalls("bm25", "1%", [0.1], "natural_questions") + recalls("ict", "30%", [0.2], "demo")
    report = rendered(ours)
    text = report.markdown
    assert "15.41" in row(section(text, "Table 4: recall on Natural Questions"), "BM25")
    own = section(text, "Table 3: recall on SQuAD (ours: the demo's made-up world)")
    assert row(own, "ICT")[:7] == ["ICT", "1", "–", "–", "–", "–", "20.0"]
    assert "| **30% of the questions" in "".join(own)
    assert any(
        "the paper's of SQuAD: not comparable. R@k: the gold pair of sentence and passage is among the first k of all "
        "candidates. Rows that name no encoder are Transformers; BM25 learns nothing, its rows differ by the questions "
        "asked." in line
        for line in own
    )
    assert list(report.figures) == ["recall_natural_questions.png", "recall_demo.png"]


@pytest.mark.parametrize("protocol", ["test", "1% closed", "open"])
def test_a_protocol_that_is_no_share_is_refused(protocol: str) -> None:
    with pytest.raises(
        ValueError, match=rf"share of the questions trained on, such as '1%': .*'protocol': '{protocol}'"
    ):
        rendered(recalls("ict", protocol, [0.1]))

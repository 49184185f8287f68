import subprocess
import sys
from base64 import b64decode
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pandas as pd
import pytest
from matplotlib.figure import Figure

from contexture.reporting.curves import History, Series
from contexture.reporting.page import Bar, Card, Page, ReportContext, Section, sections
from contexture.reporting.published import Score, ScoreColumn, ScoreRow, ScoreTable
from contexture.reporting.records import Record
from contexture.reporting.report import render_report
from contexture.reporting.tables import Column, Table, results_tables
from contexture.reporting.task_tables import compare
from tests.reporting.golden import check_page
from tests.reporting.make import measured
from tests.reporting.pages import Page as Html

HOSTILE = "<script>alert(1)</script>"
CONTEXT = ReportContext(
    system="some",
    title="Some system on a made-up world",
    note="Trained from scratch at a small size: not comparable with the paper.",
    run={"Seeds": "0, 1", "Text": HOSTILE},
    counts={"Corpus": {"pages_in": 1306, "dropped": {"redirect": 99}}},
    files={"data/08_reporting/some/metrics.json": "all scores"},
    details={
        "retrieval": {"name": "demo", "counts": {"queries": 4321}, "missing": {}},
        "sentences": {"missing": {"sst2": "no folder SST"}, "counts": {}},
    },
    series={"mlm": Series("MLM loss", "nats")},
)
VALUES = {"guided": [0.61, 0.63], "bare": [0.41, 0.42], HOSTILE: [0.5]}
RECORDS = [
    record
    for system, values in (("some", VALUES), ("other", {"guided": [0.99]}))
    for variant, of_seed in values.items()
    for record in measured(variant, of_seed, "answer_selection", "wikiqa", "grouped", "map", system=system)
]
HISTORIES = [
    History("finetune", "guided", seed, pd.DataFrame({"step": [1, 2, 3], "dev/map": [0.5, 0.6 + seed / 100, 0.6]}))
    for seed in (0, 1)
]
PUBLISHED = ScoreTable(
    title="Table 1: answers",
    columns=(ScoreColumn("answer_selection", "grouped", "map", key="map"),),
    source="A paper",
    data="wikiqa",
    rows=(
        ScoreRow("Guided", {"map": Score(88.5, 1.5, True)}, "guided"),
        ScoreRow("Bare", {"map": Score(39.4, 1.6)}, "bare"),
    ),
    labels={"guided": "Guided", "bare": "Bare"},
)


def page(records: Sequence[Record], context: ReportContext) -> Page:
    gains = compare(records, PUBLISHED, "wikiqa", [("guided", "bare")], "map")
    return Page([gain.describe() for gain in gains], sections(results_tables(records, PUBLISHED)))


def test_page_is_self_contained_with_one_script() -> None:
    report = render_report(RECORDS, HISTORIES, CONTEXT, page)
    html = Html(report.html)
    assert report.html.count("<script") == 1 and "// A click on a column's name sorts" in report.html
    assert not {"src", "href"} & {
        key for _, attrs in html.tags for key, value in attrs.items() if not str(value).startswith("data:")
    }
    assert "url(" not in report.html and "@import" not in report.html
    assert html.text.count(HOSTILE) == 2  # as text: the variant and the description
    (image,) = [attrs for tag, attrs in html.tags if tag == "img"]
    assert b64decode(image["src"].split(",")[1]) == report.figures["finetune_dev_map.png"]


def numbers(mean: float, low: float, high: float) -> dict[str, list[float]]:
    return {"recall_at_1": [mean, low, high], "mrr": [mean, low, high]}


def block(**over_chance: dict[str, list[float]]) -> dict[str, Any]:
    """Return intervals of a protocol."""
    means = {"means": numbers(0.5, 0.4, 0.6), "over_bm25": numbers(-0.25, -0.3, -0.2)}
    bm25 = {"means": numbers(0.75, 0.7, 0.8), "over_chance": numbers(0.7, 0.6, 0.8)}
    variants = {name: bm25 if name == "bm25" else means | {"over_chance": over} for name, over in over_chance.items()}
    return {"questions": 1200, "chance": {"recall_at_1": 0.02, "mrr": 0.09}, "variants": variants}


DETAILS = {
    "ranking": {
        "counts": {"demo": {"texts": 3}},
        "notes": ["demo: split", "a has no layers"],
        "scores": {"frozen": {"a": "cosine", "b": "attention"}, "finetuned": {"b": "attention"}},
        "confidence": {
            "hotpotqa": {
                "frozen": block(bm25={}, b={"recall_at_1": [0.01, -0.01, 0.03], "mrr": [0.2, 0.1, 0.3]}),
                "by_dot": block(b=numbers(-0.01, -0.02, -0.001)),
                "finetuned": block(b=numbers(0.0, -0.1, 0.1)),
            }
        },
    },
    "beir": {
        "intervals": {
            "scifact": {
                "bm25": {"ndcg_at_10": [0.5, 0.4567, 0.55]},
                "bare": {"ndcg_at_10": [0.25, 0.2, 0.3], "over_bm25": [-0.25, -0.3, -0.2]},
                "guided": {"ndcg_at_10": [0.625, 0.5, 0.7], "over_bm25": [0.125, -0.01, 0.2]},
            }
        }
    },
    "retrieval": {
        "examples": [
            {
                "variant": "b",
                "protocol": "80%",
                "data": "squad",
                "answered": [{"question": "What?", "predicted": HOSTILE, "right": HOSTILE}],
                "missed": [{"question": "Who?", "predicted": "A", "right": "B"}],
            }
        ]
    },
}


@pytest.mark.parametrize(
    ("name", "context"),
    [
        ("report", CONTEXT),
        ("report-details", replace(CONTEXT, details=DETAILS, labels={"b": "Ours", "guided": "Guided"})),
    ],
)
def test_page(name: str, context: ReportContext) -> None:
    """Render all parts, without records of other systems."""
    check_page(name, RECORDS, context, page, html=name == "report-details", histories=HISTORIES)


def test_empty_parts_are_left_out() -> None:
    report = render_report(RECORDS, [], ReportContext("some", "Some", "Not comparable."), page)
    assert report.figures == {}
    for heading in ("Learning curves", "<dl>", "## Files", "<h2>Files", "Not measured", "cards"):
        assert heading not in report.markdown
        assert heading not in report.html.split("<body>")[1]
    assert "62.0 ±12.7" in report.html
    assert "88.5 (1.5)†" in render_report([], [], CONTEXT, page).html


def test_cards_come_first_with_bars_and_shades() -> None:
    def made(records: Sequence[Record], context: ReportContext) -> Page:
        card = Card(
            "Search", "Find it.", f"BM25 {HOSTILE}", ["Take BM25.", "Or not."], "R@10", [Bar("BM25", 52.04, True)]
        )
        pictures = [f"picture_{n}" for n in (1, 2)]
        table = Table("Shaded", (Column("What"),), (("a",),), shades={(0, 0): 0.5}, notes={0: "explained"})
        figures = {name: Figure(figsize=(1, 1)) for name in pictures}
        parts = sections([Section("Pictures", figures=pictures), table])
        return Page(["Found."], parts, figures, cards=[card])

    report = render_report(RECORDS, [], CONTEXT, made)
    text = Html(report.html).text
    assert text.index("Take BM25.") < text.index("Found.") < text.index(CONTEXT.note)
    assert f"BM25 {HOSTILE}" in text
    assert 'style="width:52.0%"' in report.html
    assert '<td class=" " style="--shade:0.50">a<small>explained</small></td>' in report.html
    assert len([tag for tag, _ in Html(report.html).tags if tag == "img"]) == 2
    assert "- **Search**: Take BM25. Or not." in report.markdown.splitlines()
    assert report.markdown.index("![picture_1.png]") < report.markdown.index("![picture_2.png]")


def test_invalid_records() -> None:
    with pytest.raises(ValueError, match="metrics record 0"):
        render_report([{"system": "some"}], [], CONTEXT, page)


def test_reporting_imports_no_heavy_library() -> None:
    code = """
import sys
import contexture.reporting.report, contexture.systems.league.page, contexture.reporting.default_page
print(sorted({"torch", "faiss", "kedro", "mlflow", "pyspark"} & sys.modules.keys()))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"

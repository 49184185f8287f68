import subprocess
import sys
from base64 import b64decode

import pandas as pd
import pytest

from contexture.reporting.curves import History
from contexture.reporting.records import Record
from contexture.reporting.report import ReportContext, render_report
from tests.reporting.pages import Page

HOSTILE = "<script>alert(1)</script>"
CONTEXT = ReportContext(
    system="mspp",
    title="MSPP on a made-up world",
    note="Trained from scratch at a small size: not comparable with the paper.",
    run={"Seeds": "0, 1", "Text": HOSTILE},
    counts={"Corpus": {"pages_in": 1306, "dropped": {"redirect": 99}}},
    files={"data/08_reporting/mspp/metrics.json": "every number of the tables"},
)
VALUES = {"mspp_ie": [0.61, 0.63], "joint_ie": [0.41, 0.42], HOSTILE: [0.5]}
RECORDS = [
    Record(system=system, variant=variant, task="wikiqa", split="test", metric="map", value=value, seed=seed)
    for system, values in (("mspp", VALUES), ("other", {"mspp_ae": [0.99]}))
    for variant, by_seed in values.items()
    for seed, value in enumerate(by_seed)
]
HISTORIES = [
    History("finetune", "mspp_ie", seed, pd.DataFrame({"step": [1, 2], "dev/map": [0.5, 0.6 + seed / 100]}))
    for seed in (0, 1)
]


def test_the_page_needs_nothing_else_and_runs_nothing() -> None:
    report = render_report(RECORDS, HISTORIES, CONTEXT)
    page = Page(report.html)
    assert "script" not in {tag for tag, _ in page.tags}
    assert not {"src", "href"} & {
        key for _, attrs in page.tags for key, value in attrs.items() if not str(value).startswith("data:")
    }
    assert "url(" not in report.html and "@import" not in report.html
    assert page.text.count(HOSTILE) == 2  # as text: the variant and the description
    (image,) = [attrs for tag, attrs in page.tags if tag == "img"]
    assert b64decode(image["src"].split(",")[1]) == report.figures["finetune_dev_map.png"]


def test_both_forms_say_the_same() -> None:
    report = render_report(RECORDS, HISTORIES, CONTEXT)
    text = Page(report.html).text
    for shown in (
        CONTEXT.title,
        CONTEXT.note,
        "Table 1: answer selection, all candidates",
        "Table 2: re-ranking the pairwise model's best candidates",
        "62.0 (1.4)",
        "88.5 (1.5)†",
        "1,306",
        "dropped: redirect",
        "every number of the tables",
        "data/08_reporting/mspp/metrics.json",
    ):
        assert shown in text
        assert shown in report.markdown
    finding = next(line for line in report.markdown.splitlines() if line.startswith("- Joint"))
    assert finding == (
        "- Joint with MSPP, IE_k: +20.5 points of MAP over joint without MSPP, IE_k "
        "(t(1) = 41.00, p = 0.016: significant at 95%). The paper: +49.1."
    )
    assert finding.removeprefix("- ") in text
    assert "![finetune_dev_map.png](finetune_dev_map.png)" in report.markdown
    assert "99.0" not in report.html.split("<body>")[1].split("data:image")[0]  # another system's record


def test_records_alone_are_enough() -> None:
    report = render_report(RECORDS, [], ReportContext("mspp", "MSPP", "Not comparable."))
    assert report.figures == {}
    for heading in ("Learning curves", "<dl>", "Where the files are"):
        assert heading not in report.markdown
        assert heading not in report.html
    assert "62.0 (1.4)" in report.html
    empty = render_report([], [], ReportContext("mspp", "MSPP", "Nothing was run."))
    assert "82.7 (2.2)" in empty.html
    assert "Gains" not in empty.html


def test_bad_input() -> None:
    with pytest.raises(ValueError, match="no published tables for system 'msp', only for"):
        render_report([], [], ReportContext("msp", "", ""))
    with pytest.raises(ValueError, match="metrics record 0"):
        render_report([{"system": "mspp"}], [], CONTEXT)


def test_reporting_stays_apart_from_training_and_pipelines() -> None:
    code = """
import sys
import contexture.reporting.report
print(sorted({"torch", "kedro", "mlflow", "pyspark"} & sys.modules.keys()))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"

import pytest

from contexture.reporting.page import ReportContext
from contexture.reporting.records import Record
from contexture.reporting.report import Report, render_report
from contexture.systems.cmlm.page import NOTE, TITLE, page
from tests.reporting.make import TRAINING
from tests.reporting.make import measured as measure
from tests.reporting.pages import Page

CONTEXT = ReportContext(
    system="cmlm",
    title=TITLE,
    note=NOTE,
    facts={"sentences": {"chosen": [{"variant": "cmlm", "task": "mr", "protocol": "senteval", "c": [1.0]}]}},
    trainings={"cmlm": TRAINING},
)


def measured(
    variant: str, values: list[float], task: str = "mr", protocol: str = "senteval", metric: str = "accuracy"
) -> list[Record]:
    return measure(variant, values, task, "senteval", protocol, metric, system="cmlm")


def rendered(records: list[Record], context: ReportContext = CONTEXT) -> Report:
    return render_report(records, [], context, page)


RECORDS = [
    *measured("cmlm", [0.70, 0.72, 0.74]),
    *measured("cmlm", [0.80, 0.80, 0.80], task="trec"),
    *measured("mlm", [0.60, 0.62, 0.61]),
    *measured("mlm", [0.80, 0.80, 0.80], task="trec"),
    *measured("random", [0.50, 0.50, 0.50]),
    *measured("cmlm", [0.5], task="sts14", protocol="cosine", metric="spearman_mean"),
    *measured("random", [0.4], task="sts14", protocol="cosine", metric="spearman_mean"),
    *measured("cmlm", [0.45], task="sts14", protocol="cosine", metric="spearman_pooled"),
    *measured("cmlm", [0.333], task="sst5"),
]


def test_findings_are_gains_in_the_means() -> None:
    findings = rendered(RECORDS).page.findings
    # 70 − 60, 72 − 62, 74 − 61 over two tasks, the other alike: 5, 5 and 6.5.
    assert any("mean of 2" in one and "+5.5" in one and "MLM" in one for one in findings)
    assert any("similarity tasks" in one and "+10.0" in one and "untrained" in one for one in findings)


def test_tables_of_the_paper_with_ours_and_ablations_only_where_there_are_some() -> None:
    titles = [section.title for section in rendered(RECORDS).page.sections]
    assert [title for title in titles if title.startswith("Table")] == [
        "Table 1: transfer to SentEval's tasks", "Table 2: similarity by cosine, Spearman",
    ]  # fmt: skip
    more = rendered([*RECORDS, *measured("cmlm_n1", [0.6]), *measured("cmlm_mask40", [0.6])]).page
    tables = {section.title: section.table for section in more.sections if section.table is not None}
    assert {title.split(":")[0] for title in tables if title.startswith("Table")} == {
        "Table 1", "Table 2", "Table 7", "Table 10",
    }  # fmt: skip
    ablation = tables["Table 7: projections and where they stand"]
    ours = [row[0] for row in ablation.rows if row[1].startswith("ours")]
    assert ours == ["CMLM, N = 1", "CMLM, N = 15"]


def test_the_page_closes_what_it_opens_and_shows_what_the_paper_lacks() -> None:
    made = rendered(RECORDS)
    text = " ".join(Page(made.html).text)
    assert all(word in text for word in ("SST-5", "pooled", "Chosen C"))


@pytest.mark.parametrize("records", [[], measured("other", [0.5])])
def test_a_page_without_our_variants_has_the_papers_rows(records: list[Record]) -> None:
    made = rendered(records)
    assert made.page.findings == []
    assert "CMLM large" in made.markdown

"""The report of MSPP: tables, compared with `mspp.md`, and the summary."""

from dataclasses import replace

import pytest

from contexture.reporting.page import ReportContext
from contexture.reporting.records import Record
from contexture.reporting.report import render_report
from contexture.reporting.tables import to_markdown
from contexture.systems.mspp.fact_verification import build_tables, compare_variants, describe_results
from contexture.systems.mspp.page import NOTE, TITLE, page
from tests.reporting.golden import check_golden
from tests.reporting.make import TRAINING, measured
from tests.reporting.pages import Page

CONTEXT = ReportContext("mspp", TITLE, NOTE, trainings={"mspp": TRAINING})


def answers(data: str, protocol: str, metric: str = "map", **values: list[float]) -> list[Record]:
    """Return records; `mspp_ie=[0.5]` are the values of a variant, one per seed."""
    return [
        record
        for variant, scores in values.items()
        for record in measured(variant, scores, "answer_selection", data, protocol, metric, system="mspp")
    ]


def claims(*splits: str, data: str = "demo", **values: float) -> list[Record]:
    """Return records; `mspp_ie__ie_1=0.5` is a variant's value by a protocol, one seed."""
    return [
        record
        for split in splits
        for name, value in values.items()
        for variant, protocol in [name.split("__")]
        for record in measured(variant, [value], "fact_verification", data, protocol, split=split, system="mspp")
    ]


RECORDS = [
    *answers("demo", "grouped", mspp_ie=[0.61, 0.63], joint_ie=[0.41, 0.42], own=[0.5]),
    *answers("demo", "frozen", mspp_ie=[0.35]),
    *measured("mspp_ie", [0.125], "retrieval", "squad", "frozen", "recall_at_10", system="mspp"),
]
BASELINES = {"pairwise__max_pool": 0.4, "pairwise__weighted_sum": 0.45, "word_overlap__frozen": 0.54}
LATENCY = [
    {"head": head, "seconds": seconds, "rounds": 3, "passes": 50, "tokens": 1200, "parameters": 900, "device": "cpu"}
    for head, seconds in (("ae_k", 3.0), ("ie_1", 2.0), ("ie_k", 2.5))
]
CANDIDATES = [
    {"candidate": "It is old.", "right": False, "chosen": False},
    {"candidate": "By mules.", "right": True, "chosen": True},
]
FACTS = {
    "counts": {"trecqa": {f"{split}_{unit}": 7 for split in ("train", "dev", "test") for unit in
                          ("questions", "candidates")}},
    "latency": {"wikiqa": LATENCY},
    "rescued": {"wikiqa": {"variant": "mspp_ie", "count": 4, "lost": 1,
                           "questions": [{"question": "how?", "candidates": CANDIDATES}]}},
}  # fmt: skip


def markdown(records: list[Record], context: ReportContext = CONTEXT) -> str:
    return render_report(records, [], context, page).markdown


def test_tables() -> None:
    """For sets with and without published numbers, and claims of both splits."""
    records = [
        *RECORDS,
        *answers("demo", "reranked", mspp_ie=[0.7], joint_ie=[0.6]),
        *answers("asnq", "grouped", mspp_ie=[0.61]),
        *answers("wikiqa", "grouped_after_asnq", mspp_ie=[0.7]),
        *claims("dev", "test", mspp_ie__ie_1=0.555, joint_ie__ie_1=0.5, joint_ie__claim_only=0.35, **BASELINES),
    ]
    result = page(records, replace(CONTEXT, details={"answer_selection": FACTS}))
    text = "".join(f"# {section.title}\n{to_markdown(section.table)}\n" for section in result.sections if section.table)
    check_golden("mspp.md", text)


def test_html_and_markdown_agree() -> None:
    report = render_report(RECORDS, [], CONTEXT, page)
    text = Page(report.html).text
    for text_part in ("Gains over baselines", "Passage retrieval (SQuAD)", "62.0 ±12.7", "88.5 (1.5)†", "57,700,000"):
        assert text_part in text and text_part in report.markdown
    finding = next(line for line in report.markdown.splitlines() if line.startswith("- Joint"))
    assert finding == (
        "- Joint with MSPP, IE_k scores 20.5 MAP points more than joint without MSPP, IE_k "
        "(t(1) = 41.00, p = 0.016: significant at 95%). Paper: +49.1 points."
    )


def test_captions() -> None:
    better = markdown([*RECORDS, *answers("demo", "frozen", joint_ie=[0.57, 0.58])])
    assert "by MAP: Joint without MSPP, IE_k (frozen 57.5, fine-tuned 41.5). Frozen encoders compare" in better
    assert "Better frozen" not in markdown(RECORDS)
    text = markdown(RECORDS, replace(CONTEXT, details={"answer_selection": FACTS}))
    assert "it answers 4 test questions that the pairwise model misses, and misses 1 that" in text
    assert "Median of 3 rounds on this machine's CPU, models in turns." in text
    assert "TREC-QA: the paper counts training questions" in text


def test_missing_rows_are_listed_with_their_command() -> None:
    text = markdown(RECORDS, replace(CONTEXT, full_command="kedro run"))
    command = "To run those in the configuration: kedro run."
    rows = "Pairwise cross-encoder; Joint without MSPP, AE_k; Joint with MSPP, AE_k"
    first, second = (line for line in text.splitlines() if "Not run" in line)
    assert first.endswith(f"Not run: {rows}. {command}")
    assert second.endswith(f"Not run: all rows. {command}")
    assert command not in markdown(RECORDS)


def test_without_records_the_paper_is_shown() -> None:
    html = render_report([], [], ReportContext("mspp", TITLE, "Nothing was run."), page).html
    assert "82.7 (2.2)" in html
    assert not any(absent in html for absent in ("Gains", "without fine-tuning", "Training: size"))
    assert [table.title for table in build_tables([], "")] == [
        f"Table 3: fact verification, {split} claims" for split in ("dev", "test")
    ]


def test_only_the_columns_of_measured_sets_are_shown() -> None:
    text = markdown(answers("asnq", "grouped", mspp_ie=[0.61]))
    assert "67.2 (0.2)" in text and "88.5" not in text and "91.1" not in text
    [dev] = build_tables(claims("dev", mspp_ie__ie_1=0.5, data="fever"), "")
    assert dev.title == "Table 3: fact verification, dev claims"


BEST = "Joint with MSPP, IE_k classifies"
GAIN = "Joint with MSPP, IE_k scores"
UNTESTED = "than joint without MSPP (claims, IE_1; 1 seed: preliminary). Paper:"


@pytest.mark.parametrize(
    ("records", "sentences"),
    [
        (
            claims("dev", "test", mspp_ie__ie_1=0.55, mspp_ie__ae_1=0.36, joint_ie__ie_1=0.435, **BASELINES),
            [
                f"{BEST} 55.0% of the test claims correctly: more than joint without MSPP (43.5%), pairwise "
                "cross-encoder (45.0%) and word overlap (54.0%).",
                f"{GAIN} 11.5 accuracy points more {UNTESTED} +0.8 points.",
            ],
        ),
        (
            claims("dev", mspp_ie__ie_1=0.42, joint_ie__ie_1=0.43, **BASELINES),
            [
                f"{BEST} 42.0% of the dev claims correctly: not more than joint without MSPP (43.0%), pairwise "
                "cross-encoder (45.0%) and word overlap (54.0%).",
                f"{GAIN} 1.0 accuracy points less {UNTESTED} +2.0 points.",
            ],
        ),
        (
            claims("test", mspp_ae__ae_1=0.5, joint_ie__ie_1=0.43, **BASELINES),
            [
                f"{BEST.replace('IE_k', 'AE_k')} 50.0% of the test claims correctly: more than joint without MSPP "
                "(43.0%) and pairwise cross-encoder (45.0%), but not more than word overlap (54.0%).",
            ],
        ),
        (claims("test", **BASELINES), []),
        (claims("test", mspp_ie__ie_1=0.5), []),
    ],
)
def test_descriptions_of_claims(records: list[Record], sentences: list[str]) -> None:
    assert describe_results(records) == sentences


def test_mspp_is_tested_against_the_pairwise_model() -> None:
    """As in the paper. The pairwise model has no re-ranked scores."""
    records = [
        *answers("wikiqa", "grouped", mspp_ie=[0.61, 0.63], joint_ie=[0.41, 0.42], pairwise=[0.60, 0.61]),
        *answers("wikiqa", "reranked", mspp_ie=[0.64, 0.66], joint_ie=[0.50, 0.52]),
    ]
    gains = next(s.table for s in page(records, CONTEXT).sections if s.title == "Gains over baselines")
    assert gains is not None
    assert [row[1:6] for row in gains.rows] == [
        ("Pairwise cross-encoder", "WikiQA", "2", "MAP +1.5 ±6.4", "+3.2"),
        ("Joint without MSPP, IE_k", "WikiQA", "2", "MAP +20.5 ±6.4", "+49.1"),
        ("Pairwise cross-encoder", "WikiQA, re-ranked", "2", "MAP +4.5 ±6.4", "+3.2"),
        ("Joint without MSPP, IE_k", "WikiQA, re-ranked", "2", "MAP +14.0 ±0.0", "+39.2"),
    ]
    assert gains.rows[0][6] == "t(1) = 3.00, p = 0.2: not significant at 95%"
    first = page(records, CONTEXT).findings[0]
    assert first.startswith("Joint with MSPP, IE_k scores 1.5 MAP points more than pairwise cross-encoder (t(1) = 3.00")


def test_mspp_is_compared_with_both_pairwise_models_of_claims() -> None:
    known = claims("dev", mspp_ie__ie_1=0.55, joint_ie__ie_1=0.5, data="fever", **BASELINES)
    gains = compare_variants(known)
    assert [(gain.baseline, round(gain.differences[0], 6)) for gain in gains] == [
        ("Pairwise cross-encoder", 15.0),
        ("Pairwise cross-encoder", 10.0),
        ("Joint without MSPP", 5.0),
    ]
    assert [round(gain.published or 0, 2) for gain in gains] == [1.39, 1.2, 1.96]  # 81.21 − 79.82, 80.01 and 79.25
    assert gains[0].setting == "FEVER, joint, IE_1 against pairs, max-pooling, dev split"


def test_variants_are_compared_per_head() -> None:
    known = claims("test", mspp_ie__ie_1=0.55, joint_ie__ie_1=0.5, mspp_ie__ae_1=0.4, joint_ie__ae_1=0.43)
    first, second = compare_variants(known)
    assert (first.differences, second.differences) == ((5.000000000000007,), (-3.0,))
    assert first.published is not None and round(first.published, 2) == 0.83  # 74.39 − 73.56
    assert second.published is None
    assert first.setting == "the demo's made-up world, joint, IE_1" and "joint, AE_1" in second.setting
    assert compare_variants(claims("dev", mspp_ie__ie_1=0.5, joint_ie__ie_1=0.4))[0].setting.endswith(
        "joint, IE_1, dev split"
    )

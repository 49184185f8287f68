"""Claims on the page of MSPP: the paper's numbers, and what ours say either way."""

import re
from pathlib import Path

from contexture.reporting.page import ReportContext
from contexture.reporting.records import Record
from contexture.reporting.report import render_report
from contexture.systems.mspp.fact_verification import TABLES, findings, gains, tables
from contexture.systems.mspp.page import NOTE, TITLE, page
from tests.reporting.make import measured


def records(*split: str, data: str = "demo", **values: float) -> list[Record]:
    """`mspp_ie__ie_1=0.5`: one seed of a variant, by a protocol."""
    return [
        record
        for of in split
        for name, value in values.items()
        for variant, protocol in [name.split("__")]
        for record in measured(variant, [value], "fact_verification", data, protocol, split=of, system="mspp")
    ]


BESIDE = {"pairwise__max_pool": 0.4, "pairwise__weighted_sum": 0.45, "word_overlap__frozen": 0.54}


def test_published_numbers_are_those_of_the_paper(shared_data: Path) -> None:
    """Re-read from the text of the paper: tables 3 and 8."""
    text = (shared_data.parent / "papers" / "mspp-joint-transformers-2022.txt").read_text(encoding="utf-8")
    found: dict[str, set[tuple[str, ...]]] = {}
    for line in text.splitlines():
        cells = [re.sub(r"</?u>|\(0\.\d\d\)| ", "", cell) for cell in line.strip("|").split("|")[:3]]
        if len(cells) == 3 and all(re.fullmatch(r"\d\d\.\d\d|-", cell) for cell in cells[1:]):
            found.setdefault(cells[0].replace("_", "").replace("₁", "1"), set()).add(tuple(cells[1:]))
    names = {
        "(Ours)JointPreIEk+FTIE1": ("mspp_ie", "ie_1"), "(Ours)JointPreIEk+FTAE1": ("mspp_ie", "ae_1"),
        "(Ours)JointPreAEk+FTIE1": ("mspp_ae", "ie_1"), "(Ours)JointPreAEk+FTAE1": ("mspp_ae", "ae_1"),
        "PairwiseRoBERTa-Base+MaxPool": ("pairwise", "max_pool"),
        "PairwiseRoBERTa-Base+WgtSum": ("pairwise", "weighted_sum"),
        "JointRoBERTa-Base+FTIE1": ("joint_ie", "ie_1"),
        "GEAR": ("GEAR", "published"), "KGATwithRoBERTa-Base": ("KGAT with RoBERTa-Base", "published"),
        "Transformer-XH": ("Transformer-XH", "published"), "PairwiseBERT-Base": ("Pairwise BERT-Base", "published"),
        "JointBERT-Base": ("Joint BERT-Base", "published"),
        "DOMLIN++": ("DOMLIN++ (further retrieval and data)", "published"),
        "DREAM": ("DREAM (XLNet)", "published"),
    }  # fmt: skip
    ours = {
        split: {(row.variant or row.label, row.protocol): row.scores.get("accuracy") for row in TABLES[split].rows}
        for split in ("dev", "test")
    }
    assert set(names) <= set(found) and set(names.values()) == set(ours["dev"])
    for name, key in names.items():
        shown = tuple(f"{one.value:.2f}" if (one := ours[split][key]) else "-" for split in ("dev", "test"))
        assert found[name] == {shown}, name
    deviations = re.findall(r"<u>(8\d\.\d\d)</u> \((0\.\d\d)\)", text)[:4]
    significant = [one for one in ours["dev"].values() if one and one.significant]
    assert sorted(deviations) == sorted((f"{one.value:.2f}", f"{one.std:.2f}") for one in significant)


def test_either_finding_is_told_by_the_records() -> None:
    better = records("dev", "test", mspp_ie__ie_1=0.55, mspp_ie__ae_1=0.36, joint_ie__ie_1=0.435, **BESIDE)
    assert findings(better) == [
        "Fact verification: joint with MSPP, IE_k judges 55.0 % of the test claims rightly, above joint without MSPP "
        "(43.5), pairwise cross-encoder (45.0), words in common (54.0).",
        "With IE_1, joint with MSPP, IE_k: +11.5 points of accuracy over joint without MSPP (no test with one seed). "
        "The paper: +0.8.",
    ]
    worse = records("dev", mspp_ie__ie_1=0.42, joint_ie__ie_1=0.43, **BESIDE)
    assert findings(worse) == [
        "Fact verification: joint with MSPP, IE_k judges 42.0 % of the dev claims rightly, not above joint without "
        "MSPP (43.0), pairwise cross-encoder (45.0), words in common (54.0).",
        "With IE_1, joint with MSPP, IE_k: -1.0 points of accuracy over joint without MSPP (no test with one seed). "
        "The paper: +2.0.",
    ]
    mixed = records("test", mspp_ae__ae_1=0.5, joint_ie__ie_1=0.43, **BESIDE)
    assert "above joint without MSPP (43.0), pairwise cross-encoder (45.0) and not above words" in findings(mixed)[0]
    assert findings(records("test", **BESIDE)) == findings(records("test", mspp_ie__ie_1=0.5)) == []


def test_gains_are_those_of_one_head_beside_the_papers() -> None:
    known = records("test", mspp_ie__ie_1=0.55, joint_ie__ie_1=0.5, mspp_ie__ae_1=0.4, joint_ie__ae_1=0.43)
    one, other = gains(known)
    assert (one.differences, other.differences) == ((5.000000000000007,), (-3.0,))
    assert one.published is not None and round(one.published, 2) == 0.83 and other.published is None  # 74.39 − 73.56
    assert one.setting == "the demo's made-up world, ie_1" and "ae_1" in other.setting
    assert gains(records("dev", mspp_ie__ie_1=0.5, joint_ie__ie_1=0.4))[0].setting.endswith("ie_1, dev")


def test_the_page_has_both_splits_with_the_papers_rows() -> None:
    known = records("dev", "test", mspp_ie__ie_1=0.555, joint_ie__claim_only=0.35, majority__frozen=0.3333, **BESIDE)
    report = render_report(known, [], ReportContext("mspp", TITLE, NOTE), page).markdown
    assert "Table 3: fact verification, dev claims (ours: the demo's made-up world)" in report
    assert "on the dev split" in report and "81.21 (0.24)†" in report and "74.39" in report and "55.5" in report
    assert "| **Frozen: a probe on the claim's vector alone** |" in report
    assert "- Fact verification: joint with MSPP, IE_k judges 55.5 % of the test claims rightly, above" in report
    [dev] = tables(records("dev", mspp_ie__ie_1=0.5, data="fever"), "")
    assert dev.title == "Table 3: fact verification, dev claims"
    assert [table.title for table in tables([], "")] == [
        f"Table 3: fact verification, {split} claims" for split in ("dev", "test")
    ]

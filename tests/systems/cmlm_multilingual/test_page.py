"""The page of many languages, of records and facts made by hand."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from contexture.reporting.page import ReportContext
from contexture.reporting.records import Record
from contexture.reporting.report import Report, render_report
from contexture.reporting.tables import Table
from contexture.systems.cmlm_multilingual.page import NOTE, TITLE, page
from tests.reporting.make import TRAINING
from tests.reporting.make import measured as measure
from tests.reporting.pages import Page

CONTEXT = ReportContext(system="cmlm_multilingual", title=TITLE, note=NOTE, trainings={"cmlm": TRAINING})
CLAIMS = "The paper's claims"
#: The paper's best.
BEST = "cmlm_then_cmlm_br"
TABLE_3 = "Table 3: sentence tasks in each language, trained on text"
TABLE_4 = "Table 4: sentence tasks in each language, trained on translations, too"
RETRIEVAL = "Bitext retrieval: the demo's made-up world, who asks and in what is searched"


def measured(variant: str, values: Sequence[float], task: str, data: str, protocol: str, metric: str) -> list[Record]:
    return measure(variant, values, task, data, protocol, metric, system="cmlm_multilingual")


def sentences(variant: str, english: Sequence[float], other: Sequence[float], task: str = "mr") -> list[Record]:
    return [
        *measured(variant, english, task, "demo", "senteval", "accuracy"),
        *measured(variant, other, task, "demo_qaa", "senteval", "accuracy"),
    ]


def retrieval(variant: str, *values: float, data: str = "demo", protocol: str = "frozen") -> list[Record]:
    """Who asks in qaa, and who asks in English, of one seed."""
    return [
        record
        for direction, value in zip(("qaa-eng", "eng-qaa"), values, strict=True)
        for record in measured(variant, [value], "bitext_retrieval", f"{data}/{direction}", protocol, "accuracy")
    ]


XEVAL = [
    # English 75, 76 and 77, the other language 65: 70, 70.5 and 71.
    *sentences("cmlm", [0.70, 0.72, 0.74], [0.60, 0.60, 0.60]),
    *sentences("cmlm", [0.80, 0.80, 0.80], [0.70, 0.70, 0.70], "trec"),
    *sentences("mlm", [0.50, 0.50, 0.50], [0.50, 0.50, 0.50]),
    *sentences("mlm", [0.70, 0.70, 0.70], [0.70, 0.70, 0.70], "trec"),
    # 70, 71 and 70.5.
    *sentences(BEST, [0.70, 0.74, 0.72], [0.60, 0.60, 0.60]),
    *sentences(BEST, [0.80, 0.80, 0.80], [0.70, 0.70, 0.70], "trec"),
    # 75, 76 and 75.5.
    *sentences("cmlm_br_from_start", [0.80, 0.84, 0.82], [0.70, 0.70, 0.70]),
    *sentences("cmlm_br_from_start", [0.80, 0.80, 0.80], [0.70, 0.70, 0.70], "trec"),
    # A task that one language has not, and what is no accuracy, take no part.
    *measured("cmlm", [0.1, 0.1, 0.1], "subj", "demo", "senteval", "accuracy"),
    *measured("cmlm", [0.1], "mrpc", "demo", "senteval", "f1"),
]
BITEXT = [
    *retrieval("mlm", 0.10, 0.20),
    *retrieval("mlm", 0.10, 0.20, protocol="pcr"),
    *retrieval("cmlm", 0.20, 0.40),
    *retrieval(BEST, 0.50, 0.70),
    *retrieval(BEST, 0.55, 0.75, protocol="pcr"),
    *retrieval(f"{BEST}_nli", 0.40, 0.60),
]


def rendered(records: list[Record], context: ReportContext = CONTEXT) -> Report:
    return render_report(records, [], context, page)


def tables(records: list[Record], context: ReportContext = CONTEXT) -> dict[str, Table]:
    return {one.title: one.table for one in rendered(records, context).page.sections if one.table is not None}


def ours(table: Table) -> dict[str, tuple[str, ...]]:
    return {row[0]: row[2:] for row in table.rows if row[1] != "paper"}


def papers(table: Table) -> dict[str, tuple[str, ...]]:
    return {row[0]: row[2:] for row in table.rows if row[1] == "paper"}


def answers(records: list[Record]) -> dict[tuple[str, str], tuple[str, str, str]]:
    """Claim and what it was asked on → seeds, points, answer."""
    return {(row[0], row[2]): (row[3], row[4], row[5]) for row in tables(records)[CLAIMS].rows}


def test_claims_are_answered_from_the_seeds() -> None:
    found, on = answers(XEVAL), "sentence tasks, mean of 2"
    # 10, 10.5 and 11: ± 4.303 · 0.5 / √3.
    assert found["CMLM is better than MLM", on] == ("3", "+10.5 ± 1.2", "yes")
    assert found["Translations help CMLM", on] == ("3", "+0.0 ± 1.2", "open")
    assert found["CMLM first is better than both from the start", on] == ("3", "-5.0 ± 0.0", "no")
    assert len(found) == 3  # what was not measured is not asked


def test_of_one_seed_it_is_said() -> None:
    on = "retrieval, the demo's made-up world, mean of 2"
    assert answers(BITEXT) == {
        ("CMLM is better than MLM", on): ("1", "+15.0", "yes, with one seed"),
        ("Translations help CMLM", on): ("1", "+30.0", "yes, with one seed"),
        ("NLI lowers retrieval", on): ("1", "-10.0", "yes, with one seed"),
        ("PCR helps where there were no translations", on): ("1", "+0.0", "no, with one seed"),
        ("PCR helps where there were some", on): ("1", "+5.0", "yes, with one seed"),
    }


def test_what_is_alike_is_neither_higher_nor_lower() -> None:
    alike = [*retrieval(BEST, 0.5, 0.7), *retrieval(f"{BEST}_nli", 0.5, 0.7)]
    assert [*answers(alike).values()] == [("1", "+0.0", "no, with one seed")]


def test_of_every_claim_an_answer_is_a_finding() -> None:
    records = [*BITEXT, *XEVAL, *sentences(f"{BEST}_nli", [0.9] * 3, [0.9] * 3)]
    records += sentences(f"{BEST}_nli", [0.9] * 3, [0.9] * 3, "trec")
    findings = rendered(records).page.findings
    asked = [said for said, _ in answers(records)]
    assert len(set(asked)) < len(asked)
    assert [one.partition(":")[0] for one in findings] == [*dict.fromkeys(asked)]
    assert "CMLM is better than MLM: yes (sentence tasks, mean of 2: +10.5 ± 1.2 points)." in findings
    assert any(one.startswith("NLI helps classification: yes") for one in findings)


def test_pairs_are_asked_set_by_set_and_frozen_alone() -> None:
    records = []
    for data, protocol, values in (
        ("xnli_en", "frozen", (0.6, 0.5)),
        ("xnli_qaa", "frozen", (0.5, 0.5)),
        ("pawsx_en", "frozen", (0.5, 0.7)),
        ("demo_en", "finetuned", (0.9, 0.1)),
    ):
        for variant, value in zip(("cmlm", "mlm"), values, strict=True):
            records += measured(variant, [value], "pairs", data, protocol, "accuracy")
    claim = "CMLM is better than MLM"
    assert answers(records) == {
        (claim, "pairs, XNLI, mean of 2"): ("1", "+5.0", "yes, with one seed"),
        (claim, "pairs, PAWS-X, mean of 1"): ("1", "-20.0", "no, with one seed"),
    }


def test_means_of_each_language_stand_beside_the_papers() -> None:
    every = tables([*XEVAL, *sentences("br", [0.5], [0.6]), *sentences("br", [0.5], [0.6], "trec")])
    first, second = every[TABLE_3], every[TABLE_4]
    for table in (first, second):  # of the paper's languages that which ours have, and one that it has not
        assert [column.name for column in table.columns] == ["Model", "From", "en", "qaa", "Avg."]
    assert papers(first)["CMLM"] == ("85.0", "–", "81.2") and papers(second)["LASER"] == ("82.3", "–", "80.4")
    assert ours(first) == {
        "CMLM": ("76.0 (1.0)", "65.0 (0.0)", "70.5 (0.5)"), "MLM": ("60.0 (0.0)", "60.0 (0.0)", "60.0 (0.0)"),
    }  # fmt: skip
    assert ours(second) == {
        "BR": ("50.0", "60.0", "55.0"),
        "CMLM, then CMLM+BR": ("76.0 (1.0)", "65.0 (0.0)", "70.5 (0.5)"),
        "CMLM+BR from the start": ("81.0 (1.0)", "70.0 (0.0)", "75.5 (0.5)"),
    }
    assert "SentEval's protocol" in first.caption
    assert {"Sentence tasks (the demo's made-up world)", "Sentence tasks (demo_qaa)"} <= set(every)


def test_a_variant_without_a_language_has_no_mean() -> None:
    some = [r for r in XEVAL if (r["variant"], r["data"]) != ("mlm", "demo_qaa")]
    assert ours(tables(some)[TABLE_3])["MLM"] == ("60.0 (0.0)", "–", "–")


def test_languages_without_a_task_in_common_have_no_mean() -> None:
    apart = [
        *measured("cmlm", [0.7], "mr", "demo", "senteval", "accuracy"),
        *measured("cmlm", [0.7], "trec", "demo_qaa", "senteval", "accuracy"),
    ]
    found = tables(apart)
    assert not ours(found[TABLE_3]) and CLAIMS not in found


def test_one_language_has_no_table_of_languages() -> None:
    english = [r for r in XEVAL if r["data"] == "demo"]
    found = tables(english)
    assert CLAIMS not in found and not ours(found[TABLE_3])
    assert len(found[TABLE_3].columns) == 2 + 16


def test_pcr_is_a_variant_beside_the_plain_one() -> None:
    table = tables(BITEXT)[RETRIEVAL]
    assert [column.name for column in table.columns[2:]] == ["qaa-eng", "eng-qaa"]
    assert [row[0] for row in table.rows] == [
        "CMLM", "CMLM, then CMLM+BR", "CMLM, then CMLM+BR + PCR", "MLM", "MLM + PCR", "CMLM, then CMLM+BR, then NLI",
    ]  # fmt: skip
    assert ours(table)["CMLM, then CMLM+BR + PCR"] == ("55.0", "75.0")


def test_tatoeba_stands_beside_tables_5_and_8() -> None:
    """Compared are the languages that PCR could be fitted in; the mean of 36 is a column of Table 5 alone."""
    of = {"jpn-eng": 0.3, "fra-eng": 0.5, "eng-fra": 0.6, "36-eng": 0.45, "eng-36": 0.4}
    records = []
    for direction, value in of.items():
        records += measured(BEST, [value], "bitext_retrieval", f"tatoeba/{direction}", "frozen", "accuracy")
    for direction, value in (("fra-eng", 0.7), ("eng-fra", 0.8)):
        records += measured(BEST, [value], "bitext_retrieval", f"tatoeba/{direction}", "pcr", "accuracy")
    every = tables(records)
    own = every["Bitext retrieval: Tatoeba, who asks and in what is searched"]
    assert [column.name for column in own.columns[2:]] == ["fra-eng", "eng-fra"]
    assert answers(records) == {
        ("PCR helps where there were some", "retrieval, Tatoeba, mean of 2"): ("1", "+20.0", "yes, with one seed")
    }
    five = every["Table 5: Tatoeba, accuracy"]
    assert papers(five)["CMLM+BR"][11] == "96.1"
    (row,) = ours(five).values()
    shown = {column.name: cell for column, cell in zip(five.columns[2:], row, strict=True) if cell != "–"}
    assert shown == {"fr": "50.0", "ja": "30.0", "Mean": "45.0"}
    eight = every["Table 8: Tatoeba with and without the first component of each language (PCR)"]
    rows = {name: dict(zip((c.name for c in eight.columns[2:]), row, strict=True)) for name, row in ours(eight).items()}
    assert rows["CMLM, then CMLM+BR"]["fra"] == "50.0" and rows["CMLM, then CMLM+BR"]["jpn"] == "30.0"
    assert rows["CMLM, then CMLM+BR + PCR"]["fra"] == "70.0" and rows["CMLM, then CMLM+BR + PCR"]["jpn"] == "–"
    places = [row[0] for row in eight.rows]
    assert places.index("CMLM, then CMLM+BR") == places.index("ours") + 1
    assert places.index("CMLM, then CMLM+BR + PCR") == places.index("ours + PCR") + 1


def test_reviews_stand_beside_table_6() -> None:
    records = measured("cmlm", [0.8], "reviews", "amazon_en", "frozen", "accuracy")
    records += measured("cmlm", [0.7], "reviews", "amazon_de", "frozen", "accuracy")
    table = tables(records)["Table 6: Amazon reviews, learned from English ones"]
    assert ours(table) == {"CMLM": ("80.0", "–", "70.0", "–")}
    assert papers(table)["CMLM"] == ("88.4", "88.2", "87.5", "83.7")
    assert "Amazon" not in " ".join(title for title in tables(records) if not title.startswith("Table 6"))


LANGUAGES = ["en", "qaa"]
POINTS = {"x": [0.0, 1.0], "y": [0.0, 1.0], "lang": LANGUAGES}
BIAS = {
    "languages": {"demo": LANGUAGES},
    "expected": {"demo": 0.496},
    "neighbours": {
        "demo": {
            name: {"frozen": [[0.9, 0.1], [0.2, 0.8]], "pcr": [[0.5, 0.5], [0.5, 0.5]]} for name in ("mlm", "cmlm")
        }
    },
    "points": {"demo": {"mlm": {"frozen": POINTS, "pcr": POINTS}}},
    "missing": {"language bias of demo in qab": "the corpus has no text of them for PCR"},
}


def test_language_bias_is_drawn_of_those_that_shall_be() -> None:
    records = [
        *measured("mlm", [0.85], "language_bias", "demo", "frozen", "own_language"),
        *measured("mlm", [0.5], "language_bias", "demo", "pcr", "own_language"),
    ]
    found = rendered(records, replace(CONTEXT, facts={"language_bias": BIAS}))
    assert set(found.page.figures) == {"neighbours_demo", "vectors_demo"}
    for name, figure in found.page.figures.items():
        titles = [axes.get_title() for axes in figure.axes]
        assert titles == ["MLM\nas they are", "MLM\nless each language's first component"], name
        assert f"{name}.png" in found.figures and f"{name}.png" in found.markdown
    assert "50 of 100 are of the sentence's own" in found.markdown
    assert "the corpus has no text of them for PCR" in found.markdown
    table = next(one.table for one in found.page.sections if one.title.startswith("Language bias") and one.table)
    assert ours(table) == {"MLM": ("85.0",), "MLM + PCR": ("50.0",)}
    assert "Lower is better" in table.caption


@pytest.mark.parametrize("records", [[], measured("other", [0.5], "mr", "demo", "senteval", "accuracy")])
def test_a_page_without_our_variants_has_the_papers_rows(records: list[Record]) -> None:
    made = rendered(records, replace(CONTEXT, trainings={}))
    assert made.page.findings == [] and made.page.figures == {}
    titles = [section.title.split(":")[0] for section in made.page.sections]
    assert [title for title in titles if title.startswith("Table")] == [f"Table {n}" for n in (3, 4, 5, 8, 6, 7)]
    text = " ".join(Page(made.html).text)
    assert all(word in text for word in ("S3 + NLI", "f-mBERT", "LASER", "MTDE en-de", "mBERT + PCR"))

"""Pages of multilingual CMLM."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from contexture.reporting.page import ReportContext
from contexture.reporting.records import Record
from contexture.systems.cmlm_multilingual.page import NOTE, TITLE, page
from tests.reporting.golden import check_page
from tests.reporting.make import TRAINING
from tests.reporting.make import measured as measure

CONTEXT = ReportContext(system="cmlm_multilingual", title=TITLE, note=NOTE, trainings={"cmlm": TRAINING})
#: The paper's best.
BEST = "cmlm_then_cmlm_br"


def measured(variant: str, values: Sequence[float], task: str, data: str, protocol: str, metric: str) -> list[Record]:
    return measure(variant, values, task, data, protocol, metric, system="cmlm_multilingual")


def sentences(variant: str, english: Sequence[float], other: Sequence[float], task: str = "mr") -> list[Record]:
    return [
        *measured(variant, english, task, "demo", "senteval", "accuracy"),
        *measured(variant, other, task, "demo_qaa", "senteval", "accuracy"),
    ]


def retrieval(variant: str, *values: float, data: str = "demo", protocol: str = "frozen") -> list[Record]:
    """Return records of retrieval from qaa to English and back, with one seed."""
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
    # Ignored: a task of one language, and other metrics than accuracy.
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


PAIRS = [
    record
    for data, protocol, values in (
        ("xnli_en", "frozen", (0.6, 0.5)),
        ("xnli_qaa", "frozen", (0.5, 0.5)),
        ("pawsx_en", "frozen", (0.5, 0.7)),
        ("demo_en", "finetuned", (0.9, 0.1)),  # not in claims
    )
    for variant, value in zip(("cmlm", "mlm"), values, strict=True)
    for record in measured(variant, [value], "pairs", data, protocol, "accuracy")
]
#: Only languages with PCR are compared; the mean of 36 languages is only a column of Table 5.
TATOEBA = [
    record
    for protocol, by_direction in (
        ("frozen", {"jpn-eng": 0.3, "fra-eng": 0.5, "eng-fra": 0.6, "36-eng": 0.45, "eng-36": 0.4}),
        ("pcr", {"fra-eng": 0.7, "eng-fra": 0.8}),
    )
    for direction, value in by_direction.items()
    for record in measured(BEST, [value], "bitext_retrieval", f"tatoeba/{direction}", protocol, "accuracy")
]
REVIEWS = [
    *measured("cmlm", [0.8], "reviews", "amazon_en", "frozen", "accuracy"),
    *measured("cmlm", [0.7], "reviews", "amazon_de", "frozen", "accuracy"),
    *measured("cmlm", [0.9], "reviews", "amazon_de", "finetuned", "accuracy"),
]
NLI = [r for task in ("mr", "trec") for r in sentences(f"{BEST}_nli", [0.9] * 3, [0.9] * 3, task)]
#: A variant without scores in the other language, and equal variants.
GAPS = [
    *(r for r in XEVAL if (r["variant"], r["data"]) != ("mlm", "demo_qaa")),
    *sentences("br", [0.5], [0.6]),
    *sentences("br", [0.5], [0.6], "trec"),
    *retrieval(BEST, 0.5, 0.7),
    *retrieval(f"{BEST}_nli", 0.5, 0.7),
]
#: Languages without a common task have no mean.
APART = [
    *measured("cmlm", [0.7], "mr", "demo", "senteval", "accuracy"),
    *measured("cmlm", [0.7], "trec", "demo_qaa", "senteval", "accuracy"),
]
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
    "missing": {"language bias of demo in qab": "no text in the corpus for PCR"},
}
OWN_LANGUAGE = [
    *measured("mlm", [0.85], "language_bias", "demo", "frozen", "own_language"),
    *measured("mlm", [0.5], "language_bias", "demo", "pcr", "own_language"),
]


@pytest.mark.parametrize(
    ("name", "records"),
    [
        # CMLM over MLM: 10, 10.5 and 11 points, ± 4.303 · 0.5 / √3.
        ("sentences", XEVAL),
        ("bitext", BITEXT),
        # Findings have the first test of each claim.
        ("several", [*BITEXT, *XEVAL, *NLI]),
        ("pairs", PAIRS),
        ("tatoeba", TATOEBA),
        ("reviews", REVIEWS),
        ("gaps", GAPS),
        ("apart", APART),
        ("english", [r for r in XEVAL if r["data"] == "demo"]),
        ("other", measured("other", [0.5], "mr", "demo", "senteval", "accuracy")),
        ("not-run", []),
    ],
)
def test_page(name: str, records: list[Record]) -> None:
    check_page(f"cmlm_multilingual-{name}", records, CONTEXT, page)


@pytest.mark.parametrize(
    ("sentences", "fitted"),
    [
        (2000, "PCR: fitted on 2,000 corpus sentences of each language; in the paper, on the evaluated sentences."),
        ("test", "PCR: fitted on the evaluated sentences of each language, as in the paper."),
    ],
)
def test_tables_name_the_sentences_that_pcr_is_fitted_on(sentences: int | str, fitted: str) -> None:
    made = page(TATOEBA, replace(CONTEXT, details={"bitext_retrieval": {"pcr_sentences": sentences}}))
    captions = {section.title: section.table.caption for section in made.sections if section.table}
    assert [title for title, caption in captions.items() if fitted in caption] == [
        "Bitext retrieval: Tatoeba, from query to searched language",
        "Table 8: Tatoeba with and without the first component of each language (PCR)",
    ]


def test_language_bias_is_drawn() -> None:
    context = replace(CONTEXT, details={"language_bias": BIAS})
    figures = check_page("cmlm_multilingual-bias", OWN_LANGUAGE, context, page).page.figures
    assert set(figures) == {"neighbours_demo", "vectors_demo"}
    for name, figure in figures.items():
        titles = [axes.get_title() for axes in figure.axes]
        assert titles == ["MLM\nunchanged", "MLM\nwithout each language's first component"], name

"""Yang et al. 2021, sections 4 and 5: CMLM in many languages."""

from dataclasses import dataclass

from contexture.reporting.published import TaskColumn, TaskRow, TaskTable
from contexture.tasks.bitext_retrieval.files import PAPERS

PAPER = "Yang et al. 2021"
#: What the numbers of the sentence tasks in other languages are gathered under, and those without PCR's.
XEVAL, PCR = "xeval", "_pcr"

_BASE = {
    "cmlm": "CMLM",
    "br": "BR",
    "cmlm_br_from_start": "CMLM+BR from the start",
    "cmlm_then_br": "CMLM, then BR",
    "cmlm_then_cmlm_br": "CMLM, then CMLM+BR",
    "mlm": "MLM",
    "random": "Untrained",
}
_NLI = {f"{name}_nli": f"{label}, then NLI" for name, label in _BASE.items() if name not in ("mlm", "random")}
#: Our variants, in the order of the tables and of the colours; behind each the same with PCR.
LABELS = {
    name: label
    for plain, said in (_BASE | _NLI).items()
    for name, label in ((plain, said), (f"{plain}{PCR}", f"{said} + PCR"))
}
#: Those that have read text alone, and no translations.
OF_TEXT = ("cmlm", "mlm", "random")
#: The paper's best.
BEST = "cmlm_then_cmlm_br"

#: The languages of XEVAL, Tables 3 and 4.
_XEVAL = ("ar", "bg", "de", "el", "en", "es", "fr", "hi", "ru", "sw", "th", "tr", "ur", "vi", "zh")
_TABLE_3 = {
    "mBERT": ("", "76.3 76.1 77.7 76.1 80.1 78.5 78.7 75.6 77.3 70.5 73.6 75.7 74.2 78.8 78.7 76.5"),
    "MLM (CC)": ("mlm", "79.2 79.1 81.7 79.9 84.4 82.1 82.2 79.2 81.2 70.3 76.9 79.0 74.3 81.3 81.0 79.4"),
    "XLM-R": ("", "78.1 78.0 76.2 78.2 82.8 81.2 80.4 77.2 80.2 71.0 77.5 79.7 76.7 80.3 80.8 78.5"),
    "CMLM": ("cmlm", "80.6 81.2 82.6 81.4 85.0 82.3 83.4 80.0 82.3 76.2 78.8 81.0 78.5 81.6 81.7 81.2"),
}
# The caption numbers the schedules otherwise than the text; rows are named by what they do.
_TABLE_4 = {
    "LASER": ("", "82.1 81.2 81.7 78.1 82.3 81.0 80.8 78.9 82.2 75.8 80.3 81.8 77.2 81.6 82.1 80.4"),
    "mUSE": ("", "80.4 – 82.2 – 83.3 82.7 82.4 – 82.3 – 81.6 80.3 – – 82.0 81.9"),
    "CMLM → BR (S1)": (
        "cmlm_then_br",
        "78.3 78.9 79.3 78.1 81.0 78.7 79.5 78.0 79.0 76.6 77.8 78.6 77.7 79.0 78.6 78.6",
    ),
    "CMLM+BR (S2)": (
        "cmlm_br_from_start",
        "81.3 81.0 83.0 81.4 85.6 83.0 83.6 80.4 82.3 77.6 80.1 81.0 79.8 82.4 82.3 81.6",
    ),
    "CMLM → CMLM+BR (S3)": (
        "cmlm_then_cmlm_br",
        "82.6 83.0 84.0 81.8 85.8 84.2 84.6 81.7 84.0 79.3 81.2 82.7 81.2 83.0 83.0 82.8",
    ),
    "S3 + NLI": (
        "cmlm_then_cmlm_br_nli",
        "84.2 83.7 85.0 83.4 87.0 85.9 85.8 83.0 85.6 79.6 83.0 84.2 81.2 84.2 84.4 84.0",
    ),
    "mBERT": ("", "76.3 76.1 77.7 76.1 80.1 78.5 78.7 75.6 77.3 70.5 73.6 75.7 74.2 78.8 78.7 76.5"),
    "f-mBERT": ("", "77.2 78.5 79.7 76.7 81.4 80.0 80.3 77.2 79.1 73.3 76.1 77.1 76.9 79.8 80.4 78.3"),
}
#: Those of Table 5: as the paper writes them, and as Tatoeba's files are called.
_NAMES = (
    "af", "ar", "bg", "bn", "de", "el", "es", "et", "eu", "fa", "fi", "fr", "he", "hi", "hu", "id", "it", "ja", "jv",
    "ka", "kk", "ko", "ml", "mr", "nl", "pt", "ru", "sw", "ta", "te", "th", "tl", "tr", "ur", "vi", "zh",
)  # fmt: skip
TATOEBA = dict(zip(_NAMES, PAPERS, strict=True))
_TABLE_5 = {
    "mBERT": (
        "",
        "42.7 25.8 49.3 17 77.2 29.8 68.7 29.3 25.5 46.1 39 66.3 41.9 34.8 38.7 54.6 58.4 42 "
        "17.6 20.5 27.1 38.5 19.8 20.9 68 69.9 61.2 11.5 14.3 16.2 13.7 16 34.8 31.6 62 71.6 38.7",
    ),
    "MLM (CC)": (
        "mlm",
        "60.5 51.4 74.8 45 89.3 68.3 81.8 56.8 59.5 81.3 76.6 82.6 72.2 76.2 68.4 82.6 72.8 65.7 "
        "49.5 65.8 61.3 66.4 65.3 56.8 83.4 83.1 74.8 65.9 61.3 68.5 70.0 62.7 70.3 80.1 77.0 71.3 69.4",
    ),
    "XLM": (
        "",
        "43.2 18.2 40 13.5 66.2 25.6 58.4 24.8 17.1 32.2 32.2 54.5 32.1 26.5 30.1 45.9 56.5 40 "
        "22.4 22.9 17.9 25.5 20.1 13.9 59.6 63.9 44.8 12.6 20.2 12.4 31.8 14.8 26.2 18.1 47.1 42.2 32.6",
    ),
    "XLM-R": (
        "",
        "58.2 47.5 71.6 43 88.8 61.8 75.7 52.2 35.8 70.5 71.6 73.7 66.4 72.2 65.4 77 68.3 60.6 "
        "14.1 52.1 48.5 61.4 65.4 56.8 80.8 82.2 74.1 20.3 26.4 35.9 29.4 36.7 65.7 24.3 74.7 68.3 57.3",
    ),
    "LASER": (
        "",
        "89.4 91.9 95.0 89.6 99.0 94.9 98.0 96.7 94.6 71.6 96.3 95.6 92.1 94.7 96.0 94.5 95.4 95.3 "
        "23.0 35.9 18.6 88.9 96.9 91.5 96.3 95.2 94.4 57.5 69.4 79.7 95.4 50.6 97.5 81.9 96.8 95.5 84.4",
    ),
    # Of the paper's own rows the languages from jv on, and the means, are not typed here.
    "CMLM": ("cmlm", "62.0 53.2 75.0 45.1 89.9 69.9 82.7 59.2 61.6 83.7 77.1 83.5 73.1 76.7 70.3 83.0 73.5 67.2"),
    "CMLM+BR": (
        "cmlm_then_cmlm_br",
        "96.3 90.6 95.4 91.2 97.7 95.4 98.1 95.6 92.0 95.6 95.9 96.1 92.8 97.6 96.5 95.6 94.2 95.6",
    ),
    "CMLM+BR+NLI": (
        "cmlm_then_cmlm_br_nli",
        "90.5 83.6 92.6 86.4 97.6 91.6 95.5 82.6 76.3 90.7 88.9 93.5 86.8 94.6 89.6 91.7 90.4 88.4",
    ),
}
#: Table 6: English, French, German and Japanese reviews, the encoder frozen.
_REVIEWS = ("en", "fr", "de", "jp")
_TABLE_6 = {
    "Eriguchi et al. (2018)": ("", "83.2 81.3 – –"),
    "MTDE en-fr": ("", "87.4 82.3 – –"),
    "MTDE en-de": ("", "87.1 – 81.0 –"),
    "mBERT": ("", "80.0 73.1 70.4 71.7"),
    "XLM-R": ("", "– 85.3 81.5 82.5"),
    "MLM (CC)": ("mlm", "84.6 84.9 84.3 82.1"),
    "CMLM": ("cmlm", "88.4 88.2 87.5 83.7"),
    "CMLM+BR": ("cmlm_then_cmlm_br", "88.3 87.2 86.4 83.2"),
    "CMLM+BR+NLI": ("cmlm_then_cmlm_br_nli", "89.4 88.8 88.4 82.8"),
}
_PCR_LANGUAGES = ("fra", "cmn", "spa", "deu", "rus", "ita", "tur", "por", "hun", "jpn", "nld")
# Of the paper's own rows the languages from tur on, and the means, are not typed here; its table leaves out the means.
_TABLE_8 = {
    "mBERT": ("", "60.2 60.2 62.8 65.9 53.8 55.7 32.4 62.4 31.9 39.0 56.2 52.8"),
    "mBERT + PCR": ("", "59.9 64.3 61.7 67.5 57.4 56.2 33.3 64.4 36.5 42.3 61.1 54.8"),
    "ours": ("cmlm_then_cmlm_br", "96.1 95.6 98.1 97.7 94.9 94.2"),
    "ours + PCR": (f"cmlm_then_cmlm_br{PCR}", "95.5 96.0 98.2 97.9 95.1 94.1"),
}


@dataclass(frozen=True)
class Claim:
    """Something that the paper says, which is asked of our numbers seed by seed."""

    said: str
    variant: str
    baseline: str
    on: tuple[str, ...]  # RETRIEVED, CLASSIFIED
    higher: bool = True


#: What claims are about: bitext retrieval; and classification, of sentences in each language and of pairs.
RETRIEVED, CLASSIFIED = "retrieved", "classified"
CLAIMS = (
    Claim("CMLM is better than MLM", "cmlm", "mlm", (RETRIEVED, CLASSIFIED)),
    Claim("Translations help CMLM", BEST, "cmlm", (RETRIEVED, CLASSIFIED)),
    Claim("CMLM beside them is better than they alone", BEST, "br", (RETRIEVED, CLASSIFIED)),
    Claim("CMLM first is better than both from the start", BEST, "cmlm_br_from_start", (RETRIEVED, CLASSIFIED)),
    Claim("Both at once is better than one by one", "cmlm_br_from_start", "cmlm_then_br", (RETRIEVED, CLASSIFIED)),
    Claim("CMLM first, then both, is better than one by one", BEST, "cmlm_then_br", (RETRIEVED, CLASSIFIED)),
    Claim("NLI helps classification", f"{BEST}_nli", BEST, (CLASSIFIED,)),
    Claim("NLI lowers retrieval", f"{BEST}_nli", BEST, (RETRIEVED,), higher=False),
    Claim("PCR helps where there were no translations", f"mlm{PCR}", "mlm", (RETRIEVED,)),
    Claim("PCR helps where there were some", f"{BEST}{PCR}", BEST, (RETRIEVED,)),
)  # fmt: skip


def xeval_tables(protocol: str) -> tuple[TaskTable, TaskTable]:
    """Tables 3 and 4, beside our mean accuracies in each language."""
    columns = (*(_xeval(lang, lang) for lang in _XEVAL), _xeval("", "Avg."))
    remark = f"Ours: the mean accuracy of the classification tasks that every language has, {protocol}."
    return (
        TaskTable(
            "Table 3: sentence tasks in each language, trained on text", f"{PAPER}, Table 3", XEVAL, columns,
            _rows(_TABLE_3, len(columns)), LABELS, remark,
        ),
        TaskTable(
            "Table 4: sentence tasks in each language, trained on translations, too", f"{PAPER}, Table 4", XEVAL,
            columns, _rows(_TABLE_4, len(columns)), LABELS, remark,
        ),
    )  # fmt: skip


def tatoeba_table() -> TaskTable:
    """Table 5. The paper does not say who asks; ours are sentences of the language that look for English ones."""
    columns = (*(_bitext(code, name) for name, code in TATOEBA.items()), _bitext("36", "Mean"))
    return TaskTable(
        "Table 5: Tatoeba, accuracy", f"{PAPER}, Table 5", "tatoeba", columns, _rows(_TABLE_5, len(columns)), LABELS,
        "The paper does not say which side asks; in ours sentences of the language look for English ones.",
    )  # fmt: skip


def reviews_table() -> TaskTable:
    """Table 6, its upper part: the encoder frozen."""
    columns = tuple(TaskColumn("reviews", "frozen", "accuracy", lang, data=f"amazon_{lang}") for lang in _REVIEWS)
    return TaskTable(
        "Table 6: Amazon reviews, learned from English ones", f"{PAPER}, Table 6", "", columns,
        _rows(_TABLE_6, len(columns)), LABELS,
    )  # fmt: skip


def pcr_table() -> TaskTable:
    """Table 8."""
    columns = tuple(_bitext(code, code) for code in _PCR_LANGUAGES)
    rows = tuple(
        TaskRow(label, tuple(scores[: len(columns)]), variant)
        for label, (variant, written) in _TABLE_8.items()
        for scores in [_scores(written, len(columns) + 1)]
    )
    return TaskTable(
        "Table 8: Tatoeba with and without the first component of each language (PCR)", f"{PAPER}, Table 8", "tatoeba",
        columns, rows, LABELS,
        "The paper fits the components on the test's own text, ours on the corpus; it does not say which side "
        "asks, in ours sentences of the language look for English ones.",
    )  # fmt: skip


def _xeval(lang: str, name: str) -> TaskColumn:
    return TaskColumn("sentences", XEVAL, "accuracy", name, subset=lang)


def _bitext(code: str, name: str) -> TaskColumn:
    return TaskColumn("bitext_retrieval", "frozen", "accuracy", name, data="tatoeba", subset=f"{code}-eng")


def _rows(written: dict[str, tuple[str, str]], width: int) -> tuple[TaskRow, ...]:
    return tuple(TaskRow(label, tuple(_scores(row, width)), variant) for label, (variant, row) in written.items())


def _scores(written: str, width: int) -> list[float | None]:
    found = [None if one == "–" else float(one) for one in written.split()]
    return [*found, *[None] * (width - len(found))]

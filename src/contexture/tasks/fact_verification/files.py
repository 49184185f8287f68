"""Read claims from JSON lines in three formats of FEVER, which differ in `evidence`.

- *texts*: `claim`, `label`, and `evidence`, a list of texts;
- *release* (Thorne et al., 2018: train, paper_dev, shared_task_dev): `id`, `verifiable`, `label`, `claim`, and
  `evidence`, a list of sets of [annotation, evidence, page, sentence]: numbers and the name of a page. Page and
  sentence are null for NOT ENOUGH INFO. `wiki-pages/wiki-*.jsonl` has the sentences;
- *retrieved* (KernelGAT's bert_*.json, Liu et al., 2020): `id`, `claim`, `label`, and `evidence`, a list of [page,
  sentence, text, score], the best first.
"""

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import NoneType
from typing import Any, NamedTuple

from contexture.tasks.missing import BenchmarkMissing
from contexture.tasks.text_files import catch_damage, open_text, parse_json

LABELS = ("SUPPORTS", "REFUTES", "NOT ENOUGH INFO")

REMEDY = (
    "Fetch FEVER from https://fever.ai/dataset/fever.html, or KernelGAT's retrieved evidence from "
    "https://github.com/thunlp/KernelGAT, and name a file for train and dev, such as "
    "fact_verification.input.train=bert_train.json,fact_verification.input.dev=bert_dev.json; "
    "see docs/fact-verification.md."
)

#: Format → published file → number of claims, by label if published: Thorne et al. (2018), Table 1, of which paper_dev
#: and paper_test are halves; MSPP paper, Table 6.
PUBLISHED: dict[str, dict[str, tuple[int, ...]]] = {
    "release": {
        "train.jsonl": (80_035, 29_775, 35_639),
        "shared_task_dev.jsonl": (6_666, 6_666, 6_666),
        "paper_dev.jsonl": (3_333, 3_333, 3_333),
        "paper_test.jsonl": (3_333, 3_333, 3_333),
    },
    "retrieved": {"bert_train.json": (145_406,), "bert_dev.json": (19_998,)},
}

#: Brackets and colons in FEVER's tokenization.
_BRACKETS = {"LRB": "(", "RRB": ")", "LSB": "[", "RSB": "]", "LCB": "{", "RCB": "}", "COLON": ":"}
_ESCAPED = re.compile(rf"-({'|'.join(_BRACKETS)})-")
#: The same without hyphens, as in KernelGAT's files.
_BARE = re.compile(rf"(?<![A-Z])({'|'.join(_BRACKETS)})(?![A-Z])")


class Evidence(NamedTuple):
    """A sentence of a page ("" if unknown); `text` is None until it is looked up."""

    page: str
    number: int
    text: str | None


class Claim(NamedTuple):
    """A line of a file."""

    id: str
    text: str
    label: str
    evidence: tuple[Evidence, ...]


def read_claims(path: Path) -> tuple[list[Claim], str]:
    """Return the claims of a file and their format: texts, release or retrieved; "" if no claim has evidence.

    Raises:
        BenchmarkMissing: the file is missing.
        ValueError: invalid lines, mixed formats, or a published file name with other counts.
    """
    claims: list[Claim] = []
    known = ""
    try:
        for number, line in _read_lines(path):
            try:
                claim, form = _parse_claim(line, number)
                if form and known and form != known:
                    raise ValueError(f"evidence in the format {form!r}, but earlier lines have {known!r}")
            except ValueError as error:
                raise ValueError(f"{path}, line {number}: {error}") from None
            known = known or form
            claims.append(claim)
    except FileNotFoundError as error:
        raise BenchmarkMissing("fact verification", path, REMEDY) from error
    except IsADirectoryError:
        raise ValueError(f"{path} is a folder; name a file of claims") from None
    if not claims:
        raise ValueError(f"{path} is empty; fetch it again")
    _check_published_counts(path, claims, known)
    return claims, known


def detokenize_fever(text: str, bare: bool = False) -> str:
    """Return the text with characters for FEVER's tokens -LRB-, -COLON-, …, `` and ''; if `bare`, also for LRB, ….

    Spaces before punctuation remain.
    """
    for pattern in (_ESCAPED, _BARE) if bare else (_ESCAPED,):
        text = pattern.sub(lambda match: _BRACKETS[match[1]], text)
    return " ".join(text.replace("``", '"').replace("''", '"').split())


def format_title(page: str, bare: bool = False) -> str:
    """Return the title of a page from its name: Soul_Food_-LRB-film-RRB- → Soul Food (film)."""
    return detokenize_fever(page.replace("_", " "), bare)


def normalize_page(page: str) -> str:
    """Return a page name with composed accents (Unicode NFC), to compare names of claims and pages."""
    return unicodedata.normalize("NFC", page)


def _read_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield number and text of each line that is not empty."""
    with catch_damage(path), open_text(path) as file:
        yield from ((number, line) for number, line in enumerate(file, start=1) if line.strip())


def _parse_claim(line: str, number: int) -> tuple[Claim, str]:
    """Return the claim in a line, and the format of its evidence (`_parse_evidence`). The number is its default id."""
    try:
        row = parse_json(line)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"invalid JSON ({error}); fetch the file again") from None
    if not isinstance(row, dict) or not isinstance(row.get("claim"), str) or not row["claim"].strip():
        raise ValueError("not a JSON object with a text `claim`; docs/fact-verification.md describes the formats")
    label = row.get("label")
    if label is None:
        raise ValueError("no label; FEVER's test sets have none; use a file with labels")
    if label not in LABELS:
        raise ValueError(f"label is {label!r}; it must be {', '.join(LABELS)}")
    if not isinstance(row.get("evidence"), list):
        raise ValueError("no list `evidence` (it may be empty)")
    form, evidence = _parse_evidence(row["evidence"])
    claim_id = number if row.get("id") is None else row["id"]
    return Claim(str(claim_id), detokenize_fever(row["claim"]), label, tuple(dict.fromkeys(evidence))), form


def _parse_evidence(items: list[Any]) -> tuple[str, list[Evidence]]:
    """Return the format of a claim's evidence ("" if there is none) and its sentences in order."""
    if not items:
        return "", []
    if all(isinstance(item, str) for item in items):
        return "texts", [Evidence("", number, detokenize_fever(item)) for number, item in enumerate(items)]
    if all(_is_retrieved(item) for item in items):
        return "retrieved", [
            Evidence(format_title(page, bare=True), number, detokenize_fever(text, bare=True))
            for page, number, text, _ in items
        ]
    if all(isinstance(item, list) and item and all(map(_is_sentence_reference, item)) for item in items):
        named = [(page, number) for item in items for _, _, page, number in item if page is not None]
        return "release", [Evidence(normalize_page(page), number, None) for page, number in named]
    raise ValueError(
        "`evidence` must be a list of texts, of sets of [annotation, evidence, page, sentence], or of "
        f"[page, sentence, text, score], not {json.dumps(items)[:80]}"
    )


def _is_retrieved(item: Any) -> bool:
    """Return whether the item is a sentence of the retrieved format: [page, sentence, text, score]."""
    return _has_types(item, (str, int, str, int | float))


def _is_sentence_reference(item: Any) -> bool:
    """Return whether the item is a sentence of FEVER's release: [annotation, evidence, page, sentence]."""
    return _has_types(item, (object, object, str, int)) or _has_types(item, (object, object, NoneType, NoneType))


def _has_types(item: Any, types: Sequence[Any]) -> bool:
    """Return whether the item is a list whose elements have these types, in order."""
    return isinstance(item, list) and len(item) == len(types) and all(map(isinstance, item, types))


def _check_published_counts(path: Path, claims: list[Claim], form: str) -> None:
    """Raise ValueError if a file has the name of a published file of its format, but other numbers of claims."""
    published = PUBLISHED.get(form, {}).get(path.name.removesuffix(".gz"))
    if published is None:
        return
    by_label = Counter(claim.label for claim in claims)
    counts = tuple(by_label[label] for label in LABELS)
    if counts != published and (sum(counts),) != published:
        raise ValueError(
            f"{path}: {_describe_counts(counts)}, but the published file of this name has "
            f"{_describe_counts(published)}: fetch it again, or rename another file"
        )


def _describe_counts(counts: tuple[int, ...]) -> str:
    """Return a phrase with the number of claims and, if known, of each label."""
    by_label = ", ".join(f"{name} {count:,}" for name, count in zip(LABELS, counts, strict=False))
    return f"{sum(counts):,} claims" + (f" ({by_label})" if len(counts) == len(LABELS) else "")


def find_wiki_sentences(folder: Path, wanted: set[tuple[str, int]]) -> Iterator[tuple[tuple[str, int], str]]:
    """Yield ((page, number), sentence) from a folder of wiki-*.jsonl for the `wanted` pages and numbers.

    Pages are compared by `normalize_page`. A line of the files is a JSON object with `id`, the page, and `lines`, one
    sentence per line: number, text and names of linked pages, separated by tabs.

    Raises:
        BenchmarkMissing: no such files.
        ValueError: an invalid line or a damaged file.
    """
    files = sorted([*folder.glob("wiki-*.jsonl"), *folder.glob("wiki-*.jsonl.gz")])
    if not files:
        raise BenchmarkMissing("FEVER's wiki-pages", folder / "wiki-001.jsonl", REMEDY)
    pages = {page for page, _ in wanted}
    for path in files:
        for number, line in _read_lines(path):
            try:
                row = parse_json(line)
                page, sentences = normalize_page(row["id"]), row["lines"].split("\n")
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
                raise ValueError(
                    f"{path}, line {number}: not a JSON object with id and lines ({error}); fetch the file again"
                ) from None
            if page not in pages:
                continue
            for sentence in sentences:
                head, _, rest = sentence.partition("\t")
                if head.isdecimal() and (page, int(head)) in wanted:
                    yield (page, int(head)), rest.split("\t")[0]

"""Manually marked sentence boundaries in real text; the text is not part of the project.

A decision is about one candidate: a stop or a similar mark before white space. `<lang>.tsv` has its page, its anchor (a
hash of the letters and digits around it, which does not depend on punctuation and white space), and whether a sentence
ends there.
"""

import bz2
import gzip
import hashlib
import lzma
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from contexture.text.mediawiki import parse_page, parse_site
from contexture.text.wikitext import parse

DUMPS = {
    "en": "enwiki-pages-articles-shortened.xml.bz2",
    "it": "itwiki-pages-articles-small.xml.gz",
    "el": "elwiki-truncated-100k.xml.xz",
}
_OPEN = {".bz2": bz2.open, ".gz": gzip.open, ".xz": lzma.open}
_CANDIDATE = re.compile(r"[.?!…;\u037e]+[\"')\]}’”»]*(?=\s+(\S))")
_BEFORE, _AFTER = 40, 20  # letters and digits of an anchor
_NEAR = 160  # characters that contain them


class Decision(NamedTuple):
    """A marked candidate. `half` is "seen" (used for tuning) or "held_out"; `kind` is how it was sampled."""

    anchor: str
    page: int
    half: str
    kind: str
    boundary: bool


class Candidate(NamedTuple):
    """A candidate in a text. If a sentence ends here, the next one starts in (start, next]."""

    anchor: str
    start: int
    next: int


def read_table(name: str) -> Any:
    """Read a YAML file of this folder: inputs and expected outputs."""
    return yaml.safe_load(read_file(f"{name}.yml"))


def read_file(name: str) -> str:
    return (Path(__file__).parent / name).read_text("utf-8")


def read_decisions(lang: str) -> list[Decision]:
    """Read the marked candidates of a language."""
    lines = read_file(f"{lang}.tsv").splitlines()
    rows = (line.split("\t") for line in lines if not line.startswith("#"))
    return [Decision(anchor, int(page), half, kind, mark == "1") for page, anchor, half, kind, mark in rows]


def read_paragraphs(folder: Path, lang: str) -> Iterator[tuple[int, str]]:
    """Yield page numbers and texts of the paragraphs of a real dump's articles."""
    path = folder / "wikipedia" / DUMPS[lang]
    with _OPEN[path.suffix](path) as file:
        xml = file.read().decode("utf-8")
    site = parse_site(xml)
    for match in re.finditer(r"<page>.*?</page>", xml, re.DOTALL):
        page = parse_page(match[0], site)
        if page.namespace == 0 and page.redirect is None:
            for paragraph in parse(page.text, site).paragraphs:
                yield page.page_id, paragraph.text


def find_candidates(text: str, lang: str) -> Iterator[Candidate]:
    """Yield the positions where a sentence may end within a text."""
    for match in _CANDIDATE.finditer(text):
        if lang == "el" or match[0][0] not in ";\u037e":
            yield Candidate(_anchor(text, match.start()), match.start(), match.start(1))


def _anchor(text: str, position: int) -> str:
    preceding = _letters(text[max(0, position - _NEAR) : position])[-_BEFORE:]
    after = _letters(text[position : position + _NEAR])[:_AFTER]
    return hashlib.sha256(f"{preceding}|{text[position]}|{after}".encode()).hexdigest()[:16]


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text)).lower()


class Score(NamedTuple):
    """Counts of true, false and missed boundaries of a splitter, and of candidates that are not in the text."""

    hits: int = 0
    wrong: int = 0
    missed: int = 0
    lost: int = 0

    @property
    def f1(self) -> float:
        return 2 * self.hits / (2 * self.hits + self.wrong + self.missed)


def score_splitter(
    texts: Iterable[tuple[int, str]], lang: str, spans: Callable[[str], Iterable[tuple[int, int]]]
) -> dict[str, Score]:
    """Score a splitter by half, and on "all", on the paragraphs of `read_paragraphs(folder, lang)`."""
    marked = {decision.anchor: decision for decision in read_decisions(lang)}
    pages = {decision.page for decision in marked.values()}
    answers: dict[str, bool] = {}
    for page, text in texts:
        if page not in pages:
            continue
        marked_here = [c for c in find_candidates(text, lang) if c.anchor in marked]
        starts = [start for start, _ in spans(text)] if marked_here else []
        for candidate in marked_here:
            here = any(candidate.start < start <= candidate.next for start in starts)
            answers.setdefault(candidate.anchor, here)  # the first of a repeated text
    counts: dict[str, list[int]] = {half: [0, 0, 0, 0] for half in ("seen", "held_out", "all")}
    for decision in marked.values():
        answer = answers.get(decision.anchor)
        for half in (decision.half, "all"):
            counts[half][0] += answer is True and decision.boundary
            counts[half][1] += answer is True and not decision.boundary
            counts[half][2] += answer is False and decision.boundary
            counts[half][3] += answer is None
    return {half: Score(*count) for half, count in counts.items()}

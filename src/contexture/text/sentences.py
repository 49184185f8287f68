"""Split paragraphs into sentences: Punkt with the package's own parameters, and rules for Punkt's errors.

`abbreviations/<language>.json` holds the parameters of the package. `punkt_training.train_parameters` learns
better ones from a corpus.
"""

import functools
import json
import re
from collections.abc import Iterator
from importlib import resources
from typing import TypedDict

from contexture.text.punkt import CLOSERS, QUOTES, Punkt

# Marks that always end a sentence, also without a space after them.
_UNSPACED = "。｡！？।॥։؟۔።፧၊။។៕།༎"
_DEFAULT_ENDS = ".?!…" + _UNSPACED


class SentenceParameters(TypedDict):
    """Parameters of a language. Words are in lower case and sorted; abbreviations lack their last stop."""

    sentence_ends: str
    abbreviations: list[str]
    common_words: list[str]
    after_numbers: list[str]


def list_languages() -> list[str]:
    """Return the codes of languages that have parameters of sentence splitting. Others are split only at marks."""
    folder = resources.files("contexture.text") / "abbreviations"
    return sorted(file.name.removesuffix(".json") for file in folder.iterdir() if file.name.endswith(".json"))


def load_parameters(lang: str) -> SentenceParameters:
    """Return the package's parameters of sentence splitting for a language ("en"); empty lists if there are none."""
    if lang not in list_languages():
        return {"sentence_ends": _DEFAULT_ENDS, "abbreviations": [], "common_words": [], "after_numbers": []}
    file = resources.files("contexture.text") / "abbreviations" / f"{lang}.json"
    language: SentenceParameters = json.loads(file.read_text("utf-8"))
    return language


class Splitter:
    """Splits paragraphs of a language into sentences, in linear time. Can be pickled."""

    def __init__(self, language: SentenceParameters) -> None:
        self.language = language
        ends = language["sentence_ends"]
        self._abbreviations = frozenset(language["abbreviations"])
        self._common = frozenset(language["common_words"])
        self._punkt = Punkt(self._abbreviations, self._common, language["after_numbers"], ends)
        unspaced = "".join(mark for mark in ends if mark in _UNSPACED)
        self._unspaced = re.compile(f"[{unspaced}]") if unspaced else None
        self._inner_end = re.compile(rf"[{unspaced}]+[{_CLOSERS}]*|{_ELLIPSIS}" if unspaced else _ELLIPSIS)

    def __reduce__(self) -> tuple[type["Splitter"], tuple[SentenceParameters]]:
        return Splitter, (self.language,)

    def split(self, text: str) -> list[str]:
        """Return the sentences: substrings of the text, in order, that cover it except for white space."""
        return [text[start:end] for start, end in self.find_spans(text)]

    def find_spans(self, text: str) -> list[tuple[int, int]]:
        """Return start and end of each sentence of a text."""
        unsure: set[int] = set()
        pieces = self._punkt.find_spans(text, unsure)
        if _SPACED_OPENER in text:
            pieces = list(_move_opening_quotes(text, pieces))
        divided = "..." in text or ". ." in text or (self._unspaced and self._unspaced.search(text))
        if divided:
            pieces = [piece for span in _join_touching(pieces) for piece in self._split_inner_ends(text, *span)]
        brackets = [pair for pair in _BRACKETS if pair[0] in text]
        spans: list[tuple[int, int]] = []
        first = last = -1
        for start, end in pieces:
            if first < 0:
                first = start if not text[start].isspace() else end - len(text[start:end].lstrip())
            elif (
                # Fast path for most sentences: a word and a stop, and then a capital.
                (
                    text[start].isupper()
                    and text[last - 1] == "."
                    and text[last - 3 : last - 1].isalpha()
                    and text[first].isalpha()
                    and last not in unsure
                )
                or not (
                    (start == last and not divided)
                    or self._is_continuation(text, first, last, start, end, last in unsure)
                )
            ) and not (brackets and _is_within(brackets, text, first, last)):
                spans.append((first, last))
                first = start
            last = end
        if first < last:
            spans.append((first, last))
        return spans

    def _split_inner_ends(self, text: str, first: int, last: int) -> Iterator[tuple[int, int]]:
        """Yield the parts of text[first:last], cut at ends that Punkt misses.

        These are ellipses before a capital letter, and marks that need no space after them (。).
        """
        for end in self._inner_end.finditer(text, first, last):
            after = _NO_SPACE.search(text, end.end(), last)
            if after is None:
                break
            if end[1] is None:  # not an ellipsis
                cut = not (end[0][-1] in CLOSERS or end[0][-1] in "！？") or not _PARTICLE.match(text, after.start())
            else:
                # Without preceding words, it is an omission at the start of a quotation.
                letter = _LETTER.search(text, after.start(), after.start() + 5)
                preceding = _LETTER.search(text, max(first, end.start() - 50), end.start())
                cut = preceding is not None and letter is not None and letter[0].isupper()
            if cut:
                yield first, end.end()
                first = after.start()
        yield first, last

    def _is_continuation(self, text: str, first: int, last: int, start: int, end: int, is_unsure: bool) -> bool:
        """Return whether the span from `start` continues the sentence `text[first:last]` before it.

        `is_unsure`: whether Punkt's tokens decided; stops within the next word ("Dr. Ash.”") mislead them.
        """
        if not text[first].isalpha() and _LETTER.search(text, first, min(last, first + _NEAR_CHARS)) is None:
            return True  # "1." or "..." alone is not a sentence
        if not text[start].isupper():
            word = _WORD.search(text, start, end)
            if word is None or text[start] in ",;:":
                return True
            if word[0][0].islower():
                # Few abbreviations are long and end in a vowel: the capital is missing.
                return word.start() != start or not _LONG_WORD.search(text, max(first, last - 7), last)
            if text[start] == "(" and word[0][0].isdigit():
                return True
            if _LETTER.search(text, start, end) is None and _LIST_MARK.fullmatch(text, start, end) is None:
                return True
        if text[last - 1] == ".":
            near = text[max(first, last - 3) : last - 1]
            if near[-1:].isdigit():
                return _is_listed(text[max(first, last - _NEAR_CHARS) : last])
            if is_unsure or len(near) < 2 or not near.isalnum():
                return self._is_abbreviated(text[max(first, last - _MAX_WORD_CHARS) : last], text, start)
            return False
        return (
            text[start] == "(" and _QUOTED_INITIALS.search(text, max(first, last - _MAX_WORD_CHARS), last) is not None
        )

    def _is_abbreviated(self, preceding: str, text: str, start: int) -> bool:
        """Return whether `preceding` ends in initials or an abbreviation and no common word follows at `start`."""
        initials = _INITIALS.search(preceding)
        if initials and len(initials[0]) == 2 and not text[start].isupper():
            if initials[0].islower():
                return text[start].isdigit()  # "c. 1100"
            return not initials[0].isupper() and text[start].isalpha()  # letters without case
        word = _WORD.search(text, start, start + _MAX_WORD_CHARS)
        starts = word is not None and word[0].lower() in self._common and text[start] not in "-–—"
        if starts and _INITIAL.match(text, start):
            return initials is not None
        abbreviation = preceding.rpartition(" ")[2].lstrip(_OPENERS)[:-1].lower()
        return not starts and (initials is not None or abbreviation in self._abbreviations)


_LETTER = re.compile(r"[^\W\d_]")
_WORD = re.compile(r"[^\W_]+")
_NO_SPACE = re.compile(r"\S")
_CLOSERS = re.escape(CLOSERS)
_OPENERS = "([{\"'" + QUOTES
_SPACED_OPENER = " « "  # French; in other languages the mark may close
_ELLIPSIS = rf"(\.{{3,}}|\.(?: \.){{2,}})[{_CLOSERS}]*(?=\s)"
_LONG_WORD = re.compile(r"[^\W\d_]{4}[aeiouyàèéìíòóùúαεηιουωάέήίόύώςаеиоуыэюя]\.$")
_LIST_MARK = re.compile(r"\d{1,2}\.|\(\d{1,2}\)")
_LISTED = re.compile(r"[,;:(]\s?(\d{1,2})\.$")
_INITIAL = re.compile(r"[^\W\d_]\.")
_INITIALS = re.compile(r"(?<!\w)(?:[^\W\d_]\.-?)+$")
_QUOTED_INITIALS = re.compile(rf"(?<!\w)(?:[^\W\d_]\.){{2,}}[{_CLOSERS}]+$")
# Japanese particles that continue a sentence after a quotation or a name that ends in "！".
_PARTICLE = re.compile("[、，,)）」』]|って|など|から|まで|だ|です|[とのをはがにもでやへ]")
_BRACKETS = (("(", ")"), ("[", "]"), ("（", "）"), ("「", "」"), ("『", "』"))
_MAX_WORD_CHARS = 24  # searched for abbreviations and initials
_NEAR_CHARS = 100  # searched at the start or end of a sentence
_MAX_BRACKET_CHARS = 400  # maximum distance of two brackets


def _move_opening_quotes(text: str, spans: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield the spans with each opening quotation mark between spaces moved to the sentence that it opens."""
    opened = -1
    for start, end in spans:
        first = opened if opened >= 0 else start
        opened = end - 1 if text.startswith(_SPACED_OPENER, end - 2) else -1
        last = first + len(text[first:opened].rstrip()) if opened >= 0 else end
        if first < last:
            yield first, last
        else:
            opened = first
    if opened >= 0:
        yield opened, len(text.rstrip())


def _join_touching(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the spans, joined if there is no gap between them, as Punkt returns them for `"Go!"she`."""
    joined: list[tuple[int, int]] = []
    for start, end in spans:
        first = joined.pop()[0] if joined and joined[-1][1] == start else start
        joined.append((first, end))
    return joined


def _is_within(brackets: list[tuple[str, str]], text: str, first: int, last: int) -> bool:
    """Return whether `last` is between brackets that open within the sentence `text[first:last]`."""
    for opener, closer in brackets:
        # If a bracket opens the sentence, it contains several sentences, except for Japanese quotations.
        opened = text.rfind(opener, max(first + (opener in "([（"), last - _MAX_BRACKET_CHARS), last)
        if opened >= 0 and text.find(closer, opened, last) < 0:
            closed = text.find(closer, last, last + _MAX_BRACKET_CHARS)
            if closed >= 0 and text.find(opener, last, closed) < 0:
                return True
    return False


def _is_listed(preceding: str) -> bool:
    """Return whether the last word is the number of a list item ("1. Ash, 2. Fen")."""
    match = _LISTED.search(preceding)
    return match is not None and (match[1] == "1" or f"{int(match[1]) - 1}. " in preceding)


@functools.cache
def get_splitter(lang: str) -> Splitter:
    """Return the sentence splitter of a language, with the parameters of the package."""
    return Splitter(load_parameters(lang))

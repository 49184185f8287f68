"""Paragraphs to sentences: Punkt (Kiss & Strunk 2006) with parameters of our own, no downloads.

A language's parameters are a short list of abbreviations and of words that are common in lower case, in
`abbreviations/<language>.json`. A common word written with a capital after an abbreviation or an initial
("in the U.S. The …", "vitamin C. It …") shows that a sentence ends there.
"""

import functools
import json
import re
from collections.abc import Iterator
from importlib import resources
from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:  # NLTK takes two seconds to import: only where text is split
    from nltk.tokenize.punkt import PunktParameters

_OCCURS_IN_LOWER_CASE = 1 << 6  # Punkt's flag for a word seen in lower case in the midst of a sentence
_DEFAULT_ENDS = ".?!"
_WINDOW = 10_000  # characters


class Language(TypedDict):
    """What a language's file holds."""

    sentence_ends: str
    abbreviations: list[str]
    common_words: list[str]


def languages() -> list[str]:
    """Codes of the languages that have parameters; others are split without any."""
    folder = resources.files("contexture.text") / "abbreviations"
    return sorted(file.name.removesuffix(".json") for file in folder.iterdir() if file.name.endswith(".json"))


def load_language(lang: str) -> Language:
    """A language's parameters, by its code ("en"); empty ones where there are none."""
    if lang not in languages():
        return {"sentence_ends": _DEFAULT_ENDS, "abbreviations": [], "common_words": []}
    file = resources.files("contexture.text") / "abbreviations" / f"{lang}.json"
    language: Language = json.loads(file.read_text("utf-8"))
    return language


class _Contexts(dict[str, int]):
    """Punkt's word contexts, without the entry that its own kind adds for every unknown word it meets."""

    def __missing__(self, word: str) -> int:
        return 0


def parameters(language: Language) -> "PunktParameters":
    """Punkt's parameters from a language's lists."""
    from nltk.tokenize.punkt import PunktParameters

    result = PunktParameters()
    result.ortho_context = _Contexts()
    result.abbrev_types.update(language["abbreviations"])
    for word in language["common_words"]:
        result.ortho_context[word] = _OCCURS_IN_LOWER_CASE
    return result


class Splitter:
    """Splits paragraphs of one language into sentences: Punkt, then a few of its breaks undone."""

    def __init__(self, language: Language) -> None:
        from nltk.tokenize.punkt import PunktLanguageVars, PunktSentenceTokenizer

        # Punkt keeps the ends of sentences per class.
        ends = {"sent_end_chars": tuple(language["sentence_ends"])}
        variables = type("Variables", (PunktLanguageVars,), ends)()
        self._punkt = PunktSentenceTokenizer(parameters(language), lang_vars=variables)
        self._common = frozenset(language["common_words"])

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Start and end of each sentence of a text."""
        first = last = -1
        for start, end in self._breaks(text):
            if first >= 0 and self._goes_on(text, first, last, start, end):
                last = end
                continue
            if first >= 0:
                yield first, last
            first, last = start, end
        if first >= 0:
            yield first, last

    def split(self, text: str) -> list[str]:
        """The sentences of a text: substrings of it, in order, that cover it up to white space."""
        return [text[start:end] for start, end in self.spans(text)]

    def _breaks(self, text: str) -> Iterator[tuple[int, int]]:
        """Punkt's sentences, found in windows: NLTK gives up on a text that takes it more than five seconds."""
        position = 0
        while position < len(text):
            found = list(self._punkt.span_tokenize(text[position : position + _WINDOW]))
            done = position + _WINDOW >= len(text)
            if len(found) > 1 and not done:
                rest, _ = found.pop()  # may go on past the window
            else:
                rest = _WINDOW
            yield from ((position + start, position + end) for start, end in found)
            position += rest

    def _goes_on(self, text: str, first: int, last: int, start: int, end: int) -> bool:
        """Whether the stretch from `start` belongs to the sentence `text[first:last]` before it."""
        word = _WORD.search(text, start, end)
        if word is None or word[0][0].islower():
            return True
        bracket = _BRACKET.search(text, start, end)
        if bracket and bracket[0] == ")":
            return True
        # Several initials, as in "R.G. Collingwood": Punkt knows one.
        return word[0].lower() not in self._common and _INITIALS.search(text, max(first, last - 12), last) is not None


_WORD = re.compile(r"[^\W_]+")
_BRACKET = re.compile(r"[()]")
_INITIALS = re.compile(r"(?<!\w)(?:[^\W\d_]\.){2,}$")


@functools.cache
def splitter(lang: str) -> Splitter:
    """The splitter of a language, by its code."""
    return Splitter(load_language(lang))

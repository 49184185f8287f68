"""Split text into the terms that BM25 counts, as Lucene's analyzers do."""

from collections.abc import Iterator
from typing import Any
from unicodedata import normalize

import bm25s.stopwords
import regex
import Stemmer

from contexture.retrieval.config import Bm25Config

#: ISO 639-1 code → Snowball's algorithm.
STEMMERS = {
    "ar": "arabic", "ca": "catalan", "cs": "czech", "da": "danish", "de": "german", "el": "greek", "en": "english",
    "es": "spanish", "et": "estonian", "eu": "basque", "fa": "persian", "fi": "finnish", "fr": "french", "ga": "irish",
    "hi": "hindi", "hu": "hungarian", "hy": "armenian", "id": "indonesian", "it": "italian", "lt": "lithuanian",
    "ne": "nepali", "nl": "dutch", "no": "norwegian", "nb": "norwegian", "nn": "norwegian", "pl": "polish",
    "pt": "portuguese", "ro": "romanian", "ru": "russian", "sr": "serbian", "sv": "swedish", "ta": "tamil",
    "tr": "turkish", "yi": "yiddish",
}  # fmt: skip
#: Scripts without spaces between words, and Hangul: Lucene's CJK analyzer, and South-East Asian scripts.
_UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}ー"
#: A run of unspaced characters (group 1), or a word of other letters, digits and marks.
_TERM = regex.compile(rf"(?V1)([{_UNSPACED}]+)|[[\w\p{{M}}]--[{_UNSPACED}]]+")
_ASCII_TERM = regex.compile(r"()\w+", regex.ASCII)
_ENGLISH_ENDING = r"['’](?:s|t|d|m|ll|re|ve)\b"
#: An ending (ship's, we'll), or an elided article or pronoun (l'eau, qu'il).
_ELISION = regex.compile(rf"(?<=\p{{L}}){_ENGLISH_ENDING}|\b\p{{L}}{{1,2}}(?!{_ENGLISH_ENDING})['’](?=\p{{L}})")


class Analyzer:
    """Text → terms: NFKC, case-folded, without elisions and stop words, stemmed.

    A run of characters of a script without spaces gives its overlapping pairs.
    """

    def __init__(self, config: Bm25Config) -> None:
        """Choose stemmer and stop words; a language without them keeps its words as they are."""
        self._stop_words = _stop_words(config.language) if config.stop_words else frozenset()
        algorithm = STEMMERS.get(config.language) if config.stemming else None
        self._stem = Stemmer.Stemmer(algorithm).stemWord if algorithm else str
        self._terms: dict[str, str] = {}  # word → its term; "" for a stop word

    def terms(self, text: str) -> Iterator[str]:
        """Yield the terms of a text, in order."""
        text = _normalize(text)
        for match in (_ASCII_TERM if text.isascii() else _TERM).finditer(text):
            word = match[0]
            if match[1]:
                yield from (word[start : start + 2] for start in range(max(1, len(word) - 1)))
                continue
            term = self._terms.get(word)
            if term is None:
                term = self._terms[word] = "" if word in self._stop_words else self._stem(word)
            if term:
                yield term


def _normalize(text: str) -> str:
    """Return the text in NFKC, case folded, without elided words (l', qu') and endings ('s, 'll)."""
    if not text.isascii():
        text = normalize("NFKC", text)
    text = text.casefold()
    return _ELISION.sub(" ", text) if "'" in text or "’" in text else text


def _stop_words(language: str) -> frozenset[str]:
    name = "EN" if language == "en" else STEMMERS.get(language, "").upper()
    words: Any = getattr(bm25s.stopwords, f"STOPWORDS_{name}", ())
    return frozenset(map(_normalize, words))

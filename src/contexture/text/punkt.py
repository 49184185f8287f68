"""Punkt (Kiss & Strunk 2006): the same sentences as NLTK's PunktSentenceTokenizer, faster and without importing NLTK.

Most stops need no tokens: Punkt always breaks after a plain word that is not an abbreviation, after a closing bracket
and at "?" and "!". After abbreviations, initials and numbers, the next word usually decides.
"""

import re
from collections.abc import Collection
from itertools import pairwise
from typing import Any

import regex

NUMBER = "##number##"  # Punkt's type of all numbers
QUOTES = "‘’‚‛“”„‟«»‹›"
CLOSERS = "\"')]}" + QUOTES + "」』）】》〉"  # each quotation mark closes in some language

_LONE_MARKS = ")\";}]*:@'({[" + QUOTES + "「」『』（）【】《》〈〉"  # tokenized separately
_PUNCTUATION = frozenset(";:,.!?")  # Punkt: no sentence starts with them
_SPACES = r" \t-\r\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"  # as in NLTK's regular expressions
_OTHER_SPACES = "\t\n\r\x0b\x0c"
_AS_SPACE = str.maketrans(_OTHER_SPACES, " " * len(_OTHER_SPACES))
_REALIGNED = re.compile(rf"[{re.escape(CLOSERS)}]+?(?:[{_SPACES}]+|(?=--)|$)", re.MULTILINE)
_MAX_WORD_CHARS = 10_000  # a longer word ends a sentence, as in NLTK, which times out after five seconds
# Letters and digits, with marks between them.
_WORD = r"[^\W_]+(?:[.,/&+–—%°-][^\W_]+)*[%°]?"
_NUMBER = re.compile(r"\d+(?:[.,-]\d+)*")


class Punkt:
    """Punkt with given lower-case parameters, in time linear in the length of a text.

    `abbreviations` lack their last stop; single letters are initials. Capitalized `common_words` start a sentence after
    an abbreviation. `after_numbers` belong to a number with a stop ("5. März"). `ends` are the characters that end
    sentences, including the stop.
    """

    def __init__(
        self, abbreviations: Collection[str], common_words: Collection[str], after_numbers: Collection[str], ends: str
    ) -> None:
        self._abbreviations = frozenset(filter(has_abbreviation_form, abbreviations))
        self._common = frozenset(common_words)
        self._after_numbers = frozenset(after_numbers)
        self._ends = frozenset(ends)
        self._marks = frozenset(_LONE_MARKS + ends) - {"."}
        kinds = self._marks, self._ends, self._marks - self._ends
        marks, stops, lone_marks = (re.escape("".join(sorted(kind))) for kind in kinds)
        self._candidate = re.compile(rf"[{stops}](?=[{marks}]|[{_SPACES}]+()[^{_SPACES}])")
        self._last_word = re.compile(rf"(?:[^{stops}]*[{lone_marks}])?({_WORD})")
        self._one_sentence = re.compile(rf"[^{_SPACES}{stops}]*[{stops}]?(?=[{_SPACES}]|\Z)")
        self._plain_word = re.compile(rf"[^\W\d_]+(?=[{marks}]|,?[{_SPACES}]|,?\Z|,[{marks}])")
        # A run of hyphens or stops; a word up to the end of a token; any other character.
        runs = r"-{2,}|\.{2,}|(?:\.\s){2,}\."
        after = rf"\s|\Z|[{marks}]|{runs}"
        word = rf"[^\s`&#,\-{re.escape(_LONE_MARKS)}]\S*?(?={after}|,(?:{after}))"
        self._token = regex.compile(rf"{runs}|{word}|\S")

    def find_spans(self, text: str, token_ends: set[int] | None = None) -> list[tuple[int, int]]:
        """Return start and end of each sentence, like NLTK's `span_tokenize(text)`.

        `token_ends` gets the ends that Punkt's tokens decided.
        """
        spans: list[tuple[int, int]] = []
        breaks = self._find_breaks(text, set() if token_ends is None else token_ends)
        last = len(text.rstrip())
        start = 0  # of the sentence, after the previous one's closing marks
        for number, (end, after) in enumerate(breaks, 1):
            if text[after] in CLOSERS:
                closers = _REALIGNED.match(text, after, breaks[number][0] if number < len(breaks) else last)
                if closers:
                    spans.append((start, after + len(closers[0].rstrip())))
                    start = closers.end()
                    continue
            if start < end:
                spans.append((start, end))
            start = after
        if start < last:
            spans.append((start, last))
        return spans

    def _find_breaks(self, text: str, token_ends: set[int]) -> list[tuple[int, int]]:
        """Return for each break between sentences the end of the first one and the start of the text after it.

        Adds to `token_ends` the ends that were decided by tokens, whether they are breaks or not.
        """
        spaced = text.translate(_AS_SPACE) if any(space in text for space in _OTHER_SPACES) else text
        breaks: list[tuple[int, int]] = []
        start, end, after = 0, -1, 0  # previous candidate: start of its word, its position, start of the next text
        for match in self._candidate.finditer(text):
            position = match.start()
            # Punkt uses the last of several candidates in one word.
            first = spaced.rfind(" ", max(end, 0) + 1, position) + 1 or start
            if 0 <= end <= first and self._is_break(text, start, end, after, token_ends):
                breaks.append((end + 1, after))
            start, end, after = first, position, match.start(1)
            if after < 0:
                after = position + 1
        if end >= 0 and self._is_break(text, start, end, after, token_ends):
            breaks.append((end + 1, after))
        return breaks

    def _is_break(self, text: str, start: int, end: int, after: int, token_ends: set[int]) -> bool:
        """Return whether a sentence ends with the mark text[end], which follows the word text[start:end]."""
        if text[end] != "." or start == end or text[end - 1] in self._marks:
            return True
        word = text[start:end]
        if word.isalpha():
            if len(word) > 1 and text[after] != "." and word.lower() not in self._abbreviations:
                return True
        else:
            last = self._last_word.fullmatch(word)
            word = last[1] if last else ""
        answer: bool | None
        if len(word) == 1 and word.isalpha():
            answer = self._decide_by_next_word(text, _INITIAL, end, after)
        elif self._is_known_abbreviation(word):
            answer = self._decide_by_next_word(text, _ABBREVIATION, end, after)
        elif _NUMBER.fullmatch(word):
            answer = self._decide_by_next_word(text, _ORDINAL, end, after)
        elif len(word) < 2 or text[after] == ".":
            answer = None
        else:
            return True
        if answer is None:
            token_ends.add(end + 1)
            return self._decide_by_tokens(text, start, end, after)
        return answer

    def _is_known_abbreviation(self, word: str) -> bool:
        """Return whether a word, or its part after the last hyphen, is one of the abbreviations."""
        word = word.lower()
        return word in self._abbreviations or ("-" in word and word.rpartition("-")[2] in self._abbreviations)

    def _decide_by_next_word(self, text: str, kind: int, end: int, after: int) -> bool | None:
        """Return whether an abbreviation, initial or ordinal ends a sentence, by the next word; None if undecided."""
        first = text[after]
        if after == end + 1:
            return kind != _ABBREVIATION and first not in _PUNCTUATION
        if not self._one_sentence.match(text, after, after + _MAX_WORD_CHARS):
            return None  # more stops in the next word, which Punkt considers
        if first.isupper() and not (kind == _ORDINAL and not self._after_numbers):
            word = self._plain_word.match(text, after)
            if word is None:
                return None
            if kind == _ORDINAL:
                return word[0].lower() not in self._after_numbers
            return word[0].lower() in self._common
        if kind == _ORDINAL and self._after_numbers and first.isalpha():
            return None
        return kind != _ABBREVIATION and first not in _PUNCTUATION and not first.islower()

    def _decide_by_tokens(self, text: str, start: int, end: int, after: int) -> bool:
        """Return whether the word text[start:end] and its stop end a sentence, by its tokens and the next word's."""
        word = _NEXT_WORD.match(text, after, after + _MAX_WORD_CHARS) if after > end + 1 else None
        stop = word.end() if word else after + 1
        if stop - start > _MAX_WORD_CHARS:
            return True
        tokens = [token for line in text[start:stop].split("\n") for token in self._token.findall(line)]
        return any(self._ends_sentence(*pair) for pair in pairwise(tokens))

    def _ends_sentence(self, token: str, after: str) -> bool:
        """Return whether a token ends a sentence, by the token after it: sections 4.1 to 4.3 of the paper."""
        is_end = self._has_end_form(token)
        if not token.endswith("."):
            return is_end
        following = _token_type(after)
        if self._has_end_form(after) and len(following) > 1:
            following = following.removesuffix(".")
        number, initial = _token_type(token).removesuffix(".") == NUMBER, _INITIAL_TOKEN.match(token)
        if number and following in self._after_numbers:
            return False
        starts = self._starts_sentence(after, following)
        if starts and not is_end and not initial and (not token.endswith("..") or _is_ellipsis(token)):
            return True
        if not initial and not number:
            return is_end
        unknown_name = starts is None and initial and after[0].isupper() and following not in self._common
        return is_end and starts is not False and not unknown_name

    def _has_end_form(self, token: str) -> bool:
        """Return whether a token ends a sentence by its form alone: a mark, or a word with a stop, no abbreviation."""
        if token in self._ends:
            return True
        word = token[:-1].lower()
        known = word in self._abbreviations or word.rpartition("-")[2] in self._abbreviations
        return token.endswith(".") and not token.endswith("..") and not known

    def _starts_sentence(self, token: str, kind: str) -> bool | None:
        """Return whether a token starts a sentence, by its first letter and its type; None if undecided."""
        if token in _PUNCTUATION:
            return False
        if token[0].isupper() and kind in self._common:
            return True
        return False if token[0].islower() else None


def _token_type(token: str) -> str:
    """Return Punkt's type of a token: its lower-case form, or NUMBER for a number with or without a stop."""
    kind: str = _NUMBER_TOKEN.sub(NUMBER, token.lower())
    return kind


def _is_ellipsis(token: str) -> bool:
    """Return whether a token consists of two or more stops."""
    return len(token) > 1 and not token.strip(".")


def nltk_language_variables(ends: str) -> Any:
    """Return NLTK's PunktLanguageVars for these ends of sentences, with the quotation marks of all languages."""
    from nltk import redos
    from nltk.tokenize.punkt import PunktLanguageVars

    lone_marks, closers = re.escape(_LONE_MARKS), re.escape(CLOSERS)
    marks = re.escape("".join(sorted({*_LONE_MARKS, *ends} - {"."})))
    variables = {
        "sent_end_chars": tuple(ends),
        "_re_word_start": rf"[^{lone_marks}`&\#\-,]",
        "_re_non_word_chars": f"[{marks}]",
        "re_boundary_realignment": redos.compile(rf"[{closers}]+?(?:\s+|(?=--)|$)", re.MULTILINE),
    }
    return type("Variables", (PunktLanguageVars,), variables)()  # NLTK needs a class


_ABBREVIATION, _INITIAL, _ORDINAL = range(3)
# NLTK's regular expression engine; its letters differ slightly from those of `re`.
_INITIAL_TOKEN = regex.compile(r"[^\W\d]\.\Z")
_NUMBER_TOKEN = regex.compile(r"^-?[.,]?\d[\d,.-]*\.?\Z")
_NEXT_WORD = re.compile(rf"[^{_SPACES}]+")
_ABBREVIATION_FORM = re.compile(r"(?!.$)[^\W\d_](?:[^\W_]|(?:\.-?|-)(?=[^\W_]))*")


def has_abbreviation_form(word: str) -> bool:
    """Return whether a word without its last stop could be an abbreviation: at least two letters, few marks."""
    return _ABBREVIATION_FORM.fullmatch(word) is not None

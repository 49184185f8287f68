"""Filters of paragraphs that are bad training text: one check for each reason, which depends only on the text.

The checks are those of Gopher's corpus (Rae et al. 2021, appendix A) and C4 (Raffel et al. 2020, section 2.2). Their
thresholds were chosen by reading dropped paragraphs of real encyclopedias.
"""

import re
import unicodedata
from typing import Annotated

from pydantic import Field
from pydantic.dataclasses import dataclass

from contexture.strict import STRICT
from contexture.text.languages import is_other_language

Share = Annotated[float, Field(gt=0, lt=1)]

#: Reasons to drop a paragraph for its text, in the order of their checks; the first that applies counts.
TEXT_REASONS = ("too_short", "too_long", "markup_left", "few_letters", "repetition", "wrong_language")


@dataclass(config=STRICT, frozen=True)
class Filters:
    """Thresholds of the filters by reason. null switches a filter off."""

    # Minimum characters of a paragraph.
    too_short: Annotated[int, Field(ge=1)] | None = 20
    # Maximum characters of a paragraph.
    too_long: Annotated[int, Field(ge=1)] | None = 20_000
    # Whether to drop paragraphs with remains of wikitext or HTML.
    markup_left: bool = True
    # Minimum share of letters among the characters, without white space.
    few_letters: Share | None = 0.6
    # Maximum share of repeated runs of three words.
    repetition: Share | None = 0.3
    # Minimum probability of the document's language.
    wrong_language: Share | None = 0.1


def drop_reason(text: str, lang: str, filters: Filters) -> str | None:
    """Return the first of TEXT_REASONS to drop a paragraph in `lang`; None to keep it."""
    if filters.too_short is not None and len(text) < filters.too_short:
        return "too_short"
    if filters.too_long is not None and len(text) > filters.too_long:
        return "too_long"
    if filters.markup_left and has_markup(text):
        return "markup_left"
    if filters.few_letters is not None and has_few_letters(text, filters.few_letters):
        return "few_letters"
    if filters.repetition is not None and repeated_share(text) > filters.repetition:
        return "repetition"
    if filters.wrong_language is not None and is_other_language(text, lang, filters.wrong_language):
        return "wrong_language"
    return None


_MARKUP_SIGNS = ("{{", "}}", "[[", "]]", "{|", "|}", "'''", "</", '="')
# No tags of one letter: in linguistics, <p> is the letter. A real tag also leaves its end tag.
_TAG = re.compile(
    r"<(?:!--|ref\b|(?:blockquote|br|center|cite|code|div|font|gallery|h[1-6r]|img|includeonly|li|math|noinclude|nowiki"
    r"|onlyinclude|ol|poem|pre|small|span|su[bp]|syntaxhighlight|t[dhr]|table|templatestyles|timeline|ul)\b[^<>]*>)",
    re.IGNORECASE,
)
_ENTITY = re.compile(r"&(?:[A-Za-z]{2,8}|#[0-9]{2,7});")
_IMAGE = re.compile(r"\bthumb\||\|thumb\b")


def has_markup(text: str) -> bool:
    """Return whether a text contains brackets of wikitext, or tags, entities or attributes of HTML."""
    # Nearly all texts have none: plain searches are faster than one pattern.
    return (
        any(mark in text for mark in _MARKUP_SIGNS)
        or ("<" in text and _TAG.search(text) is not None)
        or ("&" in text and _ENTITY.search(text) is not None)
        or ("|" in text and _IMAGE.search(text) is not None)
    )


def has_few_letters(text: str, share: float) -> bool:
    """Return whether letters and their marks are less than `share` of the characters, without white space."""
    visible = sum(map(len, text.split()))
    letters = sum(map(str.isalpha, text))
    if letters >= share * visible:
        return False  # nearly all texts, so that the slow count is rarely needed
    marks = sum(unicodedata.category(character).startswith("M") for character in text)
    return letters + marks < share * visible


def repeated_share(text: str) -> float:
    """Return the share, in [0, 1), of runs of three words that occurred before in the text; 0 without runs."""
    words = split_words(text)
    total = len(words) - 2
    return 1 - len(set(zip(words, words[1:], words[2:], strict=False))) / total if total > 0 else 0.0


def split_words(text: str) -> list[str]:
    """Return the words between white space; the characters for scripts without spaces."""
    words = text.split()
    # No language with spaces has more than twenty characters per word.
    return list("".join(words)) if len(text) > 20 * len(words) else words


def normalize_text(text: str) -> str:
    """Return the text for comparisons of duplicates: NFKC, case folded, single spaces."""
    if not text.isascii():
        # Case folding may undo the normal form (Unicode, section 3.13, D146).
        text = unicodedata.normalize("NFKC", text)
        text = unicodedata.normalize("NFKC", text.casefold())
        return " ".join(text.split())
    return " ".join(text.lower().split())

"""Paragraphs that are not worth learning from: one small test for each reason, a function of the text alone.

The tests are those of Gopher's corpus (Rae et al. 2021, appendix A) and C4 (Raffel et al. 2020, section 2.2), with
thresholds set by reading what they drop from real encyclopedias.
"""

import re
import unicodedata
from typing import Annotated

from pydantic import Field
from pydantic.dataclasses import dataclass

from contexture.strict import STRICT
from contexture.text.languages import is_other_language

Share = Annotated[float, Field(gt=0, lt=1)]

#: Why a paragraph is dropped for what it says, in the order in which the reasons are tried; the first counts.
TEXT_REASONS = ("too_short", "too_long", "markup_left", "few_letters", "repetition", "wrong_language")


@dataclass(config=STRICT, frozen=True)
class Filters:
    """What makes a paragraph bad text, by its reason. null switches a filter off."""

    # characters
    too_short: Annotated[int, Field(ge=1)] | None = 20
    too_long: Annotated[int, Field(ge=1)] | None = 20_000
    markup_left: bool = True
    # of letters among the characters that are not white space
    few_letters: Share | None = 0.6
    # of the runs of three words that have occurred before in the paragraph
    repetition: Share | None = 0.3
    # probability of the document's language
    wrong_language: Share | None = 0.1


def drop_reason(text: str, lang: str, filters: Filters) -> str | None:
    """The first of TEXT_REASONS that applies to a paragraph of a document in `lang`; None to keep it."""
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
# No tags of one letter: linguists write <p> for the letter. Where a real one is left, so is its end.
_TAG = re.compile(
    r"<(?:!--|ref\b|(?:blockquote|br|center|cite|code|div|font|gallery|h[1-6r]|img|includeonly|li|math|noinclude|nowiki"
    r"|onlyinclude|ol|poem|pre|small|span|su[bp]|syntaxhighlight|t[dhr]|table|templatestyles|timeline|ul)\b[^<>]*>)",
    re.IGNORECASE,
)
_ENTITY = re.compile(r"&(?:[A-Za-z]{2,8}|#[0-9]{2,7});")
_IMAGE = re.compile(r"\bthumb\||\|thumb\b")


def has_markup(text: str) -> bool:
    """Whether brackets of wikitext, tags, entities or attributes of HTML are left in a text."""
    # Nearly every text has none: plain searches are ten times quicker than one pattern for all.
    return (
        any(mark in text for mark in _MARKUP_SIGNS)
        or ("<" in text and _TAG.search(text) is not None)
        or ("&" in text and _ENTITY.search(text) is not None)
        or ("|" in text and _IMAGE.search(text) is not None)
    )


def has_few_letters(text: str, share: float) -> bool:
    """Whether letters, with the marks on them, are less than `share` of the characters that are not white space."""
    visible = sum(map(len, text.split()))
    letters = sum(map(str.isalpha, text))
    if letters >= share * visible:
        return False  # nearly every text: so the slow count is rarely needed
    marks = sum(unicodedata.category(character).startswith("M") for character in text)
    return letters + marks < share * visible


def repeated_share(text: str) -> float:
    """Share, in [0, 1), of the text's runs of three words that have occurred in it before; 0 where it has none."""
    words = split_words(text)
    total = len(words) - 2
    return 1 - len(set(zip(words, words[1:], words[2:], strict=False))) / total if total > 0 else 0.0


def split_words(text: str) -> list[str]:
    """Words between white space; in scripts that put none between words, single characters."""
    words = text.split()
    # Twenty characters a word and more: no language with spaces writes so.
    return list("".join(words)) if len(text) > 20 * len(words) else words


def normalize_text(text: str) -> str:
    """The text as duplicates are compared: NFKC, case folded, single spaces."""
    if not text.isascii():
        # Folding the case may undo the normal form (Unicode, section 3.13, D146).
        text = unicodedata.normalize("NFKC", text)
        text = unicodedata.normalize("NFKC", text.casefold())
        return " ".join(text.split())
    return " ".join(text.lower().split())

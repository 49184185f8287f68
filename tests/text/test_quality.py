"""Examples for each filter and its threshold."""

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contexture.text.quality import (
    TEXT_REASONS,
    Filters,
    drop_reason,
    has_few_letters,
    has_markup,
    normalize_text,
    repeated_share,
    split_words,
)

GOOD = "The ferry to the island leaves at seven, and it takes the old road around the bay."
OFF = Filters(too_short=None, too_long=None, markup_left=False, few_letters=None, repetition=None, wrong_language=None)


def test_a_good_paragraph_is_kept() -> None:
    assert drop_reason(GOOD, "en", Filters()) is None


@given(st.text())
def test_any_text_has_a_reason_or_none(text: str) -> None:
    assert drop_reason(text, "en", Filters()) in {None, *TEXT_REASONS}
    assert drop_reason(text, "en", OFF) is None


def test_lengths_at_the_border() -> None:
    filters = dataclasses.replace(OFF, too_short=5, too_long=7)
    reasons = [drop_reason("x" * length, "en", filters) for length in (4, 5, 7, 8)]
    assert reasons == ["too_short", None, None, "too_long"]
    assert drop_reason("𝔘" * 4, "en", filters) == "too_short"  # characters, not bytes or UTF-16 units


MARKUP = """
The {{convert|3|km}} road.
It was '''bold''' once
the end |} of one
A note<ref name=x> there
A <SPAN lang=el>word
| align="left" | Name
Fish &amp; chips
Number &#8211; dash
thumb|200px|A boat
An <!-- unseen --> word
"""


@pytest.mark.parametrize("text", MARKUP.strip().splitlines())
def test_markup(text: str) -> None:
    assert has_markup(text)
    assert drop_reason(text, "en", dataclasses.replace(OFF, markup_left=True)) == "markup_left"


@pytest.mark.parametrize(
    "text",
    [
        "For a < b and b > c, f(x) = {x}.",
        "AT&T and R&D; Q&A",
        "<p> for the sound, and <ph>.",
        "arr[0][1] | x",
        "''fine",
    ],
)
def test_text_that_resembles_markup(text: str) -> None:
    assert not has_markup(text)


def test_few_letters_at_the_border() -> None:
    assert not has_few_letters("abc 12", 0.6)  # 3 of 5
    assert has_few_letters("abc 123", 0.6)  # 3 of 6
    assert not has_few_letters("हिन्दी में", 0.99)  # the signs of vowels are marks, and count
    assert not has_few_letters(" \t", 0.5)
    assert drop_reason("1930 | 1931 | 1932", "en", dataclasses.replace(OFF, few_letters=0.6)) == "few_letters"


def test_repetition_at_the_border() -> None:
    assert repeated_share("a b c d") == 0
    assert repeated_share("a b c a b c") == 0.25  # abc bca cab abc
    assert repeated_share("one two") == 0
    assert repeated_share("") == 0
    filters = dataclasses.replace(OFF, repetition=0.25)
    assert drop_reason("a b c a b c", "en", filters) is None
    assert drop_reason("a b c a b c a", "en", filters) == "repetition"
    assert repeated_share("春夏秋冬" * 10) > 0.8


def test_tokens() -> None:
    japanese = "古い道は海のまわりを通り、新しい道は山の中を通っている。"
    cases = {"The old  road\n": ["The", "old", "road"], japanese: list(japanese), "": []}
    assert {text: split_words(text) for text in cases} == cases


def test_the_first_reason_counts() -> None:
    text = "{{1 1 1 1 1 1 1 1 1}}"
    filters, reasons = Filters(too_short=99), []
    for key, off in (("too_short", None), ("markup_left", False), ("few_letters", None), ("repetition", None)):
        reasons.append(drop_reason(text, "en", filters))
        filters = dataclasses.replace(filters, **{key: off})
    assert reasons == ["too_short", "markup_left", "few_letters", "repetition"]
    assert drop_reason(text, "en", filters) is None


@given(st.text())
def test_normalized_is_stable(text: str) -> None:
    once = normalize_text(text)
    assert normalize_text(once) == once
    assert normalize_text(f"  {text}\n") == once


def test_normalized() -> None:
    assert normalize_text("The  ﬁne\u00a0STRASSE") == normalize_text("the fine straße")
    assert normalize_text("ＡＢＣ １２") == "abc 12"
    assert normalize_text("Κύριος ΚΎΡΙΟΣ") == "κύριοσ κύριοσ"

"""Plain text to paragraphs and chapters."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contexture.text.paragraphs import Parsed
from contexture.text.plain import Layout, detect_layout, parse_book, parse_text

WRAPPED = """CHAPTER I.
Of the harbour

The boats lay in the harbour, and the tide was
out. A half-
hour passed; nobody spoke.

  "Look," said Fen.


II.

It rained.
"""
LONG = "The boats lay in the harbour, " * 6
BY_LINE = f'Chapter One\n{LONG}\n"Look," said Fen.\n{LONG}'


def as_tuples(parsed: Parsed) -> list[tuple[int, str, str]]:
    return [(p.section_index, p.section, p.text) for p in parsed.paragraphs]


def test_wrapped_lines_are_joined_and_hyphens_left_alone() -> None:
    first, boats = "CHAPTER I. Of the harbour", "The boats lay in the harbour, and the tide was out."
    assert as_tuples(parse_book(WRAPPED)) == [
        (1, first, f"{boats} A half- hour passed; nobody spoke."),
        (1, first, '"Look," said Fen.'),
        (2, "II.", "It rained."),
    ]


def test_a_line_may_be_a_paragraph() -> None:
    paragraphs = as_tuples(parse_book(BY_LINE))
    assert [section for _, section, _ in paragraphs] == ["Chapter One"] * 3
    assert paragraphs[1][2] == '"Look," said Fen.'
    assert len(parse_book(BY_LINE, "blank_line").paragraphs) == 1
    assert len(parse_book(WRAPPED, "line").paragraphs) == 6


@pytest.mark.parametrize(
    ("lines", "layout"),
    [
        ([], "line"),
        (["one", "two"], "line"),
        (["one", "", "two"], "blank_line"),
        (["x" * 60, "x" * 62, "", "x" * 61], "blank_line"),
        (["x" * 600, "x" * 20, "", "x" * 610, "x" * 200], "line"),
        (["x" * 600, "", "x" * 20], "blank_line"),
    ],
)
def test_layout(lines: list[str], layout: Layout) -> None:
    assert detect_layout(lines) == layout


HEADINGS = """
# The Sea
## 3. The Sea ##
CHAPTER XIV.
Chapter 7: The Sea
BOOK THE SECOND
IV.
XIX
VOLUME I. THE SEA
PREMIÈRE PARTIE
Zwölftes Kapitel.
ΚΕΦΑΛΑΙΟ Α
Epilogue
Chapter twenty-one
"""


@pytest.mark.parametrize("heading", HEADINGS.strip().splitlines())
def test_headings(heading: str) -> None:
    paragraphs = parse_book(f"{heading}\n\nThe boats lay in the harbour.\n").paragraphs
    assert [(p.section_index, p.section) for p in paragraphs] == [(1, heading.strip("# "))]


SENTENCES = ["Part I like best.", "Chapter and verse he knew.", "#hashtag", "I left.", "Part one of the wall fell."]


@pytest.mark.parametrize("text", [*SENTENCES, "Volume", "12", "Chapter IV. " + LONG])
def test_no_headings(text: str) -> None:
    paragraphs = parse_book(f"{text}\n\nThe boats lay in the harbour.\n").paragraphs
    assert [p.section_index for p in paragraphs] == [0, 0]


def test_notes_of_the_publisher_are_left_out() -> None:
    text = (
        "About Boats\n\n*** START OF THE PROJECT GUTENBERG EBOOK BOATS ***\n\nThe boats lay.\n\n"
        "*** END OF THE PROJECT GUTENBERG EBOOK BOATS ***\n\nLicence.\n"
    )
    parsed = parse_book(text)
    assert [p.text for p in parsed.paragraphs] == ["The boats lay."]
    assert parsed.dropped == {"boilerplate": 2}


def test_short_paragraphs_are_counted() -> None:
    parsed = parse_text("One.\n\nA longer one\nhere.\n\n\n", "blank_line", 10)
    assert [(p.text, p.paragraph_index) for p in parsed.paragraphs] == [("A longer one here.", 0)]
    assert parsed.dropped == {"too_short": 1}


@settings(max_examples=200, deadline=None)
@given(st.text(st.sampled_from("ab \n\r\t.\0\u2028é")), st.sampled_from(["auto", "line", "blank_line"]))
def test_nothing_is_lost(text: str, layout: Layout) -> None:
    parsed = parse_book(text, layout)
    kept = "".join(p.text for p in parsed.paragraphs)
    assert all(p.text == " ".join(p.text.split()) for p in parsed.paragraphs)
    assert kept.replace(" ", "") == "".join(text.replace("\0", "").split())


@pytest.mark.parametrize("text", ["a\n" * 200_000, "Chapter " * 50_000, "# " * 100_000, "I" * 300_000])
def test_linear(text: str) -> None:
    begin = time.process_time()
    parse_book(text)
    assert time.process_time() - begin < 5

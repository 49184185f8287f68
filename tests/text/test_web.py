"""HTML and Markdown to sections and paragraphs with links."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contexture.text.html_tokens import parse_attributes, tokenize_html
from contexture.text.paragraphs import Parsed
from contexture.text.web import ListItems, html_title, markdown_title, parse_html, parse_markdown
from tests.text import gold

TITLES = {"tides.html": "Tides", "boats.md#hull": "Boats"}

PAGE, MARKDOWN = (gold.read_file(name) for name in ("page.html", "page.md"))


def as_tuples(parsed: Parsed) -> list[tuple[str, str, list[tuple[str, str]]]]:
    return [
        (p.section, p.text, [(link.target, p.text[link.start : link.end]) for link in p.links])
        for p in parsed.paragraphs
    ]


def test_a_page() -> None:
    parsed = parse_html(PAGE, TITLES.get)
    lie = "The boats lie in the old harbour & wait for the high tide, says a page elsewhere."
    building = "Building <one>"
    assert as_tuples(parsed) == [
        ("", lie, [("Tides", "high tide")]),
        (building, "Bare text, code() too", []),
        (building, "and a new line.", []),
        (building, "An item with the hull", [("Boats", "the hull")]),
        (building, "Another", []),
        (building, "After the list.", []),
    ]
    assert [p.kind for p in parsed.paragraphs] == ["prose"] * 3 + ["list_item"] * 2 + ["prose"]
    assert parsed.dropped == {"code": 1, "table": 1, "navigation": 1}


def test_without_main_content_all_but_navigation_is_read() -> None:
    parsed = parse_html(PAGE.replace('role="main"', "").replace("</div>", ""), TITLES.get)
    assert parsed.paragraphs[0].text.startswith("The boats")
    assert parsed.dropped == {"code": 1, "table": 1, "navigation": 3}


@pytest.mark.parametrize(("list_items", "count"), [("drop", 4), ("flag", 6), ("keep", 6)])
def test_list_items(list_items: ListItems, count: int) -> None:
    parsed = parse_html(PAGE, TITLES.get, list_items=list_items)
    assert len(parsed.paragraphs) == count
    assert parsed.dropped.get("list_item", 0) == 6 - count
    assert ("list_item" in {p.kind for p in parsed.paragraphs}) == (list_items == "flag")


def test_markdown() -> None:
    parsed = parse_markdown(MARKDOWN, TITLES.get)
    assert as_tuples(parsed) == [
        (
            "",
            "The boats lie in the high tide of today, see https://example.org & ref.",
            [("Tides", "high tide"), ("Boats", "ref")],
        ),
        ("Building", "one item", []),
        ("Building", "two items", []),
        ("Building", "Written in HTML.", [("Tides", "HTML")]),
    ]
    assert parsed.dropped == {"code": 1, "table": 1}


def test_titles() -> None:
    assert html_title(PAGE) == "Harbour"
    assert html_title("<title>Tides &amp; boats</title><p>x") == "Tides & boats"
    assert html_title("<p>x") == ""
    book = "<title>Tides - The Sea</title><h1 class='menu'>The Sea</h1><main><h1></h1><h1>Tides</h1><h1>Ebb</h1></main>"
    assert html_title(book) == "Tides"
    assert html_title("<h1>The Sea</h1><main><p>x</main>") == "The Sea"
    assert markdown_title(MARKDOWN) == "The *Harbour*"
    assert markdown_title("text\n\n```\n# no\n```\n\nThe `sea`\n=====\n") == "The sea"
    assert markdown_title("## second level") == ""


@pytest.mark.parametrize(("html", "expected"), gold.read_table("odd_html").items())
def test_odd_markup(html: str, expected: list[str]) -> None:
    assert [p.text for p in parse_html(html, TITLES.get).paragraphs] == expected


def test_attributes() -> None:
    assert parse_attributes(" Href='a b' x=1 y = \"&amp;\" z href=c/") == {"href": "a b", "x": "1", "y": "&", "z": ""}


MARKS = "< > / !-- --> p a \" ' = script </script> main nav &amp; ul table \0 é"
PIECES = ["x ", " href=", *MARKS.split(" ")]


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=60).map("".join))
def test_any_markup(html: str) -> None:
    for parsed in (parse_html(html, lambda _: "T"), parse_markdown(html, lambda _: "T")):
        for p in parsed.paragraphs:
            assert p.text == " ".join(p.text.split()) != ""
            assert all(0 <= link.start < link.end <= len(p.text) for link in p.links)
    assert sum(token.kind == "text" for token in tokenize_html(html)) <= len(html)


@pytest.mark.parametrize(
    "piece", ["<", "<a b='", "<!--", "<![CDATA[", "&#", "<nav>", "<script>", "<a href=x>", "<main>", "a role=main "]
)
def test_linear(piece: str) -> None:
    begin = time.process_time()
    parse_html(piece * (300_000 // len(piece)), lambda _: "T")
    assert time.process_time() - begin < 10


DESCRIPTIONS = {
    "description: Remove <b> & such": ["Remove <b> & such"],
    'description: "Quoted: a text"': ["Quoted: a text"],
    "description: >": [],
    "description:": [],
    "other: Nothing": [],
}


@pytest.mark.parametrize(("line", "texts"), DESCRIPTIONS.items())
def test_the_description_of_front_matter_is_the_first_paragraph(line: str, texts: list[str]) -> None:
    parsed = parse_markdown(f"---\ntitle: Tides\n{line}\n---\n\nThe tides rise.\n", TITLES.get)
    assert [(p.section, p.text) for p in parsed.paragraphs] == [("", text) for text in [*texts, "The tides rise."]]

"""HTML and Markdown to sections and paragraphs with links."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contexture.text.html_tokens import attributes, tokens
from contexture.text.paragraphs import Parsed
from contexture.text.web import ListItems, html_title, markdown_title, parse_html, parse_markdown

TITLES = {"tides.html": "Tides", "boats.md#hull": "Boats"}

PAGE = """<!DOCTYPE html><html lang="en"><head><title>Harbour &mdash; docs</title>
<style>p { color: red }</style><script>if (a < b) document.write("<p>no</p>");</script></head>
<body><nav><a href="tides.html">Tides</a><ul><li>Menu</li></ul></nav>
<div role="main">
<h1>Harbour<a class="headerlink" href="#harbour">¶</a></h1>
<p>The boats lie in the  <b>old</b>
harbour &amp; wait for the <a href="tides.html">high <em>tide</em></a>, says
<a href="https://example.org">a page elsewhere</a>.<!-- not > this --></p>
<h2>Building &lt;one&gt;</h2>
Bare text, <code>code()</code> too<br>and a new line.
<pre>x = 1
y = 2</pre>
<table><tr><td>cell<p>in a cell</p></td></tr></table>
<ul><li>An item with <a href='boats.md#hull'>the hull</a></li><li><p>Another</p></ul>
<p>After the list.
<aside>By the way</aside>
</div>
<footer>Made by us</footer></body></html>"""


def shown(parsed: Parsed) -> list[tuple[str, str, list[tuple[str, str]]]]:
    return [
        (p.section, p.text, [(link.target, p.text[link.start : link.end]) for link in p.links])
        for p in parsed.paragraphs
    ]


def test_a_page() -> None:
    parsed = parse_html(PAGE, TITLES.get)
    lie = "The boats lie in the old harbour & wait for the high tide, says a page elsewhere."
    building = "Building <one>"
    assert shown(parsed) == [
        ("", lie, [("Tides", "high tide")]),
        (building, "Bare text, code() too", []),
        (building, "and a new line.", []),
        (building, "An item with the hull", [("Boats", "the hull")]),
        (building, "Another", []),
        (building, "After the list.", []),
    ]
    assert [p.kind for p in parsed.paragraphs] == ["prose"] * 3 + ["list_item"] * 2 + ["prose"]
    assert parsed.dropped == {"code": 1, "table": 1, "navigation": 1}


def test_without_marked_content_all_but_navigation_is_read() -> None:
    parsed = parse_html(PAGE.replace('role="main"', "").replace("</div>", ""), TITLES.get)
    assert parsed.paragraphs[0].text.startswith("The boats")
    assert parsed.dropped == {"code": 1, "table": 1, "navigation": 3}


@pytest.mark.parametrize(("list_items", "count"), [("drop", 4), ("flag", 6), ("keep", 6)])
def test_list_items(list_items: ListItems, count: int) -> None:
    parsed = parse_html(PAGE, TITLES.get, list_items=list_items)
    assert len(parsed.paragraphs) == count
    assert parsed.dropped.get("list_item", 0) == 6 - count
    assert ("list_item" in {p.kind for p in parsed.paragraphs}) == (list_items == "flag")


MARKDOWN = """---
title: "The *Harbour*"
---
# Harbour

The boats lie in the [high
tide](tides.html "all about it") of `today`, see <https://example.org> & [ref].

[ref]: boats.md#hull

Building
--------

```python
x = "# no heading"
```

| a | b |
|---|---|
| 1 | 2 |

- one item
- two <b>items</b>

<p>Written in <a href="tides.html">HTML</a>.</p>
"""


def test_markdown() -> None:
    parsed = parse_markdown(MARKDOWN, TITLES.get)
    assert shown(parsed) == [
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


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("a < b <3 c", ["a < b <3 c"]),
        ("<p title='a > b'>x</p>", ["x"]),
        ("<p don't>x", ["x"]),
        ("<p>one<p>two", ["one", "two"]),
        ("x<script>never closed <p>y", ["x"]),
        ("x<!-- never closed <p>y", ["x"]),
        ("x<!-->y", ["xy"]),
        ('x<a href="y>z', ["x"]),
        ("<SCRIPT>a</SCRIPT ><P>b</P>", ["b"]),
        ("<svg/><p>x", ["x"]),
        ("<p hidden>a</p><p aria-hidden=true>b</p><p>c", ["c"]),
        ("<nav><nav>a</nav>b</nav>c", ["c"]),
        ("<![CDATA[x]]>y<?php z ?>", ["y"]),
        ("&#0;&#xd800;&lt;b&gt;&nbsp;&bogus;", ["\ufffd\ufffd<b> &bogus;"]),
        ("<li>a</ul></ul><p>b", ["a", "b"]),
        ("</main>x<main>y<main>z</main></main>w", ["y", "z"]),
        ("&lol9;", ["&lol9;"]),
    ],
)
def test_odd_markup(html: str, expected: list[str]) -> None:
    assert [p.text for p in parse_html(html, TITLES.get).paragraphs] == expected


def test_attributes() -> None:
    assert attributes(" Href='a b' x=1 y = \"&amp;\" z href=c/") == {"href": "a b", "x": "1", "y": "&", "z": ""}


MARKS = "< > / !-- --> p a \" ' = script </script> main nav &amp; ul table \0 é"
PIECES = ["x ", " href=", *MARKS.split(" ")]


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=60).map("".join))
def test_any_markup(html: str) -> None:
    for parsed in (parse_html(html, lambda _: "T"), parse_markdown(html, lambda _: "T")):
        for p in parsed.paragraphs:
            assert p.text == " ".join(p.text.split()) != ""
            assert all(0 <= link.start < link.end <= len(p.text) for link in p.links)
    assert sum(token.kind == "text" for token in tokens(html)) <= len(html)


@pytest.mark.parametrize(
    "piece", ["<", "<a b='", "<!--", "<![CDATA[", "&#", "<nav>", "<script>", "<a href=x>", "<main>", "a role=main "]
)
def test_linear(piece: str) -> None:
    begin = time.process_time()
    parse_html(piece * (300_000 // len(piece)), lambda _: "T")
    assert time.process_time() - begin < 10


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("description: Remove <b> & such", ["Remove <b> & such"]),
        ('description: "Quoted: a text"', ["Quoted: a text"]),
        ("description: >", []),
        ("description:", []),
        ("other: Nothing", []),
    ],
)
def test_the_description_of_front_matter_is_the_first_paragraph(line: str, told: list[str]) -> None:
    parsed = parse_markdown(f"---\ntitle: Tides\n{line}\n---\n\nThe tides rise.\n", TITLES.get)
    assert [(p.section, p.text) for p in parsed.paragraphs] == [("", text) for text in [*told, "The tides rise."]]

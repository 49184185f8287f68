"""Properties for any markup: no exception, exact anchors, no marks of the scanner, linear time."""

import time
import unicodedata
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contexture.text.mediawiki import parse_site
from contexture.text.wikitext import parse

SITE = parse_site('<mediawiki xml:lang="en"/>')

_TOKENS = (
    "[[ ]] { {{ }} }}} {| |} [ ] | || ! ' '' '' = == * # : ; < > & &amp; &nbsp; &#91; &#2; __ __TOC__ "
    "<ref> </ref> <ref/> <!-- --> <nowiki> </nowiki> <math> </math> <br> <div> </div> <li> <table> </table> "
    "<gallery> </gallery> <b> File: Category: fr: wikt: [http://a.b ( ) , . a B β 船 https:// ---- "
    "{{nowrap| {{lang|x| {{quote| {{convert| {{lc: {{nihongo| {{'}} {{!}} {{{ <math>x_{ </math> 1 [[A| ]]s [[File:A| "
    "\\frac \x00 \x02 \x03 \x04 \x05 \x06 \u200b \ufeff"
)
SPACES = ["\n", "\n\n", " ", "\n ", "\n{|", "\n|}", "\n* ", "\n== ", "\t", "\xa0", "\u2028"]
TOKENS = [*_TOKENS.split(" "), *SPACES]
MARKUP = st.lists(st.sampled_from(TOKENS), max_size=80).map("".join)


@settings(max_examples=400, deadline=None)
@given(MARKUP | st.text(max_size=200), st.sampled_from(["drop", "flag", "keep"]))
def test_any_markup(wikitext: str, list_items: Any) -> None:
    parsed = parse(wikitext, SITE, list_items=list_items)
    for index, paragraph in enumerate(parsed.paragraphs):
        assert paragraph.paragraph_index == index
        text = paragraph.text
        assert text
        assert text == " ".join(text.split())
        assert not set(text + paragraph.section) & set("\x00\x02\x03\x04\x05\x06")
        end = 0
        for link in paragraph.links:
            assert end <= link.start < link.end <= len(text)
            anchor = text[link.start : link.end]
            assert anchor == anchor.strip()
            assert link.target == link.target.strip()
            assert link.target
            end = link.end


WORD = st.text(st.characters(categories=["Lu", "Ll", "Lo", "Nd"]), min_size=1, max_size=8).filter(
    lambda word: unicodedata.is_normalized("NFC", word)
)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(WORD, WORD, WORD, st.booleans()), min_size=1, max_size=8))
def test_links_of_prose_have_exact_offsets(parts: list[tuple[str, str, str, bool]]) -> None:
    wikitext = " ".join(
        f"{lead} [[{target}]]" if bare else f"{lead} ''[[{target}|{anchor}]]''{{{{x}}}}"
        for lead, target, anchor, bare in parts
    )
    (paragraph,) = parse(f"The {wikitext} end.", SITE).paragraphs
    seen = [(link.target[1:], paragraph.text[link.start : link.end]) for link in paragraph.links]
    assert seen == [(target[1:], target if bare else anchor) for _, target, anchor, bare in parts]
    words = " ".join(f"{lead} {target if bare else anchor}" for lead, target, anchor, bare in parts)
    assert paragraph.text == f"The {words} end."


@settings(max_examples=100, deadline=None)
@given(MARKUP, st.sampled_from(["{{", "[[File:a|", "<ref>", "<!--", "{{a|[[b|{{"]))
def test_content_of_dropped_elements_is_removed(inside: str, opening: str) -> None:
    closing = {"{{": "}}", "[[File:a|": "]]", "<ref>": "</ref>", "<!--": "-->"}.get(opening, "}}]]}}")
    plain = "".join(c for c in inside if c.isalnum() or c == " ")
    (paragraph,) = parse(f"before {opening}{plain}{closing} after", SITE).paragraphs
    assert paragraph.text == "before after"


NESTS: dict[str, Callable[[int], str]] = {
    "templates": lambda n: "{{" * n + "}}" * n + "text",
    "closed, never opened": lambda n: "}}" * n + "text",
    "links": lambda n: "[[" * n + "text" + "]]" * n,
    "files": lambda n: "[[File:a|" * n + "]]" * n + "text",
    "mixed": lambda n: "{{[[" * n + "}}]]" * n + "text",
    "references": lambda n: "<ref>" * n + "text",
    "comments": lambda n: "<!--" * n + "text",
    "spaces before a gap": lambda n: "a" + " " * n + "{{b}}" + " ," * n + "text",
    "quotes": lambda n: "a'''" * n + "''text",
    "ampersands": lambda n: "&#" * n + "text",
    "templates that show text": lambda n: "{{nowrap|" * n + "text" + "}}" * n + "text",
    "arguments": lambda n: "{{nowrap|text" + "|[[" * n + "}}",
    "named arguments": lambda n: "{{nowrap|text" + "|a=" * n + "}}",
    "template by a template": lambda n: "{{lc:" * n + "text" + "}}" * n + "text",
    "brackets around a long text": lambda n: "[[" * n + "x" * n + "]]" * n + "text",
    "links of many pieces": lambda n: "[[a|[http://b c]" * n + "text",
    "gaps in brackets": lambda n: "(" * n + "{{a}})" * n + "text",
    "gaps after a long text": lambda n: "x" * n + "({{a}}," * n + "text",
    "starts of tables": lambda n: ("\n" + ":" * 50 + "{|") * (n // 20) + "\ntext",
    "long item": lambda n: "\n*" + "[[a]] [b] " * n + "[[\ntext",
    "formulas": lambda n: "a <math>{x}^{</math>" * n + "text",
    "long formula": lambda n: "a <math>" + "{x}^{" * n + "</math> text",
    "html tables": lambda n: "<table>" * n + "</table>" * n + "text",
    "headings": lambda n: "\n== a =" * n + "\ntext",
    "magic words": lambda n: "__A" * n + "text",
    "anchors of space": lambda n: "[[a| b ]] " * n + "text",
}


@pytest.mark.parametrize("nest", NESTS.values(), ids=NESTS.keys())
def test_ten_thousand_deep_in_linear_time(nest: Callable[[int], str]) -> None:
    times = []
    for wikitext in (nest(2_500), nest(20_000)):
        tries = []
        for _ in range(3):  # garbage collection may slow one of them
            start = time.process_time()
            parsed = parse(wikitext, SITE)
            tries.append(time.process_time() - start)
        times.append(min(tries))
        assert any("text" in paragraph.text for paragraph in parsed.paragraphs)
    assert times[1] < 8 * times[0] * 4 + 0.3, "eight times the markup took more than 32 times as long"

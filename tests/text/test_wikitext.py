"""Hard snippets of wikitext and their paragraphs: `⟨target|text⟩` marks a link."""

import pytest

from contexture.text.mediawiki import parse_site
from contexture.text.paragraphs import Paragraph
from contexture.text.wikitext import parse
from tests.text import gold

SITE = parse_site(
    '<mediawiki xml:lang="it"><siteinfo><namespaces><namespace key="14">Categoria</namespace>'
    '<namespace key="4">Progetto</namespace></namespaces></siteinfo>'
)


def marked(paragraph: Paragraph) -> str:
    text = paragraph.text
    for link in reversed(paragraph.links):
        text = f"{text[: link.start]}⟨{link.target}|{text[link.start : link.end]}⟩{text[link.end :]}"
    return text


def paragraphs(wikitext: str) -> list[str]:
    return [marked(paragraph) for paragraph in parse(wikitext, SITE).paragraphs]


PROSE = gold.read_table("wikitext")


@pytest.mark.parametrize(("wikitext", "expected"), PROSE.values(), ids=PROSE.keys())
def test_prose(wikitext: str, expected: list[str]) -> None:
    assert paragraphs(wikitext) == expected


def test_sections_are_numbered_and_named() -> None:
    wikitext = (
        "Lead.\n\nStill lead.\n== Early ''years'' ==\nOne.\n===Sea <!-- x -->and [[boat]]s&nbsp;=== \n"
        "Two.\n==  ==\n== Empty ==\n====== Deep ======\nThree.\n= not a heading\n"
    )
    numbered = [(p.section_index, p.section, p.paragraph_index, p.text) for p in parse(wikitext, SITE).paragraphs]
    assert numbered == [
        (0, "", 0, "Lead."),
        (0, "", 1, "Still lead."),
        (1, "Early years", 2, "One."),
        (2, "Sea and boats", 3, "Two. == =="),
        (4, "Deep", 4, "Three. = not a heading"),
    ]


def test_dropped_parts_are_counted() -> None:
    parsed = parse("A paragraph that is long.\n\nShort.\n* item\n* item\n:indented\n code()\n code()\n", SITE, 10)
    assert [paragraph.text for paragraph in parsed.paragraphs] == ["A paragraph that is long."]
    assert parsed.dropped == {"too_short": 1, "list_item": 3, "preformatted": 2}


LISTS = "A:\n* one [[a]]\n** {{nowrap|two}}\n#: three\n; term : meaning of it\n:\n* {{x}}\n<ul><li>four</li></ul>\nB."


def test_list_items_are_flagged_or_kept_as_prose() -> None:
    expected = ["A:", "one ⟨A|a⟩", "two", "three", "term: meaning of it", "four", "B."]
    for option, kind in (("flag", "list_item"), ("keep", "prose")):
        parsed = parse(LISTS, SITE, list_items=option)  # type: ignore[arg-type]
        assert [marked(paragraph) for paragraph in parsed.paragraphs] == expected
        assert [paragraph.kind for paragraph in parsed.paragraphs] == ["prose", *[kind] * 5, "prose"]
        assert parsed.dropped == {}
    dropped = parse(LISTS, SITE)
    assert [paragraph.text for paragraph in dropped.paragraphs] == ["A:", "B."]
    assert dropped.dropped == {"list_item": 7}


def test_a_user_table_of_templates() -> None:
    table = 'it:\n  "{2} ({1})": [barca]\n  "": [nowrap]\n'
    (paragraph,) = parse("La {{Barca|1900|Bella}} {{nowrap|è}} qui.", SITE, templates=table).paragraphs
    assert paragraph.text == "La Bella (1900) qui."

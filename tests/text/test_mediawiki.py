"""The head of an export and its pages."""

import pytest

from contexture.text.mediawiki import MalformedExportError, Site, normalize_title, parse_page, parse_site

HEAD = """<?xml version="1.0"?>
<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" version="0.11" xml:lang="it">
  <siteinfo>
    <sitename>Esempio</sitename>
    <dbname>itwiki</dbname>
    <namespaces>
      <namespace key="-2" case="first-letter">Media</namespace>
      <namespace key="0" case="first-letter" />
      <namespace key="1" case="first-letter">Discussione</namespace>
      <namespace key="14" case="first-letter">Categoria</namespace>
      <namespace key="100" case="first-letter">Portale</namespace>
    </namespaces>
  </siteinfo>
  <page>
    <title>Left open"""

SITE = parse_site(HEAD)


def page(inside: str, site: Site = SITE) -> str:
    return f"<page><title>Porto</title><ns>0</ns><id>7</id>{inside}</page>"


def test_site_is_read_from_the_head() -> None:
    """The site has its own, English and older names of namespaces."""
    assert (SITE.lang, SITE.dbname) == ("it", "itwiki")
    names = {"discussione": 1, "categoria": 14, "portale": 100, "file": 6, "image": 6, "category": 14, "immagine": 6}
    assert names.items() <= SITE.namespaces.items()
    titles = {"Talk:Porto": 1, "portale:Mare": 100, "Porto: una storia": 0}
    assert {title: SITE.namespace(title) for title in titles} == titles


@pytest.mark.parametrize("head", ["", "<html>", "<mediawiki", "<mediawiki a=1><siteinfo></siteinfo>"])
def test_head_of_another_kind_of_file(head: str) -> None:
    with pytest.raises(MalformedExportError):
        parse_site(head)


def test_page() -> None:
    """The last revision of a history is read."""
    older = "<revision><id>3</id><text>Il porto</text></revision>"
    text = "<text xml:space='preserve'>Il &lt;b&gt;porto&lt;/b&gt; &amp;amp; il mare</text>"
    parsed = parse_page(page(f"{older}<revision><id>9</id>{text}</revision>"), SITE)
    assert (parsed.page_id, parsed.revision_id, parsed.namespace, parsed.title) == (7, 9, 0, "Porto")
    assert parsed.text == "Il <b>porto</b> &amp; il mare"
    assert parsed.redirect is None


def test_optional_elements() -> None:
    assert parse_page(page('<revision><id>3</id><text deleted="deleted" /></revision>'), SITE).text == ""
    assert parse_page(page(""), SITE).revision_id == 0
    assert parse_page("<page><title>Portale:Mare</title><id>1</id></page>", SITE).namespace == 100
    assert parse_site("<mediawiki>\n<page>").lang == "und"
    assert parse_site('<mediawiki xml:lang="el"/>').lang == "el"


def test_redirects() -> None:
    new = page('<redirect title="bay_of_Zinnias#East" /><revision><text>#RINVIA [[x]]</text></revision>')
    old = page("<redirect /><revision><text>#RINVIA [[bay of Zinnias|x]]</text></revision>")
    assert parse_page(new, SITE).redirect == parse_page(old, SITE).redirect == "Bay of Zinnias"
    assert parse_page(page("<redirect />"), SITE).redirect == ""


@pytest.mark.parametrize(
    "xml",
    [
        "",
        "<page>",
        "<page><title>a</title><id>1</id>",
        "<page><title>a</title><id>1</id><text>a < b</text></page>",
        "<page><title>a</title><id>1</id><text>a\x01</text></page>",
        "<page><title></title><id>1</id></page>",
        "<page><title>a</title></page>",
        "<page><title>a</title><id>one</id></page>",
        "<page><title>a</title><id>" + "9" * 30 + "</id></page>",
        "<page><title>a</title><id>1</id></page><page/>",
        "<pages/>",
    ],
)
def test_malformed_pages(xml: str) -> None:
    with pytest.raises(MalformedExportError):
        parse_page(xml, SITE)


def test_no_entity_expands() -> None:
    bomb = '<!DOCTYPE b [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;">]>'
    with pytest.raises(MalformedExportError):
        parse_page(bomb + page("<text>&b;</text>"), SITE)
    with pytest.raises(MalformedExportError):
        parse_page(page("<text>&b;</text>"), SITE)
    assert parse_site(bomb + HEAD).lang == "it"  # text before the element is never parsed


TITLES = {
    "porto": "Porto",
    "_bay__of_ zinnias_": "Bay of zinnias",
    "Porto#Storia": "Porto",
    "#Storia": "",
    "": "",
    ":porto": "Porto",
    "caf%C3%A9": "Café",
    "100%": "100%",
    "A&amp;B": "A&B",
    "ßeta": "ßeta",
    "ώρα": "Ώρα",
}


def test_normalise_title() -> None:
    assert {link: normalize_title(link) for link in TITLES} == TITLES

"""Kinds of pages by their templates, categories and titles."""

import pytest

from contexture.text.kinds import page_kind
from contexture.text.mediawiki import Site

PAGES = [
    ("en", "Swan", "A '''swan''' is a bird.", "article"),
    ("en", "Swan", "{{Disambig|geo|surname}}", "disambiguation"),
    ("en", "Swan", "{{ human_name disambiguation }}", "disambiguation"),
    ("en", "Swan (disambiguation)", "", "disambiguation"),
    ("en", "Swan", "__DISAMBIG__\n* a", "disambiguation"),
    ("en", "Swan", "* a\n[[Category:Disambiguation pages with links]]", "disambiguation"),
    ("en", "Swan", "{{about|a bird|others|Swan (disambiguation)}} A bird.", "article"),
    ("en", "Swan", "{{disambiguation needed}} A bird.", "article"),
    ("en", "Swan", "{{otheruses|dab}} A bird. {{dabchick}}", "article"),
    ("en", "Disambiguation", "It is. " * 2000 + "{{disambig}}", "disambiguation"),
    ("en", "Long", "It is. " * 2000 + "{{disambig}}" + "It is. " * 2000, "article"),
    ("en", "Lists of swans", "", "list"),
    ("en", "Listeria", "", "article"),
    ("en", "Index of swan articles", "", "index"),
    ("en", "Outline of swans", "", "outline"),
    ("it", "Cigno", "{{Nota disambigua|x}} Un uccello.", "article"),
    ("it", "Lista di cigni", "", "list"),
    ("el", "Κύκνος", "{{αποσαφήνιση}}", "disambiguation"),
    ("el", "Κύκνος (αποσαφήνιση)", "", "disambiguation"),
    ("de", "Schwan", "{{Begriffsklärung}}", "disambiguation"),
    ("de", "Listenhund", "", "article"),
    ("es", "Anexo:Cisnes", "", "list"),
    ("ja", "白鳥", "{{Aimai}}", "disambiguation"),
    ("fi", "List of swans", "", "list"),
]


@pytest.mark.parametrize(("lang", "title", "text", "kind"), PAGES)
def test_page_kind(lang: str, title: str, text: str, kind: str) -> None:
    assert page_kind(title, text, Site(lang, "", {})) == kind

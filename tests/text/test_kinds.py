"""Pages that are no articles, by their templates, categories and titles."""

import pytest

from contexture.text.kinds import page_kind
from contexture.text.mediawiki import Site

PAGES = [
    ("en", "Swan", "A '''swan''' is a bird.", "article"),
    ("en", "Swan", "Swan may be:\n* a bird\n{{disambiguation}}", "disambiguation"),
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
    ("en", "List of swans", "", "list"),
    ("en", "Lists of swans", "", "list"),
    ("en", "Listeria", "", "article"),
    ("en", "Index of swan articles", "", "index"),
    ("en", "Outline of swans", "", "outline"),
    ("it", "Cigno", "{{Disambigua}}", "disambiguation"),
    ("it", "Cigno", "{{Nota disambigua|x}} Un uccello.", "article"),
    ("it", "Lista di cigni", "", "list"),
    ("it", "Glossario dei cigni", "", "index"),
    ("el", "Κύκνος", "{{αποσαφήνιση}}", "disambiguation"),
    ("el", "Κύκνος (αποσαφήνιση)", "", "disambiguation"),
    ("el", "Κατάλογος κύκνων", "", "list"),
    ("el", "Ευρετήριο κύκνων", "", "index"),
    ("de", "Schwan", "{{Begriffsklärung}}", "disambiguation"),
    ("de", "Liste der Schwäne", "", "list"),
    ("de", "Listenhund", "", "article"),
    ("fr", "Cygne", "{{Homonymie de personnes}}", "disambiguation"),
    ("fr", "Liste d'oiseaux", "", "list"),
    ("es", "Cisne", "{{desambiguación}}", "disambiguation"),
    ("es", "Anexo:Cisnes", "", "list"),
    ("ja", "白鳥", "{{Aimai}}", "disambiguation"),
    ("ru", "Список лебедей", "", "list"),
    ("fi", "List of swans", "", "list"),
]


@pytest.mark.parametrize(("lang", "title", "text", "kind"), PAGES)
def test_page_kind(lang: str, title: str, text: str, kind: str) -> None:
    assert page_kind(title, text, Site(lang, "", {})) == kind

"""Kinds of wiki pages: articles, and pages that only link to articles."""

import functools
import re
from typing import Literal

from contexture.text.mediawiki import Site
from contexture.text.tables import read_yaml

PageKind = Literal["article", "disambiguation", "list", "index", "outline"]

#: The start and end of a page, where the box of a disambiguation is.
_HEAD_CHARS, _TAIL_CHARS = 3_000, 3_000  # characters
_KINDS: tuple[PageKind, ...] = ("disambiguation", "list", "index", "outline")


def page_kind(title: str, text: str, site: Site) -> PageKind:
    """Return the kind of a wiki page, such as "article" or "disambiguation", by the marks in `kinds.yml`.

    Disambiguations have `__DISAMBIG__`, a template or category of any language, or a title; lists, indexes and outlines
    have titles that start with a phrase in the language of the wiki, or else in English.
    """
    disambiguation, titles = _load_marks()
    ends = text if len(text) <= _HEAD_CHARS + _TAIL_CHARS else f"{text[:_HEAD_CHARS]}\n{text[-_TAIL_CHARS:]}"
    if "__DISAMBIG__" in ends or disambiguation.search(ends):
        return "disambiguation"
    for kind, pattern in titles.get(site.lang, titles["en"]):
        if pattern.search(title):
            return kind
    return "article"


@functools.cache
def _load_marks() -> tuple[re.Pattern[str], dict[str, list[tuple[PageKind, re.Pattern[str]]]]]:
    """Return the pattern of disambiguations, and by language the title patterns of the other kinds."""
    table = read_yaml("kinds.yml")
    marks = table.pop("disambiguation")
    templates, categories = (_names_pattern(marks[kind]) for kind in ("templates", "categories"))
    pattern = rf"\{{\{{\s*{templates}\s*[|}}]|\[\[[^\[\]:|]*:\s*{categories}\s*[|\]]"
    titles = {
        lang: [(kind, re.compile("|".join(kinds[kind]), re.IGNORECASE)) for kind in _KINDS if kind in kinds]
        for lang, kinds in table.items()
    }
    return re.compile(pattern, re.IGNORECASE), titles


def _names_pattern(names: list[str]) -> str:
    """Return a regular expression that matches any of the names; `*` is a wildcard."""
    patterns = (re.escape(name).replace(r"\ ", "[ _]").replace(r"\*", r"[^{}\[\]|\n]*") for name in names)
    return f"(?:{'|'.join(patterns)})"

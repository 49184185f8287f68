"""What kind of page a page is: an article in sentences, or one that only leads on to others."""

import functools
import re
from typing import Literal

from contexture.text.mediawiki import Site
from contexture.text.tables import load_table

PageKind = Literal["article", "disambiguation", "list", "index", "outline"]

#: Where a page says that it tells meanings apart: its box stands at its top or end. Articles are longer.
_HEAD_CHARS, _TAIL_CHARS = 3_000, 3_000  # characters
_KINDS: tuple[PageKind, ...] = ("disambiguation", "list", "index", "outline")


def page_kind(title: str, text: str, site: Site) -> PageKind:
    """The kind of the page with this title and wikitext, by the marks in `kinds.yml`.

    A disambiguation is known by `__DISAMBIG__`, by a template or category of any language, or by its title; lists,
    indexes and outlines by the start of their titles, in the language of the wiki or else in English.
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
    """What `kinds.yml` says: marks of disambiguations; by language, kinds with what the title of such a page fits."""
    table = load_table("kinds.yml")
    marks = table.pop("disambiguation")
    templates, categories = (_names_pattern(marks[kind]) for kind in ("templates", "categories"))
    pattern = rf"\{{\{{\s*{templates}\s*[|}}]|\[\[[^\[\]:|]*:\s*{categories}\s*[|\]]"
    titles = {
        lang: [(kind, re.compile("|".join(kinds[kind]), re.IGNORECASE)) for kind in _KINDS if kind in kinds]
        for lang, kinds in table.items()
    }
    return re.compile(pattern, re.IGNORECASE), titles


def _names_pattern(names: list[str]) -> str:
    """A pattern for any of the names; `*` stands for any that begin so."""
    patterns = (re.escape(name).replace(r"\ ", "[ _]").replace(r"\*", r"[^{}\[\]|\n]*") for name in names)
    return f"(?:{'|'.join(patterns)})"

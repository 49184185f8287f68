"""What kind of page a page is: an article in sentences, or one that only leads on to others."""

import functools
import re
from importlib import resources
from typing import Literal

import yaml

from contexture.text.mediawiki import Site

PageKind = Literal["article", "disambiguation", "list", "index", "outline"]

#: Where a page says that it tells meanings apart: its box stands at its top or end. Articles are longer.
_HEAD, _TAIL = 3_000, 3_000
_TITLES: tuple[PageKind, ...] = ("disambiguation", "list", "index", "outline")


def page_kind(title: str, text: str, site: Site) -> PageKind:
    """The kind of the page with this title and wikitext, by the marks in `kinds.yml`.

    A page is a disambiguation where it holds `__DISAMBIG__`, or a template or a category that says so in any of the
    languages there, or its title ends like "(disambiguation)". Lists, indexes and outlines are known by how
    their titles begin, in the language of the wiki, or in English where that is not in the list.
    """
    marks = _marks()
    ends = text if len(text) <= _HEAD + _TAIL else f"{text[:_HEAD]}\n{text[-_TAIL:]}"
    if "__DISAMBIG__" in ends or marks.disambiguation.search(ends):
        return "disambiguation"
    for kind, pattern in marks.titles.get(site.lang, marks.titles["en"]):
        if pattern.search(title):
            return kind
    return "article"


class _Marks:
    """What `kinds.yml` says, as patterns."""

    def __init__(self, table: dict[str, dict[str, list[str]]]) -> None:
        templates, categories = (_names(table["disambiguation"][place]) for place in ("templates", "categories"))
        self.disambiguation = re.compile(
            rf"\{{\{{\s*{templates}\s*[|}}]|\[\[[^\[\]:|]*:\s*{categories}\s*[|\]]", re.IGNORECASE
        )
        #: By language: the kinds, each with what the title of such a page fits.
        self.titles = {
            lang: [(kind, re.compile("|".join(kinds[kind]), re.IGNORECASE)) for kind in _TITLES if kind in kinds]
            for lang, kinds in table.items()
            if lang != "disambiguation"
        }


def _names(names: list[str]) -> str:
    """A pattern for any of the names; `*` stands for any that begin so."""
    patterns = (re.escape(name).replace(r"\ ", "[ _]").replace(r"\*", r"[^{}\[\]|\n]*") for name in names)
    return f"(?:{'|'.join(patterns)})"


@functools.cache
def _marks() -> _Marks:
    return _Marks(yaml.safe_load((resources.files("contexture.text") / "kinds.yml").read_text("utf-8")))

"""First pass over wikitext: match the brackets, drop what is not prose, mark the links.

One walk over the markup with one stack, so that time is linear however deep or unbalanced the markup is.
The stack holds the brackets still open, each with the number of output pieces written before it: to drop a
template is to cut the output back to that number. A bracket that is never closed drops nothing: its text stays,
since losing a page's rest to one missing brace is worse than a word too many.
"""

import re

from contexture.text.characters import ANCHOR, END, GAP, LINK, drop_unwanted
from contexture.text.elements import drop_opaque, replace_tags
from contexture.text.mediawiki import Site, namespace_key, normalise_title
from contexture.text.namespaces import ARTICLE, CATEGORY, FILE, LANGUAGE_CODE, MEDIA, PROJECTS

_BRACKET = re.compile(
    r"""
      \{\{+ | \}\}+                                     # templates
    | \n[ \t:]*\{\| | \n[ \t]*\|\}(?!\})                # tables: only at the start of a line
    | \[\[+ | \]+
    | \[(?:(?i:https?|ftps?|sftp|ircs?|news|gopher|mailto|git|svn):|//)[^\s\[\]<>"]*[ \t]*
    | </?(?i:table)(?=[\s/>])[^<>]*>
    """,
    re.VERBOSE,
)
_NOT_IN_A_TITLE = re.compile(r"[\[\]{}<>\x02-\x05]")


def prune(text: str, site: Site) -> str:
    """Wikitext without comments, references, templates, tables, files, formulas, galleries and categories.

    In the result LINK target ANCHOR text END stands for a link to an article, GAP for a thing dropped that
    would have been seen there. Headings, lists, quotes, tags and entities are as they were.
    """
    return _Scan(site).run("\n" + replace_tags(drop_opaque(drop_unwanted(text))))


_TEMPLATE, _TABLE, _HTML_TABLE, _LINK, _URL = range(5)


class _Scan:
    """The state of one walk: what is written, and which brackets are open."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.out: list[str] = []
        #: (kind, pieces written before it, links closed before it; for a URL: the end of its line)
        self.stack: list[tuple[int, int, int]] = []
        self.open = [0] * 5
        self.links = 0
        self.line_end = -1

    def run(self, text: str) -> str:
        done = 0
        for bracket in _BRACKET.finditer(text):
            start, end = bracket.span()
            if start > done:
                self.out.append(text[done:start])
            done = end
            token = bracket[0]
            first, second = token[0], token[1:2]
            if first == "[":
                self._open_link(token, text, start)
            elif first == "]":
                self._close_links(len(token), start)
            elif first == "{":
                for _ in range(len(token) // 2):
                    self._push(_TEMPLATE, self.links)
            elif first == "}":
                for _ in range(len(token) // 2):
                    self._drop(_TEMPLATE)
            elif first == "<":
                if second == "/":
                    self._drop(_HTML_TABLE)
                else:
                    self._push(_HTML_TABLE, self.links)
            else:
                self.out.append("\n")
                if token[-1] == "|":
                    self._push(_TABLE, self.links)
                else:
                    self._drop(_TABLE)
        self.out.append(text[done:])
        return "".join(self.out)

    def _push(self, kind: int, note: int) -> None:
        self.stack.append((kind, len(self.out), note))
        self.open[kind] += 1

    def _pop(self, kind: int) -> tuple[int, int]:
        """Close the innermost bracket of a kind that is open; those opened inside it were never closed."""
        while True:
            top, start, note = self.stack.pop()
            self.open[top] -= 1
            if top == kind:
                return start, note

    def _drop(self, kind: int) -> None:
        if self.open[kind]:
            start, _ = self._pop(kind)
            del self.out[start:]
            self.out.append(GAP)

    def _open_link(self, token: str, text: str, start: int) -> None:
        if token[1] == "[":
            self.out.extend("[" * (len(token) % 2))
            for _ in range(len(token) // 2):
                self._push(_LINK, self.links)
            return
        if self.line_end < start:
            self.line_end = text.find("\n", start)
            if self.line_end < 0:
                self.line_end = len(text)
        self._push(_URL, self.line_end)

    def _close_links(self, count: int, position: int) -> None:
        while count:
            in_url = bool(self.stack) and self.stack[-1][0] == _URL
            # "]]" right after an external link that lacks its own bracket belongs to the link around it.
            if in_url and not (count % 2 == 0 and self.open[_LINK]):
                start, line_end = self._pop(_URL)
                if position > line_end:
                    self.out.append("]")
                elif start == len(self.out):
                    self.out.append(GAP)  # a bare number in the margin
                count -= 1
            elif count > 1:
                if self.open[_LINK]:
                    self._close_link()
                count -= 2
            else:
                self.out.append("]")
                count -= 1

    def _close_link(self) -> None:
        start, links_before = self._pop(_LINK)
        out = self.out
        head = out[start] if start < len(out) else ""
        prefix, colon, rest = head.partition(":")
        shown = not prefix.strip() and bool(colon)  # [[:File:x]] is a link that is shown, not the file itself
        if shown:
            prefix, colon, rest = rest.partition(":")
        namespace = self.site.namespaces.get(namespace_key(prefix), ARTICLE) if colon else ARTICLE
        if not shown and namespace in (FILE, MEDIA, CATEGORY):
            del out[start:]
            out.append(GAP)
        elif self.links == links_before:  # links do not nest: around another one, brackets mean nothing
            content = "".join(out[start:])
            del out[start:]
            out.append(self._link(content, prefix.lstrip() if colon else "", namespace, shown))
            self.links += 1

    def _link(self, content: str, prefix: str, namespace: int, shown: bool) -> str:
        """What to write for `[[content]]`: a marked link, its text alone, or nothing."""
        target, pipe, anchor = content.partition("|")
        if "\n\n" in content or "\n" in target:
            return content  # two brackets of different paragraphs, or no title
        anchor = anchor.replace("\n", " ") if pipe else target.strip().removeprefix(":")
        if namespace != ARTICLE or prefix.lower() in PROJECTS or _NOT_IN_A_TITLE.search(target):
            return anchor
        if prefix and LANGUAGE_CODE.fullmatch(prefix):
            return anchor if shown or pipe else GAP
        title = normalise_title(target)
        if not title:
            return anchor
        if not anchor.strip(" " + GAP):
            anchor = target
        return f"{LINK}{title}{ANCHOR}{anchor}{END}"

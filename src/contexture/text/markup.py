"""First pass over wikitext: match brackets, drop everything but prose, mark links.

Templates, tables and links are processed in MediaWiki's order, each with one stack: in linear time, also for deep or
unbalanced markup. An unclosed bracket drops nothing, so that no page is lost.
"""

import re

from contexture.text.characters import AMPERSAND, ANCHOR, END, GAP, LINK, drop_unwanted
from contexture.text.elements import drop_opaque, replace_tags
from contexture.text.mediawiki import Site, namespace_key, normalize_title
from contexture.text.namespaces import ARTICLE, CATEGORY, FILE, LANGUAGE_CODE, MEDIA, PROJECTS
from contexture.text.templates import Templates, find_run_end


def prune_markup(text: str, site: Site, templates: Templates, drop_lists: bool = True) -> tuple[str, int]:
    """Return wikitext with expanded templates, without comments, references, tables, files, galleries and categories.

    LINK target ANCHOR text END marks a link to an article, with AMPERSAND for "&" in the target. GAP marks dropped
    content that is visible on the wiki. Also returns the number of dropped lines of lists.
    """
    text = templates.expand(drop_opaque(drop_unwanted(text)))
    text = drop_tables("\n" + replace_tags(text))
    items = 0
    if drop_lists:

        def drop_and_count(lines: re.Match[str]) -> str:
            """Return a line break for matched lists, and count their lines."""
            nonlocal items
            items += lines[0].count("\n")
            return "\n"

        text = _LIST.sub(drop_and_count, text)
    return _LinkScanner(site).mark_links(_SIMPLE_LINK.sub(lambda link: _mark_link(*link.groups()), text)), items


def drop_tables(text: str) -> str:
    """Return wikitext with each table replaced by a line with GAP. The text must begin with a line break."""
    opening, closing = text.find("{|"), text.find("|}")
    opened: list[int] = []
    spans: list[tuple[int, int]] = []
    while closing >= 0:
        if 0 <= opening < closing:
            start = _find_line_break(text, opening, " \t:" + GAP)
            if start >= 0:
                opened.append(start)
            opening = text.find("{|", opening + 2)
            continue
        if opened and _find_line_break(text, closing, " \t" + GAP) >= 0:
            start = opened.pop()
            while spans and spans[-1][0] > start:
                spans.pop()
            spans.append((start, closing + 2))
        closing = text.find("|}", closing + 2)
    pieces: list[str] = []
    done = 0
    for start, end in spans:
        pieces += (text[done:start], "\n", GAP)
        done = end
    return "".join(pieces) + text[done:] if spans else text


def _find_line_break(text: str, position: int, indent: str) -> int:
    """Return the position of the preceding line break if only characters of `indent` lie between; else -1."""
    position -= 1
    while text[position] in indent:
        position -= 1
    return position if text[position] == "\n" else -1


# Lines of lists with matching brackets. The leading line break makes the search fast.
_ITEM = r"\n[*#:;](?:[^\n\[\]]++|\[\[[^\n\[\]]*+\]\]|\[[^\n\[\]]*+\])*+(?=\n|\Z)"
_LIST = re.compile(rf"{_ITEM}(?:{_ITEM})*+")
# Letters that directly follow a link belong to its text, in alphabets with spaces between words.
_ALPHABETS = ((0x61, 0x250), (0x370, 0x530), (0x561, 0x588), (0x1F00, 0x2000))  # Latin, Greek, Cyrillic, Armenian
_LETTERS = f"[{''.join(chr(c) for first, end in _ALPHABETS for c in range(first, end) if chr(c).islower())}]*"
_TRAIL = re.compile(_LETTERS)
# A link to an article, on one line and without inner brackets.
_SIMPLE_LINK = re.compile(rf"\[\[([^\[\]|{{}}<>\n:\x02-\x06]++)(?:\|([^\[\]\n]*+))?\]\]({_LETTERS})")
_SCHEMES = "https?|ftps?|sftp|ircs?|news|gopher|mailto|git|svn"
_URL = re.compile(rf"\[(?:(?:{_SCHEMES}):|//)[^\s\[\]<>\"{LINK}]*[ \t]*", re.IGNORECASE)
_MAX_TITLE_CHARS = 1024  # the bound keeps nested brackets around a long text fast
_NOT_IN_A_TITLE = re.compile(r"[\[\]{}<>\x02-\x06]")


def _mark_link(target: str, anchor: str | None, trail: str) -> str:
    """Return a marked link to an article; only its text if it leads to a section of the same page."""
    title = normalize_title(target)
    if anchor is None or not anchor.strip(" " + GAP):
        anchor = target
    if not title:
        return anchor + trail
    if "&" in title:
        title = title.replace("&", AMPERSAND)
    if "''" in title:
        title = title.replace("'", "&#39;")  # or they would be removed as italics
    return f"{LINK}{title}{ANCHOR}{anchor}{trail}{END}"


class _LinkScanner:
    """Scanner of the remaining brackets, with the output and the open brackets."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.out: list[str] = []
        #: Open brackets: (pieces written before, links closed before, end of the line if external or -1).
        self.stack: list[tuple[int, int, int]] = []
        self.open_links = 0
        self.links = 0
        self.line_end = -1

    def mark_links(self, text: str) -> str:
        """Return wikitext with marked links instead of brackets, and GAP for links to files and categories."""
        done = 0
        opening, closing = text.find("["), text.find("]")
        while opening >= 0 or closing >= 0:
            if closing < 0 or 0 <= opening < closing:
                start = opening
                end = find_run_end(text, start)
                if end - start == 1:
                    url = _URL.match(text, start)
                    if url is None:
                        opening = text.find("[", end)
                        continue
                    end = url.end()
                self.out.append(text[done:start])
                self._open_brackets(end - start, text, start)
                done = end
                opening = text.find("[", end)
            else:
                end = find_run_end(text, closing)
                if done < closing:
                    self.out.append(text[done:closing])
                done = end + self._close_brackets(end - closing, text, closing)
                closing = text.find("]", end)
        self.out.append(text[done:])
        return "".join(self.out)

    def _open_brackets(self, length: int, text: str, start: int) -> None:
        """Push `length` opening brackets on the stack: pairs open links, a single one an external link."""
        if text[start + 1] == "[":
            self.out.extend("[" * (length % 2))
            for _ in range(length // 2):
                self.stack.append((len(self.out), self.links, -1))
                self.open_links += 1
            return
        if self.line_end < start:
            self.line_end = text.find("\n", start)
            if self.line_end < 0:
                self.line_end = len(text)
        self.stack.append((len(self.out), self.links, self.line_end))

    def _close_brackets(self, count: int, text: str, start: int) -> int:
        """Close `count` brackets: complete the links that they end.

        Returns the number of following letters that belong to the last link.
        """
        end = start + count
        letters = 0
        while count:
            # "]]" after an unclosed external link belongs to the link around it.
            if self.stack and self.stack[-1][2] >= 0 and not (count % 2 == 0 and self.open_links):
                first, _, line_end = self.stack.pop()
                if start > line_end:
                    self.out.append("]")
                elif first == len(self.out):
                    self.out.append(GAP)  # a bare address is shown as a number
                count -= 1
            elif count > 1:
                count -= 2
                if self.open_links:
                    trail = _TRAIL.match(text, end) if not count else None
                    letters = self._close_link(trail[0] if trail else "")
            else:
                self.out.append("]")
                count -= 1
        return letters

    def _close_link(self, trail: str) -> int:
        """Replace the innermost open link by its output, and return how many letters of `trail` belong to it."""
        while True:  # skip unclosed external links within it
            first, links_before, line_end = self.stack.pop()
            if line_end < 0:
                break
        self.open_links -= 1
        out = self.out
        target, pipe, anchor = (out[first][:_MAX_TITLE_CHARS] if first < len(out) else "").partition("|")
        if ":" in target and self.site.namespace(target) in (FILE, MEDIA, CATEGORY):
            del out[first:]
            out.append(GAP)
            return 0
        if self.links != links_before:
            return 0  # links do not nest: brackets around a link have no meaning
        self.links += 1
        content = "".join(out[first:])
        if LINK in content:
            return 0
        del out[first:]
        target, pipe, anchor = content.partition("|")
        if "\n\n" in content or "\n" in target:
            out.append(content)  # brackets in different paragraphs, or no title
            return 0
        visible = anchor.replace("\n", " ") if pipe else None
        if _NOT_IN_A_TITLE.search(target):
            out.append((target if visible is None else visible) + trail)
        elif ":" in target:
            out.append(self._mark_namespaced(target, visible, trail))
        else:
            out.append(_mark_link(target, visible, trail))
        return len(trail)

    def _mark_namespaced(self, target: str, anchor: str | None, trail: str) -> str:
        """Return the output of a link with a colon in its target: a marked link, only text, or GAP."""
        visible = target.lstrip()
        is_shown = visible.startswith(":")  # [[:File:x]] is a visible link, not the file itself
        visible = visible[is_shown:]
        prefix, colon, _ = visible.partition(":")
        text = (visible.strip() if anchor is None else anchor) + trail
        namespace = self.site.namespaces.get(namespace_key(prefix), ARTICLE) if colon else ARTICLE
        if namespace != ARTICLE or (colon and prefix.lower() in PROJECTS):
            return text
        if colon and LANGUAGE_CODE.fullmatch(prefix):
            return text if is_shown or anchor is not None else GAP + trail
        return _mark_link(target, visible if anchor is None else anchor, trail)

"""Second pass over wikitext: convert marked wikitext to plain text with links at exact offsets."""

import re

from contexture.text.characters import AMPERSAND, ANCHOR, END, GAP, LINK, unescape
from contexture.text.paragraphs import Link

_LOOSE_ANCHOR = re.compile(rf"({LINK}[^{ANCHOR}]*{ANCHOR})( ?)([^{END}]*?)( ?){END}")
_QUOTES = re.compile("'{2,}")
_GAPS = re.compile(r"\x05(?:\s*\x05)+")
_MAGIC_WORD = re.compile(r"__[^\W\d_]+__")


def clean_markup(markup: str) -> tuple[str, list[Link]]:
    """Return plain text with single spaces, and its links with exact offsets, without links that show nothing.

    `markup` is a paragraph or heading from `prune_markup`, without `''`.
    """
    if "__" in markup:
        markup = _MAGIC_WORD.sub(lambda word: "" if word[0].isupper() else word[0], markup)
    if GAP in markup:
        markup = close_gaps(markup)
    # Targets have resolved entities, and a mark for "&".
    markup = unescape(markup)
    if LINK not in markup:
        return " ".join(markup.split()), []
    text = " ".join(markup.split())
    if f"{ANCHOR} " in text or f" {END}" in text or ANCHOR + END in text:
        text = " ".join(_LOOSE_ANCHOR.sub(_tighten_link, text).split())
    pieces = text.replace(ANCHOR, LINK).replace(END, LINK).split(LINK)  # text, target, text of the link, text, …
    links, end = [], 0
    for i in range(1, len(pieces), 3):
        start = end + len(pieces[i - 1])
        end = start + len(pieces[i + 1])
        links.append(Link(pieces[i].replace(AMPERSAND, "&"), start, end))
        pieces[i] = ""
    return "".join(pieces), links


def _tighten_link(link: re.Match[str]) -> str:
    """Return a marked link with the white space at the ends of its text outside; only that if the text is empty."""
    head, space_before, anchor, space_after = link.groups()
    return f"{space_before}{head}{anchor}{END}{space_after}" if anchor else space_before


# Pairs that are dropped with an empty content. Without straight quotes: they may end one quotation and begin another.
_QUOTE_PAIRS = {"()", "[]", "//", "“”", "«»", "‘’", "（）", "「」"}
_OPENING_BRACKETS = "([（"
_REACH_CHARS = 64  # read before a gap; the bound keeps consecutive gaps fast


def close_gaps(markup: str) -> str:
    """Return the text without the marks of dropped content, and without empty brackets, spaces and commas around."""
    left, *rest = _GAPS.sub(GAP, markup).split(GAP)
    pieces: list[str] = []
    for piece in rest:
        if len(left) > _REACH_CHARS:
            pieces.append(left[:-_REACH_CHARS])
            left = left[-_REACH_CHARS:]
        left, right = _close_gap(left, piece, at_start=not pieces)
        if right.strip():
            pieces.append(left)
            left = right
    pieces.append(left)
    return "".join(pieces)


def _close_gap(left: str, right: str, at_start: bool) -> tuple[str, str]:
    """Return the texts before and after a gap, without empty brackets, spaces and commas around it."""
    head, after = left.rstrip(), right.lstrip()
    space = len(head) < len(left)
    paired = False
    while head:
        if head[-1] in _OPENING_BRACKETS:
            after = after.lstrip(" ,;:/")
        if head[-1] + after[:1] not in _QUOTE_PAIRS:
            break
        head, inner = head[:-1], after[1:]
        after = inner.lstrip()
        space = head[-1:].isspace() or len(after) < len(inner)
        head = head.rstrip()
        paired = True
    if not head:
        if at_start:
            return "", after.lstrip(" ,;:")
        return (" ", after) if paired else (left, right)
    if head[-1] in _OPENING_BRACKETS:
        left, right = head, after
    elif paired:
        left, right = head + " " * space, after
    if after and after[0] in ",.;:!?)]":
        return head.rstrip(" ,;:/"), after
    return left, right


def drop_quotes(line: str) -> str:
    """Return a line without the apostrophes for italics and bold."""
    if "'''" not in line:
        return line.replace("''", "")
    runs = list(_QUOTES.finditer(line))
    italics = sum(len(run[0]) == 2 or len(run[0]) >= 5 for run in runs)
    bolds = sum(len(run[0]) >= 3 for run in runs)
    apostrophe = _find_misread_bold(line, runs) if italics % 2 and bolds % 2 else -1
    pieces, done = [], 0
    for run in runs:
        pieces.append(line[done : run.start()])
        length = len(run[0])
        # Four mean an apostrophe and bold; in runs of more than five, the first are apostrophes.
        pieces.append("'" * (1 if run.start() == apostrophe or length == 4 else max(0, length - 5)))
        done = run.end()
    pieces.append(line[done:])
    return "".join(pieces)


def _find_misread_bold(line: str, runs: list[re.Match[str]]) -> int:
    """Return the start of the three apostrophes that mean an apostrophe and italics (`l'''aria''`); -1 if none.

    MediaWiki's rule: the first run after a one-letter word, else after a longer word, else after a space.
    """
    after_word = after_space = -1
    for run in runs:
        if len(run[0]) != 3:
            continue
        start = run.start()
        if start == 0 or line[start - 1] == " ":
            after_space = start if after_space < 0 else after_space
        elif start == 1 or line[start - 2] == " ":
            return start
        elif after_word < 0:
            after_word = start
    return after_word if after_word >= 0 else after_space

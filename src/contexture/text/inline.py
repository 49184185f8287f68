"""Second pass: a stretch of marked wikitext to plain text with links at exact offsets."""

import re

from contexture.text.characters import GAP, LINK, unescape
from contexture.text.paragraphs import Link

_LINK = re.compile(
    # After a link, the letters that follow belong to its text, in alphabets that put spaces between words.
    r"\x02([^\x03]*)\x03([^\x04]*)\x04([a-zß-öø-ÿ\u0100-\u024f\u0370-\u052f\u0561-\u0587\u1f00-\u1fff]*)"
)
_QUOTES = re.compile("'{2,}")
_GAPS = re.compile(r"\x05(?:\s*\x05)+")
_MAGIC_WORD = re.compile(r"__[^\W\d_]+__")


def clean(markup: str) -> tuple[str, list[Link]]:
    """Plain text, with single spaces for any white space, and its links.

    Takes what `prune` leaves of a paragraph or heading, HTML tags and `''` already gone. Every link's
    `text[start:end]` is its visible text without white space at its ends; a link that shows nothing is left out.
    """
    if "__" in markup:
        markup = _MAGIC_WORD.sub(lambda word: "" if word[0].isupper() else word[0], markup)
    if GAP in markup:
        markup = close_gaps(markup)
    if LINK not in markup:
        return " ".join(unescape(markup).split()), []
    folder = _Folder()
    links, done = [], 0
    for match in _LINK.finditer(markup):
        folder.add(markup[done : match.start()])
        span = folder.add(match[2] + match[3])
        if span:
            links.append(Link(match[1], *span))
        done = match.end()
    folder.add(markup[done:])
    return "".join(folder.pieces), links


class _Folder:
    """Joins pieces of text with their white space folded, knowing where each comes to lie."""

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self.length = 0
        self.space = False

    def add(self, piece: str) -> tuple[int, int] | None:
        """Append a piece; start and end of what is not white space in it, or None where nothing is."""
        if not piece:
            return None
        piece = unescape(piece)
        words = " ".join(piece.split())
        if not words:
            self.space = self.space or bool(piece)
            return None
        if self.length and (self.space or piece[0].isspace()):
            self.pieces.append(" ")
            self.length += 1
        start = self.length
        self.pieces.append(words)
        self.length += len(words)
        self.space = piece[-1].isspace()
        return start, self.length


def close_gaps(markup: str) -> str:
    """Remove the marks of dropped things, and the empty brackets and stray spaces and commas around them."""
    left, *rest = _GAPS.sub(GAP, markup).split(GAP)
    pieces: list[str] = []
    for piece in rest:
        before, after, right = left.rstrip(), piece.lstrip(), piece
        if before.endswith("("):
            after = after.lstrip(" ,;:/")
            left, right = (before[:-1].rstrip(), after[1:]) if after.startswith(")") else (before, after)
        elif not before and not pieces:
            right = after.lstrip(" ,;:")
        elif after and after[0] in ",.;:!?)":
            left, right = before.rstrip(" ,;:/"), after
        if right.strip():
            pieces.append(left)
            left = right
    pieces.append(left)
    return "".join(pieces)


def drop_quotes(line: str) -> str:
    """One line without the apostrophes that mean italics and bold."""
    if "'''" not in line:
        return line.replace("''", "")
    runs = list(_QUOTES.finditer(line))
    italics = sum(len(run[0]) == 2 or len(run[0]) >= 5 for run in runs)
    bolds = sum(len(run[0]) >= 3 for run in runs)
    apostrophe = _misread_bold(line, runs) if italics % 2 and bolds % 2 else -1
    pieces, done = [], 0
    for run in runs:
        pieces.append(line[done : run.start()])
        length = len(run[0])
        # Four are an apostrophe and bold; of more than five, the first are apostrophes.
        pieces.append("'" * (1 if run.start() == apostrophe or length == 4 else max(0, length - 5)))
        done = run.end()
    pieces.append(line[done:])
    return "".join(pieces)


def _misread_bold(line: str, runs: list[re.Match[str]]) -> int:
    """Where bold and italics both stay open, the run of three that is an apostrophe and italics (`l'''aria''`).

    MediaWiki's rule: the first after a one-letter word, else the first after a longer one, else after a space.
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

"""HTML to tokens, in linear time whatever the markup.

Python's older HTMLParsers take quadratic time on unclosed tags.
"""

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

from contexture.text.characters import unescape


class Token(NamedTuple):
    """A stretch of text, or a tag."""

    kind: Literal["text", "start", "end"]
    #: The text as written, or the tag's name in lower case.
    value: str
    #: The start tag's, as written.
    attributes: str = ""


# None of these can fail once begun and be tried again from the next "<": what is not closed goes on to the end.
_MARKUP = re.compile(
    r"""<(?:
        !--(?:>|->|.*?(?:-->|\Z))
      | [!?][^>]*(?:>|\Z)
      | (?P<end>/)?(?P<name>[A-Za-z][^\s/>]*)
        (?P<attributes>(?:[^>=]+|=\s*(?:"[^"]*(?:"|\Z)|'[^']*(?:'|\Z))?)*+)(?:>|\Z)
    )""",
    re.VERBOSE | re.DOTALL,
)
#: Elements whose content is no markup.
_RAW_ELEMENTS = {
    name: re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE)
    for name in ("script", "style", "textarea", "title", "xmp", "iframe", "noembed", "noframes")
}
_ATTRIBUTE = re.compile(r"""([^\s"'>/=]+)(?:\s*=\s*(?:"([^"]*)"?|'([^']*)'?|([^\s"'>]+)))?""")


def tokenize_html(html: str) -> Iterator[Token]:
    """The tokens of a document; comments and declarations are passed over."""
    position = 0
    while True:
        markup = _MARKUP.search(html, position)
        start = markup.start() if markup else len(html)
        if start > position:
            yield Token("text", html[position:start])
        if markup is None:
            return
        position = markup.end()
        name = (markup["name"] or "").lower()
        if not name:
            continue
        if markup["end"]:
            yield Token("end", name)
            continue
        yield Token("start", name, markup["attributes"])
        if name in _RAW_ELEMENTS:
            close = _RAW_ELEMENTS[name].search(html, position)
            end = close.start() if close else len(html)
            if end > position:
                yield Token("text", html[position:end])
            position = end


def parse_attributes(written: str) -> dict[str, str]:
    """A start tag's attributes by their names in lower case; of one given twice, the first."""
    pairs = ((name.lower(), "".join(values)) for name, *values in _ATTRIBUTE.findall(written))
    return {name: unescape(value) for name, value in reversed([*pairs])}

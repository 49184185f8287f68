"""Split HTML into tokens, in linear time for any markup. Older HTMLParsers take quadratic time for unclosed tags."""

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

from contexture.text.characters import unescape


class Token(NamedTuple):
    """Text or a tag."""

    kind: Literal["text", "start", "end"]
    #: The raw text, or the tag's name in lower case.
    value: str
    #: Raw attributes of a start tag.
    attributes: str = ""


# Each alternative matches to the end if it is not closed, so no "<" is tried twice.
_MARKUP = re.compile(
    r"""<(?:
        !--(?:>|->|.*?(?:-->|\Z))
      | [!?][^>]*(?:>|\Z)
      | (?P<end>/)?(?P<name>[A-Za-z][^\s/>]*)
        (?P<attributes>(?:[^>=]+|=\s*(?:"[^"]*(?:"|\Z)|'[^']*(?:'|\Z))?)*+)(?:>|\Z)
    )""",
    re.VERBOSE | re.DOTALL,
)
#: Elements whose content is not markup.
_RAW_ELEMENTS = {
    name: re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE)
    for name in ("script", "style", "textarea", "title", "xmp", "iframe", "noembed", "noframes")
}
_ATTRIBUTE = re.compile(r"""([^\s"'>/=]+)(?:\s*=\s*(?:"([^"]*)"?|'([^']*)'?|([^\s"'>]+)))?""")


def tokenize_html(html: str) -> Iterator[Token]:
    """Yield the texts and tags of an HTML document, without comments and declarations."""
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
    """Return a start tag's attributes by lower-case name; the first of a name counts."""
    pairs = ((name.lower(), "".join(values)) for name, *values in _ATTRIBUTE.findall(written))
    return {name: unescape(value) for name, value in reversed([*pairs])}

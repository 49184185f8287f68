"""Characters that text never keeps, and HTML's names and numbers for characters."""

import html
import re

# Marks that the markup scanner leaves for the text cleaner. They cannot come in with an export: XML 1.0
# forbids them.
LINK, ANCHOR, END, GAP, AMPERSAND = "\x02", "\x03", "\x04", "\x05", "\x06"

#: Invisible, or ours: NUL, the marks, soft hyphen, zero-width space, direction marks, word joiner, BOM.
_UNWANTED = "\x00" + LINK + ANCHOR + END + GAP + AMPERSAND + "\xad\u200b\u200e\u200f\u2060\ufeff"
_ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")


def drop_unwanted(text: str) -> str:
    """The text without invisible characters and without the scanner's marks."""
    for character in _UNWANTED:
        if character in text:  # a search is far quicker than a replacement
            text = text.replace(character, "")
    return text


def unescape(text: str) -> str:
    """The text with `&nbsp;`, `&#8211;` and their like replaced, once, by what they stand for."""
    return _ENTITY.sub(lambda entity: drop_unwanted(html.unescape(entity[0])), text) if "&" in text else text

"""Remove unwanted characters, and resolve HTML entities."""

import html
import re

# Marks from the markup scanner for the text cleaner. XML 1.0 forbids them, so no export contains them.
LINK, ANCHOR, END, GAP, AMPERSAND = "\x02", "\x03", "\x04", "\x05", "\x06"

#: NUL, the marks, soft hyphen, zero-width space, direction marks, word joiner, BOM.
_UNWANTED = "\x00" + LINK + ANCHOR + END + GAP + AMPERSAND + "\xad\u200b\u200e\u200f\u2060\ufeff"
_ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")


def drop_unwanted(text: str) -> str:
    """Return the text without invisible characters and the marks of links and gaps."""
    for character in _UNWANTED:
        if character in text:  # a search is much faster than a replacement
            text = text.replace(character, "")
    return text


def unescape(text: str) -> str:
    """Return the text with HTML entities such as `&nbsp;` and `&#8211;` replaced by their characters, once."""
    return _ENTITY.sub(lambda entity: drop_unwanted(html.unescape(entity[0])), text) if "&" in text else text

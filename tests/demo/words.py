"""Words of a text, for tests."""

import re


def words(text: str) -> list[str]:
    """In lower case, without marks."""
    return re.findall(r"\w+", text.lower())

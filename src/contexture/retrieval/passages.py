"""The texts that searches read: those of passages, and questions."""

#: Columns of `searched_text`.
TEXT_COLUMNS = ["title", "heading", "text"]


def searched_text(title: str, heading: str, text: str) -> tuple[str, str]:
    """Return the title of a passage, and its section's heading with its text."""
    return title, f"{heading}\n{text}" if heading else text


def check_text(text: str, name: str = "the text") -> str:
    """Return a text; raise ValueError if it is empty, or has surrogates, which stand for bytes that are not UTF-8."""
    if not text.strip():
        raise ValueError(f"{name} is empty")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"{name} is not UTF-8 at character {error.start + 1}; convert it to UTF-8") from None
    return text

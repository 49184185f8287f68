"""The text of a passage that searches read."""

#: Columns of `searched_text`.
TEXT_COLUMNS = ["title", "heading", "text"]


def searched_text(title: str, heading: str, text: str) -> tuple[str, str]:
    """Return the title of a passage, and its section's heading with its text."""
    return title, f"{heading}\n{text}" if heading else text

"""Errors about input, in words for the user who gave it."""

import re


class SourceError(ValueError):
    """Input that cannot be used; the message, on one line, names the file, the place and the way out."""


_IN_A_WORKER = re.compile(r"\bSourceError: (.+)")


def explain(error: BaseException) -> str | None:
    """The message of the SourceError behind an error, also one that came out of a Spark task; else None."""
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, SourceError):
            return str(seen)
        message = _IN_A_WORKER.search(str(seen))
        if message:
            return message[1]
        seen = seen.__cause__ or seen.__context__
    return None

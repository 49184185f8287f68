"""Errors about input and disks, in words for the user who gave them."""

import errno
import os
import re
from collections.abc import Iterator


class SourceError(ValueError):
    """Input that cannot be used; the message, on one line, names the file, the place and the way out."""


_IN_A_WORKER = re.compile(r"\bSourceError: (.+)")
#: What the system says of a disk without room, to Java as to Python.
_FULL = tuple(map(os.strerror, (errno.ENOSPC, errno.EDQUOT)))


def explain(error: BaseException) -> str | None:
    """The message of the SourceError behind an error, also one that came out of a Spark task; else None."""
    for cause in _causes(error):
        if isinstance(cause, SourceError):
            return str(cause)
        message = _IN_A_WORKER.search(str(cause))
        if message:
            return message[1]
    return None


def is_disk_full(error: BaseException) -> bool:
    """Whether a disk had no room left, for this process, Java or a Spark task."""
    return any(message in str(cause) for cause in _causes(error) for message in _FULL)


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__

"""Errors about input and disks, with messages for the user."""

import errno
import os
import re
from collections.abc import Iterator


class SourceError(ValueError):
    """Input that cannot be used. Its one-line message names the file, the position and the remedy."""


_WORKER_MESSAGE = re.compile(r"\bSourceError: (.+)")
#: System messages for a full disk, the same in Java and Python.
_DISK_FULL_MESSAGES = tuple(map(os.strerror, (errno.ENOSPC, errno.EDQUOT)))


def explain_error(error: BaseException) -> str | None:
    """Return the message of the SourceError that caused an error, in this process or a Spark task; else None."""
    for cause in _iterate_causes(error):
        if isinstance(cause, SourceError):
            return str(cause)
        message = _WORKER_MESSAGE.search(str(cause))
        if message:
            return message[1]
    return None


def is_disk_full(error: BaseException) -> bool:
    """Return whether a full disk caused the error, in this process, Java or a Spark task."""
    return any(message in str(cause) for cause in _iterate_causes(error) for message in _DISK_FULL_MESSAGES)


def _iterate_causes(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error, its cause or context, the cause of that, and so on."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__

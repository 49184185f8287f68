"""Text of the console: durations, lines that fit, and error messages."""

import textwrap
from typing import TextIO

import click
from kedro.io import DatasetError
from tqdm import tqdm

MAX_LINE_CHARS, MAX_ERROR_CHARS = 120, 1200


def duration(seconds: float) -> str:
    """Format seconds as `0:07`, `12:34` or `1:02:03`."""
    minutes, second = divmod(int(seconds), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02}:{second:02}" if hours else f"{minute}:{second:02}"


def say(line: str, stream: TextIO) -> None:
    """Print a line above progress bars, in characters that `stream` can encode, and flush."""
    encoding = stream.encoding or "utf-8"
    tqdm.write(line.encode(encoding, "replace").decode(encoding), file=stream)
    stream.flush()


def truncate(text: str, width: int = MAX_LINE_CHARS) -> str:
    """Return a line cut to `width` characters, with an ellipsis if it is cut."""
    return text if len(text) <= width else text[: width - 1].rstrip() + "…"


def wrap(text: str) -> str:
    """Break a message into lines, keeping its line breaks; leave out the middle of a very long one."""
    if len(text) > MAX_ERROR_CHARS:
        text = f"{text[: MAX_ERROR_CHARS // 2]} … {text[-MAX_ERROR_CHARS // 2 :]}"
    lines = (
        textwrap.wrap(line, MAX_LINE_CHARS, break_long_words=True, break_on_hyphens=False) for line in text.splitlines()
    )
    return "\n".join(part for line in lines for part in line)


def describe_error(error: BaseException) -> str:
    """Return the message of an error, preceded by its type if the message is unclear."""
    if isinstance(error, click.ClickException):
        return error.format_message()
    text = str(error).strip()
    is_clear = isinstance(error, OSError | ValueError | RuntimeError | DatasetError)
    return text if text and is_clear else f"{type(error).__name__}: {text}".removesuffix(": ")

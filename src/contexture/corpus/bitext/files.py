"""Files of parallel sentences, pair by pair: Moses, TMX and tables of tabs."""

from collections.abc import Iterator
from itertools import zip_longest

from contexture.corpus.bitext.config import BitextSet
from contexture.corpus.bitext.tmx import read_tmx
from contexture.corpus.errors import SourceError
from contexture.corpus.sources.files import AGAIN, compressions, inspect, stream, suffix_of
from contexture.corpus.sources.protocol import MAX_DOCUMENT

#: The two sides as they stand in the file; None where it has no such side.
Pair = tuple[str | None, str | None]


def check(one: BitextSet) -> None:
    """Raises SourceError where a file of a set is missing, empty, damaged at its start or not what its name says."""
    for file in one.files:
        inspect(file)


def read_pairs(one: BitextSet) -> Iterator[Pair]:
    """The pairs of a set in their order, in bounded memory; what is not UTF-8 has U+FFFD in its place.

    Raises SourceError for a file that is damaged or cut off, and for sides that have not equally many lines.
    """
    if len(one.files) == 2:
        return _moses(*one.files)
    (file,) = one.files
    return read_tmx(file, one.languages) if suffix_of(file, compressions(".tmx")) else _table(file, one.columns)


def _moses(first: str, second: str) -> Iterator[Pair]:
    sides = _lines(first), _lines(second)
    for number, (one, other) in enumerate(zip_longest(*sides)):
        if one is None or other is None:
            # The longer side gave a line more.
            left, right = (number + (line is not None) for line in (one, other))
            left, right = left + sum(1 for _ in sides[0]), right + sum(1 for _ in sides[1])
            raise SourceError(
                f"{first} has {left:,} lines, {second} {right:,}: each line must be the translation of the other's. "
                "Take the two sides of one release."
            )
        yield one, other


def _table(file: str, columns: tuple[int, int]) -> Iterator[Pair]:
    for line in _lines(file):
        cells = line.split("\t")
        first, second = (cells[column - 1] if column <= len(cells) else None for column in columns)
        yield first, second


def _lines(path: str) -> Iterator[str]:
    """The lines of a file, empty ones included: what only a newline ends, as every tool counts them."""
    rest = b""
    try:
        for data in stream(path, inspect(path).encoding):
            *whole, rest = (rest + data).split(b"\n")
            if len(rest) > MAX_DOCUMENT:
                raise SourceError(f"{path}: a line is longer than {MAX_DOCUMENT >> 20} MiB: these are no sentences.")
            for line in whole:
                yield line.decode("utf-8", "replace")
    except EOFError as error:
        raise SourceError(f"{path}: cut off. {AGAIN}") from error
    if rest:
        yield rest.decode("utf-8", "replace")

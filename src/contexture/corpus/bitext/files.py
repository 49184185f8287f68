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


def check(pairs: BitextSet) -> None:
    """Raises SourceError where a file of a set is missing, empty, damaged at its start or not what its name says."""
    for file in pairs.files:
        inspect(file)


def read_pairs(pairs: BitextSet) -> Iterator[Pair]:
    """The pairs of a set in order, in bounded memory; bytes that are not UTF-8 become U+FFFD.

    Raises SourceError for a file that is damaged or cut off, and for sides of different length.
    """
    if len(pairs.files) == 2:
        return _moses(*pairs.files)
    (file,) = pairs.files
    return read_tmx(file, pairs.languages) if suffix_of(file, compressions(".tmx")) else _table(file, pairs.columns)


def _moses(first: str, second: str) -> Iterator[Pair]:
    sides = _lines(first), _lines(second)
    for number, pair in enumerate(zip_longest(*sides)):
        if None in pair:
            # The longer side gave a line more.
            counts = [number + (line is not None) for line in pair]
            left, right = (count + sum(1 for _ in side) for count, side in zip(counts, sides, strict=True))
            raise SourceError(
                f"{first} has {left:,} lines, {second} {right:,}: each line must be the translation of the other's. "
                "Take the two sides of one release."
            )
        yield pair


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

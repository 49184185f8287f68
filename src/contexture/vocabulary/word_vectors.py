"""Files of word vectors in their published formats: GloVe's text, word2vec's text and binary file.

A file with a million words of 300 numbers is read in one pass, in blocks of some thousand lines.
"""

import gzip
import re
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import BinaryIO, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import csv

Array = NDArray[np.float32]
#: Consecutive words of a file, and their vectors.
Block = tuple[list[bytes], Array]

_BLOCK_LINES = 4096
_READ_BYTES = 1 << 22
#: Maximum length of a word in a .bin file; with longer ones it is no word2vec file.
_MAX_WORD_BYTES = 1 << 16
_HEADER_PATTERN = re.compile(rb"\s*(\d+)\s+(\d+)\s*")
_FETCH_AGAIN = "fetch the file again"


@dataclass(frozen=True)
class WordVectors:
    """Words and their vectors."""

    words: list[str]
    #: (N, W), finite; row n belongs to word n.
    vectors: Array


def read_word_vectors(path: Path, limit: int | None = None) -> WordVectors:
    """Read words and their vectors from a published file.

    The suffix, without `.gz`, is the format:

    - `.bin`: word2vec's binary file: a line `count dimension`, then for each word its bytes, a blank and W float32.
    - otherwise text: a word and its numbers per line, separated by blanks. A first line `count dimension` is
      word2vec's; otherwise the first line determines W (GloVe). Words may contain blanks, as in some published files:
      the last W fields are the numbers.

    The first vector of a repeated word is kept.

    Args:
        path: of the file.
        limit: number of words to read; published files begin with the most frequent ones. None: all.

    Raises:
        FileNotFoundError: for a missing file.
        ValueError: naming file and line, for a wrong number of numbers, text that is no number, a number that is not
            finite, a wrong number of words in the header, or a truncated file.
    """
    if not path.is_file():
        raise FileNotFoundError(f"{path}: no such file; choose a file of word vectors (GloVe or word2vec)")
    suffix = Path(path.name.removesuffix(".gz")).suffix
    read = _read_binary if suffix == ".bin" else _read_text
    words: dict[str, None] = {}
    numbers = bytearray()  # one growing buffer, so that numbers are in memory once
    count = size = 0
    try:
        for block, vectors in read(path, limit):
            # A word that is cut within a character becomes a word that no text contains.
            texts = [word.decode("utf-8", errors="replace") for word in block]
            first = {text: row for row, text in reversed(list(enumerate(texts))) if text not in words}
            rows = sorted(first.values())
            words |= dict.fromkeys(texts[row] for row in rows)
            numbers += vectors[rows].tobytes()
            count, size = count + len(block), vectors.shape[1]
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise ValueError(f"{path}, after word {count}: damaged or cut off ({error}); {_FETCH_AGAIN}") from error
    if not count:
        raise ValueError(f"{path}: no word vectors; {_FETCH_AGAIN}")
    return WordVectors(list(words), np.frombuffer(numbers, np.float32).reshape(-1, size))


def align_vectors(vectors: WordVectors, vocabulary: Mapping[str, int], size: int) -> Array:
    """Return vectors (V, W) in the order of a vocabulary's ids, which are below `size`, V; zeros if a word has none.

    A word without a vector takes that of its lower-cased form.
    """
    rows = {word: row for row, word in enumerate(vectors.words)}
    table = np.zeros((size, vectors.vectors.shape[1]), np.float32)
    for word, number in vocabulary.items():
        row = rows.get(word, rows.get(word.lower()))
        if row is not None:
            table[number] = vectors.vectors[row]
    return table


def _open_binary(path: Path) -> BinaryIO:
    """Open a file to read bytes; a .gz file is decompressed."""
    return cast(BinaryIO, gzip.open(path) if path.suffix == ".gz" else path.open("rb"))


def _parse_header(line: bytes) -> tuple[int, int] | None:
    """Return the numbers of a line `count dimension`; None if it is another line."""
    match = _HEADER_PATTERN.fullmatch(line)
    return (int(match[1]), int(match[2])) if match else None


def _read_text(path: Path, limit: int | None) -> Iterator[Block]:
    """Yield blocks of words and vectors of a text file (GloVe, word2vec); raises ValueError if it is damaged."""
    with _open_binary(path) as file:
        first = file.readline()
        header = _parse_header(first)
        size = header[1] if header else len(first.rstrip().split(b" ")) - 1
        if first and size < 1:
            raise ValueError(f"{path}, line 1: expected a word and its numbers, or 'count dimension'; {_FETCH_AGAIN}")
        lines = file if header or not first else chain([first], file)
        numbered = islice(enumerate(lines, start=2 if header else 1), limit)
        count = 0
        while block := list(islice(numbered, _BLOCK_LINES)):
            count += len(block)
            yield _parse_lines(path, block, size)
    if header and count != min(header[0], limit or header[0]):
        raise ValueError(
            f"{path}, line 1: {header[0]} words announced, but the file has {count}; {_FETCH_AGAIN} or fix line 1"
        )


def _parse_lines(path: Path, lines: list[tuple[int, bytes]], size: int) -> Block:
    """Return the words and vectors of numbered lines, each a word and `size` numbers."""
    words, values = zip(*(_split_line(path, number, line, size) for number, line in lines), strict=True)
    vectors = _parse_numbers(values, size)
    if vectors is None:
        rows = (_parse_line(path, number, line) for (number, _), line in zip(lines, values, strict=True))
        vectors = np.array(list(rows), np.float32)
    return list(words), vectors


def _split_line(path: Path, number: int, line: bytes, size: int) -> tuple[bytes, bytes]:
    """Return the word of a line and the text of its `size` numbers; raises ValueError for another number of fields."""
    word, _, values = line.rstrip().partition(b" ")
    if values.count(b" ") != size - 1:
        parts = line.rstrip().rsplit(b" ", size)
        word, values = parts[0], b" ".join(parts[1:])
        # If the last part of the word is a number, the line has too many numbers.
        if len(parts) <= size or b"" in parts[1:] or (b" " in word and _is_number(word.rpartition(b" ")[2])):
            raise ValueError(
                f"{path}, line {number}: expected a word and {size} numbers, got "
                f"{len(line.split())} fields ({_quote(line)}); fix or delete the line, or {_FETCH_AGAIN}"
            )
    if not word:
        raise ValueError(f"{path}, line {number}: no word before the numbers; delete the line")
    return word, values


def _is_number(text: bytes) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _parse_numbers(lines: tuple[bytes, ...], size: int) -> Array | None:
    """Parse lines to numbers (lines, size); return None if Arrow's reader rejects one or one is not finite."""
    names = [str(column) for column in range(size)]
    read = csv.ReadOptions(column_names=names, block_size=sum(map(len, lines)) + len(lines))
    parse = csv.ParseOptions(delimiter=" ", quote_char=False)
    types = {name: pa.float32() for name in names}
    convert = csv.ConvertOptions(column_types=types, null_values=[], check_utf8=False)
    try:
        table = csv.read_csv(pa.BufferReader(b"\n".join(lines)), read, parse, convert)
    except pa.ArrowException:
        return None
    vectors: Array = np.stack([column.to_numpy() for column in table.columns], axis=1)
    return vectors if vectors.shape == (len(lines), size) and np.isfinite(vectors).all() else None


def _parse_line(path: Path, number: int, line: bytes) -> list[float]:
    """Return the vector that a line writes; raises ValueError, naming the line, for its first invalid number."""
    values = []
    for text in line.split(b" "):
        try:
            value = float(text)
        except ValueError as error:
            raise ValueError(f"{path}, line {number}: {_quote(text)} is no number; fix or delete the line") from error
        if not abs(value) <= float(np.finfo(np.float32).max):
            raise ValueError(f"{path}, line {number}: {_quote(text)} is not finite; fix or delete the line")
        values.append(value)
    return values


def _quote(data: bytes) -> str:
    """Return the text of `data` in quotation marks, cut to 40 characters, for an error message."""
    text = data.decode("utf-8", errors="replace").strip()
    return repr(text if len(text) <= 40 else f"{text[:40]}…")


def _read_binary(path: Path, limit: int | None) -> Iterator[Block]:
    """Yield the words and vectors of word2vec's binary file, one per block; raises ValueError if it is damaged."""
    with _open_binary(path) as file:
        header = _parse_header(file.readline(64))
        if header is None or header[1] < 1:
            raise ValueError(
                f"{path}: does not begin with 'count dimension' as word2vec's .bin files do; {_FETCH_AGAIN}"
            )
        count, size = header
        data, position, width = b"", 0, 4 * size
        for number in range(1, 1 + min(count, limit or count)):
            end = data.find(b" ", position)
            if end < 0 or end + 1 + width > len(data):
                data, position = data[position:] + file.read(max(_READ_BYTES, _MAX_WORD_BYTES + 1 + width)), 0
                end = data.find(b" ")
            if end < 0 or end + 1 + width > len(data):
                problem = "cut off" if len(data) - position < _MAX_WORD_BYTES else "no word"
                raise ValueError(
                    f"{path}, word {number} of {count}: {problem} (after {number - 1} whole words); {_FETCH_AGAIN}"
                )
            vector = np.frombuffer(data, "<f4", size, end + 1)
            if not np.isfinite(vector).all():
                raise ValueError(f"{path}, word {number}: a number that is not finite; {_FETCH_AGAIN}")
            # word2vec ends each vector with a line break.
            yield [data[position:end].lstrip(b"\n")], vector[None]
            position = end + 1 + width
        if limit is None and (data[position:].strip(b"\n") or file.read(2).strip(b"\n")):
            raise ValueError(f"{path}: more data after the {count} words of its first line; {_FETCH_AGAIN}")

"""Files of word vectors in their published formats: GloVe's text, word2vec's text and binary file, and .npy.

A million words of 300 numbers are read in one pass, some thousand lines at a time.
"""

import gzip
import re
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import BinaryIO, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import csv

Array = NDArray[np.float32]

_LINES = 4096
_READ = 1 << 22
#: No word of a .bin file is longer: what is, is no word2vec file.
_LONGEST_WORD = 1 << 16
_HEADER = re.compile(rb"\s*(\d+)\s+(\d+)\s*")
_AGAIN = "fetch the file again"


@dataclass(frozen=True)
class WordVectors:
    """Words and their vectors."""

    words: list[str]
    #: (N, W), finite; row n is of word n.
    vectors: Array
    #: How many words occurred again; their first vector is kept.
    duplicates: int = 0


def read_word_vectors(path: Path, limit: int | None = None) -> WordVectors:
    """Read a file of word vectors.

    The name's end tells the format, before a `.gz` or not:

    - `.npy`: numbers (N, W), with the words, one a line in UTF-8, in `<name>.words.txt` beside it; not gzipped.
    - `.bin`: word2vec's binary file: a line `count dimension`, then for each word its bytes, a blank and W float32.
    - everything else is text, a word and its numbers a line, separated by blanks: word2vec's, if the first line is
      `count dimension`, otherwise GloVe's, whose first line says how many numbers there are. As those W numbers are
      counted from the right, words may hold blanks, as a few of the published files' do.

    Args:
        path: of the file.
        limit: read the first lines alone, as the published files begin with the most frequent words; null: all.

    Raises:
        FileNotFoundError: for a missing file, or missing words of an .npy file.
        ValueError: naming file and line: for a line with another number of numbers, a text that is no number, a
            number that is not finite, another number of words than the header says, or a file that is cut off.
    """
    if not path.is_file():
        raise FileNotFoundError(f"{path}: there is no such file; give a file of word vectors (GloVe, word2vec or .npy)")
    suffix = Path(path.name.removesuffix(".gz")).suffix
    collected = _Collected(path)
    try:
        if suffix == ".npy":
            _read_npy(path, limit, collected)
        elif suffix == ".bin":
            _read_binary(path, limit, collected)
        else:
            _read_text(path, limit, collected)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        place = f"{path}, after word {collected.read}"
        raise ValueError(f"{place}: damaged or cut off ({error}); {_AGAIN}") from error
    return collected.finish()


def aligned(vectors: WordVectors, vocabulary: Mapping[str, int], size: int) -> Array:
    """Vectors in the order of a vocabulary's ids.

    A word that is found in lower case alone takes that word's vector.

    Args:
        vectors: of some words.
        vocabulary: from words to ids.
        size: V, above all ids.

    Returns:
        (V, W); a row of zeros where there is no vector.

    Raises:
        ValueError: for an id outside 0 … size−1.
    """
    rows = {word: row for row, word in enumerate(vectors.words)}
    table = np.zeros((size, vectors.vectors.shape[1]), np.float32)
    for word, number in vocabulary.items():
        if not 0 <= number < size:
            raise ValueError(
                f"the word {word!r} has the id {number}, but there are {size} rows: give the largest id + 1"
            )
        row = rows.get(word, rows.get(word.lower()))
        if row is not None:
            table[number] = vectors.vectors[row]
    return table


class _Collected:
    """What was read so far. Numbers lie in one growing array of bytes, so that they are in memory but once."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.words: dict[str, None] = {}
        self.numbers = bytearray()
        self.size = self.read = self.duplicates = 0

    def keeps(self, data: bytes) -> bool:
        """Whether the next word of the file is kept; it is noted, and its vector must follow.

        A word that is broken within a character, as cut words are, stays what no text holds.
        """
        self.read += 1
        word = data.decode("utf-8", errors="replace")
        if word in self.words:
            self.duplicates += 1
            return False
        self.words[word] = None
        return True

    def finish(self) -> WordVectors:
        if not self.read:
            raise ValueError(f"{self.path}: holds no word vectors; {_AGAIN}")
        vectors = np.frombuffer(self.numbers, np.float32).reshape(len(self.words), self.size)
        return WordVectors(list(self.words), vectors, self.duplicates)


def _open(path: Path) -> BinaryIO:
    return cast(BinaryIO, gzip.open(path) if path.suffix == ".gz" else path.open("rb"))


def _header(line: bytes) -> tuple[int, int] | None:
    found = _HEADER.fullmatch(line)
    return (int(found[1]), int(found[2])) if found else None


def _check_count(collected: _Collected, promised: int, limit: int | None) -> None:
    expected = promised if limit is None else min(promised, limit)
    if collected.read != expected:
        raise ValueError(
            f"{collected.path}, line 1: promises {promised} words, the file holds {collected.read}; "
            f"{_AGAIN}, or mend its first line"
        )


def _read_text(path: Path, limit: int | None, collected: _Collected) -> None:
    with _open(path) as file:
        first = file.readline()
        header = _header(first)
        collected.size = header[1] if header else len(first.rstrip().split(b" ")) - 1
        if first and collected.size < 1:
            raise ValueError(f"{path}, line 1: expected a word and its numbers, or 'count dimension'; {_AGAIN}")
        lines = _lines(file, first if header is None else b"")
        start = 1 + (header is not None)
        wanted = islice(lines, limit)
        while block := list(islice(wanted, _LINES)):
            _text_block(block, start, collected)
            start += len(block)
    if header is not None:
        _check_count(collected, header[0], limit)


def _lines(file: BinaryIO, first: bytes) -> Iterator[bytes]:
    if first:
        yield first
    yield from file


def _text_block(lines: list[bytes], start: int, collected: _Collected) -> None:
    """Add lines, of which the first has the number `start`."""
    kept, numbers = [], []
    for number, line in enumerate(lines, start=start):
        word, values = _word_and_values(line, number, collected)
        if collected.keeps(word):
            kept.append(number)
            numbers.append(values)
    if kept:
        vectors = _fast(numbers, collected.size)
        if vectors is None:
            places = (f"{collected.path}, line {number}" for number in kept)
            vectors = np.array([_checked(*line) for line in zip(numbers, places, strict=True)], np.float32)
        collected.numbers += vectors.tobytes()


def _word_and_values(line: bytes, number: int, collected: _Collected) -> tuple[bytes, bytes]:
    word, _, values = line.rstrip().partition(b" ")
    if values.count(b" ") != collected.size - 1:
        parts = line.rstrip().rsplit(b" ", collected.size)
        word, values = parts[0], b" ".join(parts[1:])
        # A word's last part that is a number is a number too many.
        if len(parts) <= collected.size or b"" in parts[1:] or _is_number(word.rpartition(b" ")[2], b" " in word):
            raise ValueError(
                f"{collected.path}, line {number}: expected a word and {collected.size} numbers, found "
                f"{len(line.split())} texts ({_shown(line)}); mend or delete the line, or {_AGAIN}"
            )
    if not word:
        raise ValueError(f"{collected.path}, line {number}: no word before the numbers; delete the line")
    return word, values


def _is_number(text: bytes, behind_a_word: bool) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return behind_a_word


def _fast(lines: list[bytes], size: int) -> Array | None:
    """Numbers (lines, size), or None where Arrow's reader takes one of them for no finite number."""
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


def _checked(values: bytes, place: str) -> list[float]:
    """The numbers of a line, read one by one: slower, and it says what is wrong."""
    numbers = []
    for value in values.split(b" "):
        try:
            number = float(value)
        except ValueError as error:
            raise ValueError(f"{place}: {_shown(value)} is no number; mend or delete the line") from error
        if not abs(number) <= float(np.finfo(np.float32).max):
            raise ValueError(f"{place}: {_shown(value)} is not finite; mend or delete the line")
        numbers.append(number)
    return numbers


def _shown(data: bytes) -> str:
    text = data.decode("utf-8", errors="replace").strip()
    return repr(text if len(text) <= 40 else f"{text[:40]}…")


def _read_binary(path: Path, limit: int | None, collected: _Collected) -> None:
    with _open(path) as file:
        header = _header(file.readline(64))
        if header is None or header[1] < 1:
            raise ValueError(f"{path}: does not begin with 'count dimension' as word2vec's .bin files do; {_AGAIN}")
        promised, collected.size = header
        data, place, width = b"", 0, 4 * collected.size
        for number in range(1, 1 + (promised if limit is None else min(promised, limit))):
            end = data.find(b" ", place)
            if end < 0 or end + 1 + width > len(data):
                data, place = data[place:] + file.read(max(_READ, _LONGEST_WORD + 1 + width)), 0
                end = data.find(b" ")
            if end < 0 or end + 1 + width > len(data):
                what = "cut off" if len(data) - place < _LONGEST_WORD else "no word there"
                raise ValueError(
                    f"{path}, word {number} of {promised}: {what} (after {collected.read} whole words); {_AGAIN}"
                )
            # The original program ends each vector with a line break.
            word = data[place:end].lstrip(b"\n")
            place = end + 1 + width
            if collected.keeps(word):
                _add_binary(data[end + 1 : place], number, collected)
        if limit is None and (data[place:].strip(b"\n") or file.read(2).strip(b"\n")):
            raise ValueError(f"{path}: goes on after the {promised} words that its first line promises; {_AGAIN}")


def _add_binary(data: bytes, number: int, collected: _Collected) -> None:
    vector = np.frombuffer(data, "<f4")
    if not np.isfinite(vector).all():
        raise ValueError(f"{collected.path}, word {number}: a number that is not finite; {_AGAIN}")
    collected.numbers += data


def _read_npy(path: Path, limit: int | None, collected: _Collected) -> None:
    names = path.with_suffix(".words.txt")
    if not names.is_file():
        raise FileNotFoundError(f"{names}: missing; write the words of {path.name} there, one a line, in their order")
    try:
        vectors = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, OSError, EOFError) as error:
        raise ValueError(f"{path}: no whole .npy file of numbers ({error}); write it with numpy.save") from error
    if vectors.ndim != 2 or not np.issubdtype(vectors.dtype, np.floating):
        raise ValueError(f"{path}: expected floats (words, numbers), found {vectors.dtype} {vectors.shape}")
    words = names.read_bytes().removesuffix(b"\n").split(b"\n")
    if len(words) != len(vectors):
        raise ValueError(f"{names}: {len(words)} lines, but {path.name} has {len(vectors)} rows: they must be as many")
    if b"" in words:
        raise ValueError(f"{names}, line {words.index(b'') + 1}: no word; write the word of the row")
    collected.size = vectors.shape[1]
    for start in range(0, len(words) if limit is None else min(limit, len(words)), _LINES):
        stop = min(start + _LINES, len(words) if limit is None else limit)
        kept = [row for row in range(start, min(stop, len(words))) if collected.keeps(words[row].rstrip(b"\r"))]
        block = np.asarray(vectors[kept], np.float32)
        finite = np.isfinite(block).all(axis=1)
        if not finite.all():
            raise ValueError(f"{path}, row {kept[int(np.argmin(finite))] + 1}: a number that is not finite")
        collected.numbers += block.tobytes()

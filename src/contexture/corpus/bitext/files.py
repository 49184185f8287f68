"""Files of parallel sentences, pair by pair: Moses, tables of tabs and translation memories (TMX 1.1 to 1.4)."""

from collections.abc import Iterator
from itertools import zip_longest
from xml.parsers import expat

from contexture.corpus.bitext.config import BitextSet
from contexture.corpus.errors import SourceError
from contexture.corpus.sources.files import AGAIN, compressions, inspect, stream, suffix_of
from contexture.corpus.sources.protocol import MAX_DOCUMENT
from contexture.text.language_codes import without_region

#: Elements within a segment that hold a word processor's codes, not words.
_CODES = {"bpt", "ept", "it", "ph", "sub", "ut"}
_ENCODINGS = {"utf-8", "utf8", "us-ascii", "utf-16", "utf-16le", "utf-16be"}
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
    return _memory(file, pairs.languages) if suffix_of(file, compressions(".tmx")) else _table(file, pairs.columns)


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


def _memory(path: str, languages: tuple[str, str]) -> Iterator[Pair]:
    """The segments of these languages of each unit, in bounded memory; None where a unit has none of one.

    "en" finds "en-GB" and "eng", too; of several segments of a language the first counts. Raises SourceError for a file
    that is malformed, cut off, of another encoding, or declares entities, and for languages that differ by region
    alone.
    """
    first, second = map(without_region, languages)
    if first == second:
        raise SourceError(f"{path}: {' and '.join(languages)} are both {first} here, where regions are not told apart.")
    for unit in _units(path):
        yield unit.get(first), unit.get(second)


def _units(path: str) -> Iterator[dict[str, str]]:
    # UTF-16 has become UTF-8 when it comes here.
    parser, units = expat.ParserCreate("utf-8"), _Units(path)
    parser.buffer_text = True
    parser.StartElementHandler, parser.EndElementHandler = units.start, units.end
    parser.CharacterDataHandler, parser.XmlDeclHandler = units.characters, units.declaration
    parser.EntityDeclHandler = units.entity
    try:
        for data in stream(path, inspect(path).encoding):
            parser.Parse(data, False)
            yield from units.take()
        parser.Parse(b"", True)
    except EOFError as error:
        raise SourceError(f"{path}: cut off. {AGAIN}") from error
    except expat.ExpatError as error:
        raise SourceError(f"{path}: is not well-formed XML: {error}. {AGAIN}") from error
    yield from units.take()


class _Units:
    """The parser's handlers, which collect units: language → segment."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.whole: list[dict[str, str]] = []
        self.unit: dict[str, str] = {}
        self.language = ""
        self.text: list[str] | None = None
        self.size = self.codes = 0

    def take(self) -> list[dict[str, str]]:
        units, self.whole = self.whole, []
        return units

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if name == "tu":
            self.unit = {}
        elif name == "tuv":
            self.language = without_region(attributes.get("xml:lang") or attributes.get("lang") or "")
        elif name == "seg":
            self.text, self.size, self.codes = [], 0, 0
        elif name in _CODES:
            self.codes += 1

    def end(self, name: str) -> None:
        if name == "tu":
            self.whole.append(self.unit)
        elif name == "seg" and self.text is not None:
            self.unit.setdefault(self.language, "".join(self.text))
            self.text = None
        elif name in _CODES:
            self.codes -= 1

    def characters(self, data: str) -> None:
        if self.text is not None and not self.codes:
            self.text.append(data)
            self.size += len(data)
            if self.size > MAX_DOCUMENT:
                raise SourceError(f"{self.path}: a segment is longer than {MAX_DOCUMENT >> 20} MiB: no sentence is.")

    def declaration(self, version: str, encoding: str | None, standalone: int) -> None:
        if encoding and encoding.lower() not in _ENCODINGS:
            raise SourceError(
                f"{self.path}: declares the encoding {encoding}. Convert it first: iconv -f {encoding} -t UTF-8."
            )

    def entity(self, name: str, *_: object) -> None:
        raise SourceError(
            f"{self.path}: declares the entity {name}, which no translation memory needs and which can make a small "
            "file expand without end. Refused; remove the declaration if you trust the file."
        )

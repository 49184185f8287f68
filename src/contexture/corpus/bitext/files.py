"""Read pairs from files of parallel sentences: Moses, tab-separated tables, translation memories (TMX 1.1 to 1.4)."""

from collections.abc import Iterator
from itertools import zip_longest
from xml.parsers import expat

from contexture.corpus.bitext.config import BitextSet
from contexture.corpus.errors import SourceError
from contexture.corpus.sources.files import DOWNLOAD_AGAIN, compressed_suffixes, find_suffix, read_chunks, read_head
from contexture.corpus.sources.protocol import MAX_DOCUMENT_BYTES
from contexture.text.language_codes import strip_region

#: Elements of a segment that hold formatting codes, not words.
_CODE_ELEMENTS = {"bpt", "ept", "it", "ph", "sub", "ut"}
_ENCODINGS = {"utf-8", "utf8", "us-ascii", "utf-16", "utf-16le", "utf-16be"}
#: The two sides, unchanged; None for a missing side.
Pair = tuple[str | None, str | None]


def check_files(pairs: BitextSet) -> None:
    """Raise SourceError if a file of the set is missing, empty, damaged at its start or does not match its suffix."""
    for file in pairs.files:
        read_head(file)


def read_pairs(pairs: BitextSet) -> Iterator[Pair]:
    """Yield the sentence pairs of a set in file order, in bounded memory. Bytes that are not UTF-8 become U+FFFD.

    Raises SourceError for damaged or truncated files and for sides of different length.
    """
    if len(pairs.files) == 2:
        return _read_moses(*pairs.files)
    (file,) = pairs.files
    if find_suffix(file, compressed_suffixes(".tmx")):
        return _read_tmx(file, pairs.languages)
    return _read_table(file, pairs.columns)


def _read_moses(first: str, second: str) -> Iterator[Pair]:
    """Yield the pairs of equal lines of two files. Raises SourceError if one file has more lines than the other."""
    sides = _read_lines(first), _read_lines(second)
    for number, pair in enumerate(zip_longest(*sides)):
        if None in pair:
            # One line more was read from the longer side.
            counts = [number + (line is not None) for line in pair]
            left, right = (count + sum(1 for _ in side) for count, side in zip(counts, sides, strict=True))
            raise SourceError(
                f"{first} has {left:,} lines, {second} {right:,}: each line must be the translation of the other "
                "file's line. Use two files of the same release."
            )
        yield pair


def _read_table(file: str, columns: tuple[int, int]) -> Iterator[Pair]:
    """Yield two columns (counted from 1) of each line of a tab-separated file; None for a missing cell."""
    for line in _read_lines(file):
        cells = line.split("\t")
        first, second = (cells[column - 1] if column <= len(cells) else None for column in columns)
        yield first, second


def _read_lines(path: str) -> Iterator[str]:
    """Yield the lines of a file, empty ones included. Only a newline ends a line."""
    rest = b""
    try:
        for data in read_chunks(path, read_head(path).encoding):
            *lines, rest = (rest + data).split(b"\n")
            if len(rest) > MAX_DOCUMENT_BYTES:
                raise SourceError(f"{path}: a line is longer than {MAX_DOCUMENT_BYTES >> 20} MiB: use sentences.")
            for line in lines:
                yield line.decode("utf-8", "replace")
    except EOFError as error:
        raise SourceError(f"{path}: cut off. {DOWNLOAD_AGAIN}") from error
    if rest:
        yield rest.decode("utf-8", "replace")


def _read_tmx(path: str, languages: tuple[str, str]) -> Iterator[Pair]:
    """Yield the segments of each translation unit in two languages, in bounded memory; None for a missing language.

    "en" also matches "en-GB" and "eng". The first segment of a language counts. Raises SourceError for files that are
    malformed, truncated, in another encoding or declare entities, and for languages that differ only by region.
    """
    first, second = map(strip_region, languages)
    if first == second:
        raise SourceError(f"{path}: {' and '.join(languages)} are both {first}: regions are ignored in .tmx files.")
    for unit in _read_units(path):
        yield unit.get(first), unit.get(second)


def _read_units(path: str) -> Iterator[dict[str, str]]:
    """Yield the translation units of a TMX file, each as language → segment."""
    # `read_chunks` has converted UTF-16 to UTF-8.
    parser, units = expat.ParserCreate("utf-8"), _UnitCollector(path)
    parser.buffer_text = True
    parser.StartElementHandler, parser.EndElementHandler = units.start_element, units.end_element
    parser.CharacterDataHandler, parser.XmlDeclHandler = units.add_text, units.check_declaration
    parser.EntityDeclHandler = units.reject_entity
    try:
        for data in read_chunks(path, read_head(path).encoding):
            parser.Parse(data, False)
            yield from units.take_units()
        parser.Parse(b"", True)
    except EOFError as error:
        raise SourceError(f"{path}: cut off. {DOWNLOAD_AGAIN}") from error
    except expat.ExpatError as error:
        raise SourceError(f"{path}: is not well-formed XML: {error}. {DOWNLOAD_AGAIN}") from error
    yield from units.take_units()


class _UnitCollector:
    """XML handlers that collect units: language → segment."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.units: list[dict[str, str]] = []
        self.unit: dict[str, str] = {}
        self.language = ""
        self.text: list[str] | None = None
        self.size = self.codes = 0

    def take_units(self) -> list[dict[str, str]]:
        """Return the units that were completed since the last call, and forget them."""
        units, self.units = self.units, []
        return units

    def start_element(self, name: str, attributes: dict[str, str]) -> None:
        """Handle an opening tag: begin a unit, a language, a segment or a formatting code."""
        if name == "tu":
            self.unit = {}
        elif name == "tuv":
            self.language = strip_region(attributes.get("xml:lang") or attributes.get("lang") or "")
        elif name == "seg":
            self.text, self.size, self.codes = [], 0, 0
        elif name in _CODE_ELEMENTS:
            self.codes += 1

    def end_element(self, name: str) -> None:
        """Handle a closing tag: complete a unit or a segment, or end a formatting code."""
        if name == "tu":
            self.units.append(self.unit)
        elif name == "seg" and self.text is not None:
            self.unit.setdefault(self.language, "".join(self.text))
            self.text = None
        elif name in _CODE_ELEMENTS:
            self.codes -= 1

    def add_text(self, data: str) -> None:
        """Add text to the current segment unless it belongs to a formatting code."""
        if self.text is not None and not self.codes:
            self.text.append(data)
            self.size += len(data)
            if self.size > MAX_DOCUMENT_BYTES:
                raise SourceError(f"{self.path}: a segment is longer than {MAX_DOCUMENT_BYTES >> 20} MiB.")

    def check_declaration(self, version: str, encoding: str | None, standalone: int) -> None:
        """Raise SourceError if the XML declaration states an encoding other than UTF-8, ASCII or UTF-16."""
        if encoding and encoding.lower() not in _ENCODINGS:
            raise SourceError(
                f"{self.path}: declares the encoding {encoding}. Convert it first: iconv -f {encoding} -t UTF-8."
            )

    def reject_entity(self, name: str, *_: object) -> None:
        """Raise SourceError, because the file declares an entity."""
        raise SourceError(
            f"{self.path}: declares the entity {name}, which can make a small file expand without limit. "
            "Remove the declaration if you trust the file."
        )

"""Translation memories (TMX 1.1 to 1.4), read as a stream."""

from collections.abc import Iterator
from xml.parsers import expat

from contexture.corpus.errors import SourceError
from contexture.corpus.sources.files import AGAIN, inspect, stream
from contexture.corpus.sources.protocol import MAX_DOCUMENT
from contexture.text.language_codes import without_region

#: Elements within a segment that hold a word processor's codes, not words.
_CODES = {"bpt", "ept", "it", "ph", "sub", "ut"}
_ENCODINGS = {"utf-8", "utf8", "us-ascii", "utf-16", "utf-16le", "utf-16be"}


def read_tmx(path: str, languages: tuple[str, str]) -> Iterator[tuple[str | None, str | None]]:
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

"""What every source of text has in common: its files, the shares of them that tasks take, and the rows it gives."""

import hashlib
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from contexture.corpus.config import CorpusConfig, SourceName
from contexture.corpus.sources.files import Encoding, Head, InputFile, read_all
from contexture.text.mediawiki import Site
from contexture.text.paragraphs import Parsed

Shared = Literal["bytes", "records", "no"]
#: A row of the table of pages, as `pages.PAGES` describes it, with "revision".
Row = dict[str, Any]

_MIN_SPLIT, _MAX_SPLIT = 256 << 10, 8 << 20
#: A document longer than this many bytes is dropped as "too_large"; of one in XML, so is a page.
MAX_DOCUMENT = 32 << 20


@dataclass(frozen=True)
class SourceFile:
    """One file of a source; `dataclasses.asdict` gives it as plain JSON."""

    source: SourceName
    #: Absolute.
    path: str
    #: Its path below the folder that `corpus.input` names, with "/"; a book's without its suffix.
    name: str
    bytes: int
    #: As in `Head`.
    fingerprint: str
    encoding: Encoding
    #: "bytes": each task takes its own stretch. "records": each reads all and parses every n-th record (what can only
    #: be read from its start: decompression is far quicker than parsing). "no": one task takes it.
    shared: Shared
    #: Of documents that do not say their own.
    lang: str
    #: Those that its documents may be of, where `lang` is that of most of them alone.
    languages: tuple[str, ...] = ()
    #: Of an export.
    site: Site | None = None
    #: Of a book or a page of documentation.
    title: str = ""


@dataclass(frozen=True)
class Split:
    """A task's share of a file: the records that begin in bytes [start, end), and of those every `parts`-th from number
    `part` on.
    """

    file: SourceFile
    start: int
    end: int
    part: int = 0
    parts: int = 1


class Source(Protocol):
    """What a source's module provides."""

    #: Ends of its files' names, in lower case.
    SUFFIXES: tuple[str, ...]

    def check(self, inputs: Sequence[InputFile], lang: str) -> list[SourceFile]:
        """Look at files' heads, before any work. Raises SourceError for the first that cannot be used.

        `lang` is the language of what does not say its own, or `languages.AUTO`; a file stays AUTO where no file tells.
        """

    def reader(self, files: Sequence[SourceFile], config: CorpusConfig) -> Callable[[Split], Iterator[Row]]:
        """The function, sent to the tasks, that reads a split of one of `files` into rows.

        The rows of a file, taken together, are the same however it is split. Raises SourceError for a damaged file.
        """


def source_file(
    source: SourceName, entry: InputFile, head: Head, lang: str, shared: Shared = "no", **details: Any
) -> SourceFile:
    """The file with what its head tells, and `details` that its source adds."""
    return SourceFile(
        source, entry.path, entry.name, head.size, head.fingerprint, head.encoding, shared, lang, **details
    )


def plan(files: Sequence[SourceFile], tasks: int) -> list[Split]:
    """Cut files into splits, for about three times `tasks` tasks."""
    total = sum(file.bytes for file in files)
    size = _split_size(files, tasks)
    splits = []
    for file in files:
        count = 1 if file.shared == "no" else math.ceil(file.bytes / size)
        if file.shared == "bytes":
            bounds = [file.bytes * i // count for i in range(count + 1)]
            splits += [Split(file, *bounds[i : i + 2]) for i in range(count)]
        else:
            # Each part reads the whole file: no more of them than keep the tasks busy.
            count = min(count, tasks, math.ceil(2 * tasks * file.bytes / total))
            splits += [Split(file, 0, file.bytes, part, count) for part in range(count)]
    return splits


def bundle(splits: Sequence[Split], files: Sequence[SourceFile], tasks: int) -> list[list[Split]]:
    """Splits in order, several small ones to one task: ten thousand small files need no ten thousand tasks."""
    size = _split_size(files, tasks)
    bundles: list[list[Split]] = []
    room = 0
    for split in splits:
        share = (split.end - split.start) // split.parts
        if share > room:
            bundles.append([])
            room = size
        bundles[-1].append(split)
        room -= share
    return bundles


def _split_size(files: Sequence[SourceFile], tasks: int) -> int:
    return min(max(sum(file.bytes for file in files) // (3 * tasks), _MIN_SPLIT), _MAX_SPLIT)


def blank(name: str, lang: str, title: str, dropped: str | None = None, revision: int = 0) -> Row:
    """The row of a document without paragraphs; of several of one language and name the greatest revision counts."""
    return {
        "doc_id": f"{lang}:{name}",
        "lang": lang,
        "title": title,
        "page_kind": "article",
        "redirect": None,
        "dropped": dropped,
        "paragraphs": [],
        "paragraphs_dropped": [],
        "revision": revision,
    }


def document(row: Row, parsed: Parsed) -> Row:
    """The row of a document that was read, still without sentences; "empty" where it holds no paragraph."""
    return row | {
        "dropped": None if parsed.paragraphs else "empty",
        "paragraphs": [paragraph._asdict() for paragraph in parsed.paragraphs],
        "paragraphs_dropped": list(parsed.dropped.items()),
    }


def read_document(file: SourceFile, parse: Callable[[str], Parsed]) -> Row:
    """The row of a file that is one document; dropped if it is cut off ("truncated"), "too_large" or "not_utf8"."""
    row = blank(file.name, file.lang, file.title)
    try:
        content = read_all(file.path, file.encoding, MAX_DOCUMENT)
        return row | {"dropped": "too_large"} if content is None else document(row, parse(content.decode()))
    except EOFError:
        return row | {"dropped": "truncated"}
    except UnicodeDecodeError:
        return row | {"dropped": "not_utf8"}


def add_sentences(row: Row, split: Callable[[str], list[str]]) -> Row:
    """The row, with the sentences of each of its paragraphs."""
    for paragraph in row["paragraphs"]:
        paragraph["sentences"] = split(paragraph["text"])
    return row


def content_name(content: bytes) -> str:
    """A name for what has none of its own: the same for the same content."""
    return "?" + hashlib.sha256(content).hexdigest()[:20]

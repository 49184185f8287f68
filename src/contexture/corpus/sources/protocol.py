"""Common interface of the sources: files, their splits for tasks, and rows."""

import hashlib
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, Self

from contexture.corpus.config import CorpusConfig, SourceName
from contexture.corpus.sources.files import Encoding, Head, InputFile, read_all
from contexture.text.mediawiki import Site
from contexture.text.paragraphs import Parsed

SplitMode = Literal["bytes", "records", "no"]
#: A row of the table of pages: the fields of `pages.PAGES_SCHEMA`, and "revision".
Row = dict[str, Any]

_MIN_SPLIT_BYTES, _MAX_SPLIT_BYTES = 256 << 10, 8 << 20
#: Longer documents, and pages of an export, are dropped as "too_large".
MAX_DOCUMENT_BYTES = 32 << 20


@dataclass(frozen=True)
class SourceFile:
    """One file of a source. `dataclasses.asdict` makes it plain JSON."""

    source: SourceName
    #: Absolute.
    path: str
    #: Path below the folder of `corpus.input`, with "/"; without suffix for books.
    name: str
    bytes: int
    #: As in `Head`.
    fingerprint: str
    encoding: Encoding
    #: "bytes": each task reads a range of bytes. "records": each task reads the whole file and parses every n-th record
    #: (for files that must be read from the start; decompression is much faster than parsing). "no": one task reads it.
    shared: SplitMode
    #: Of documents that do not declare one.
    lang: str
    #: Languages of the documents if there are several; `lang` is the most frequent one.
    languages: tuple[str, ...] = ()
    #: Only exports.
    site: Site | None = None
    #: Only books and pages of documentation.
    title: str = ""

    @classmethod
    def from_head(
        cls, source: SourceName, entry: InputFile, head: Head, lang: str, shared: SplitMode = "no", **details: Any
    ) -> Self:
        """Return the SourceFile of an input file: path, properties of its head, and `details` of its source."""
        return cls(source, entry.path, entry.name, head.size, head.fingerprint, head.encoding, shared, lang, **details)


@dataclass(frozen=True)
class Split:
    """Records of a file for one task: of those that begin in bytes [start, end), every `parts`-th from `part` on."""

    file: SourceFile
    start: int
    end: int
    part: int = 0
    parts: int = 1


class Source(Protocol):
    """Interface of the module of a source."""

    #: Suffixes of its files, in lower case.
    SUFFIXES: tuple[str, ...]

    def check(self, inputs: Sequence[InputFile], lang: str) -> list[SourceFile]:
        """Check the heads of files before a run and return the files. Raises SourceError for the first unusable file.

        `lang` is the language of files that do not declare one. Files stay `languages.AUTO` if it cannot be detected.
        """

    def reader(self, files: Sequence[SourceFile], config: CorpusConfig) -> Callable[[Split], Iterator[Row]]:
        """Return the function that reads a split of one of `files` into rows in a Spark task.

        The rows of a file do not depend on its splits. Raises SourceError for a damaged file.
        """


def plan_splits(files: Sequence[SourceFile], tasks: int) -> list[Split]:
    """Return splits that cut the files into pieces, for about three times `tasks` tasks."""
    total = sum(file.bytes for file in files)
    size = _split_size(files, tasks)
    splits = []
    for file in files:
        count = 1 if file.shared == "no" else math.ceil(file.bytes / size)
        if file.shared == "bytes":
            bounds = [file.bytes * i // count for i in range(count + 1)]
            splits += [Split(file, *bounds[i : i + 2]) for i in range(count)]
        else:
            # Each part reads the whole file, so use only as many as keep the tasks busy.
            count = min(count, tasks, math.ceil(2 * tasks * file.bytes / total))
            splits += [Split(file, 0, file.bytes, part, count) for part in range(count)]
    return splits


def bundle_splits(splits: Sequence[Split], files: Sequence[SourceFile], tasks: int) -> list[list[Split]]:
    """Return the splits in bundles, one for each task, in order: small files share a task."""
    size = _split_size(files, tasks)
    bundles: list[list[Split]] = []
    bytes_left = 0
    for split in splits:
        share = (split.end - split.start) // split.parts
        if share > bytes_left:
            bundles.append([])
            bytes_left = size
        bundles[-1].append(split)
        bytes_left -= share
    return bundles


def _split_size(files: Sequence[SourceFile], tasks: int) -> int:
    """Return the bytes of a split: all bytes divided by three times `tasks`, within limits."""
    return min(max(sum(file.bytes for file in files) // (3 * tasks), _MIN_SPLIT_BYTES), _MAX_SPLIT_BYTES)


def empty_row(name: str, lang: str, title: str, dropped: str | None = None, revision: int = 0) -> Row:
    """Return the row of a document without paragraphs. The greatest revision of a language and name counts."""
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


def document_row(row: Row, parsed: Parsed) -> Row:
    """Return the row with the paragraphs of a parsed document, without sentences; "empty" if it has none."""
    return row | {
        "dropped": None if parsed.paragraphs else "empty",
        "paragraphs": [paragraph._asdict() for paragraph in parsed.paragraphs],
        "paragraphs_dropped": list(parsed.dropped.items()),
    }


def read_document(file: SourceFile, parse: Callable[[str], Parsed]) -> Row:
    """Read a file that is one document and return its row; dropped if "truncated", "too_large" or "not_utf8"."""
    row = empty_row(file.name, file.lang, file.title)
    try:
        content = read_all(file.path, file.encoding, MAX_DOCUMENT_BYTES)
        return row | {"dropped": "too_large"} if content is None else document_row(row, parse(content.decode()))
    except EOFError:
        return row | {"dropped": "truncated"}
    except UnicodeDecodeError:
        return row | {"dropped": "not_utf8"}


def add_sentences(row: Row, split: Callable[[str], list[str]]) -> Row:
    """Add the sentences of each paragraph to the row, and return it."""
    for paragraph in row["paragraphs"]:
        paragraph["sentences"] = split(paragraph["text"])
    return row


def name_by_content(content: bytes) -> str:
    """Return a name for a document without one: a hash of its content."""
    return "?" + hashlib.sha256(content).hexdigest()[:20]

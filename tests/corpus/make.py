"""Small exports for the tests, in the format of a wiki."""

import bz2
import gzip
import lzma
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from pyspark.sql import DataFrame

from contexture.corpus.config import CorpusConfig
from contexture.corpus.sources import find_sources, open_readers, read_rows
from contexture.corpus.sources.protocol import Row, SourceFile, add_sentences, plan_splits
from contexture.text.sentences import get_splitter

HEAD = """<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" version="0.11" xml:lang="en">
  <siteinfo>
    <sitename>Test</sitename>
    <dbname>testwiki</dbname>
    <namespaces>
      <namespace key="0" case="first-letter" />
      <namespace key="1" case="first-letter">Talk</namespace>
    </namespaces>
  </siteinfo>
"""
TAIL = "</mediawiki>\n"


def make_page(number: int, title: str, text: str, ns: int = 0, redirect: str | None = None, revision: int = 1) -> str:
    target = f'    <redirect title="{escape(redirect)}" />\n' if redirect is not None else ""
    return (
        f"  <page>\n    <title>{escape(title)}</title>\n    <ns>{ns}</ns>\n    <id>{number}</id>\n{target}"
        f"    <revision>\n      <id>{revision}</id>\n"
        f'      <text xml:space="preserve">{escape(text)}</text>\n    </revision>\n  </page>\n'
    )


def make_article(number: int, sentences: int = 3) -> str:
    body = " ".join(
        f"Harbour {number} has [[boat]] number {i}, painted in {i * number} colours." for i in range(sentences)
    )
    return make_page(
        number, f"Harbour {number}", f"{body}\n\n== History ==\nIt was built by [[Fen]] in {number}. {body}\n"
    )


def make_export(*pages: str) -> bytes:
    return (HEAD + "".join(pages) + TAIL).encode()


def write_compressed(path: Path, xml: bytes) -> Path:
    """Write XML to a file, compressed by its suffix."""
    kinds = {".bz2": bz2.compress, ".gz": gzip.compress, ".xz": lzma.compress}
    path.write_bytes(kinds.get(path.suffix, bytes)(xml))
    return path


def write_multistream(path: Path, *parts: bytes) -> Path:
    """Write bzip2 with one stream for each part, like multistream dumps."""
    path.write_bytes(b"".join(bz2.compress(part) for part in parts))
    return path


def damage_file(path: Path, position: int, length: int = 8) -> Path:
    data = bytearray(path.read_bytes())
    for i in range(position, position + length):
        data[i] ^= 0x55
    path.write_bytes(data)
    return path


def truncate_file(path: Path, size: int) -> Path:
    path.write_bytes(path.read_bytes()[:size])
    return path


def find_exports(path: str) -> list[SourceFile]:
    return find_sources(CorpusConfig(input=path))


def read_all(config: CorpusConfig, tasks: int = 1) -> list[Row]:
    """Read the rows of a corpus without Spark."""
    files = find_sources(config)
    readers = open_readers(files, config)
    return [
        add_sentences(row, get_splitter(row["lang"]).split)
        for split in plan_splits(files, tasks)
        for row in read_rows(split, readers)
    ]


def read_path(path: Path | str, tasks: int = 1, **settings: Any) -> list[Row]:
    """Read the rows of the files at a path; by default in English."""
    return read_all(CorpusConfig(**{"input": str(path), "lang": "en", "min_characters": 10} | settings), tasks)


def partition_rows(frame: DataFrame) -> list[list[dict[str, Any]]]:
    """Return the rows of each partition, in order."""
    return [[row.asDict(recursive=True) for row in part] for part in frame.rdd.glom().collect()]


def by_name(rows: list[Row]) -> dict[str, Row]:
    return {row["doc_id"]: row for row in rows}


def get_texts(row: dict[str, Any]) -> list[str]:
    return [paragraph["text"] for paragraph in row["paragraphs"]]

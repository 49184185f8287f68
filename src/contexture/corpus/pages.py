"""Exports to the tables of pages, paragraphs and redirects, on Spark.

The table of pages holds everything, drops and their reasons included, so that nothing is parsed twice; the other
tables and the report are views of it. Content and order of the rows do not depend on the number of cores.
"""

import hashlib
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, cast

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from contexture.corpus.config import CorpusConfig
from contexture.corpus.exports import ExportFile
from contexture.corpus.streams import Record, Split, plan, read
from contexture.text.characters import unescape
from contexture.text.mediawiki import MalformedExportError, Page, Site, parse_page
from contexture.text.paragraphs import Paragraph
from contexture.text.sentences import splitter
from contexture.text.wikitext import parse

PARAGRAPH = (
    "section_index int, section string, paragraph_index int, text string, sentences array<string>, "
    "links array<struct<target string, start int, end int>>"
)
#: `dropped` is why a page gives no paragraphs: "namespace", "empty", "duplicate", "truncated", "malformed_xml" or
#: "too_large"; null for pages kept and for redirects. `paragraphs_dropped` counts, by reason, what was left out.
PAGES = (
    "doc_id string, lang string, title string, redirect string, dropped string, "
    f"paragraphs array<struct<{PARAGRAPH}>>, "
    "paragraphs_dropped map<string, int>"
)
_BATCH_CHARACTERS = 4 << 20

Row = dict[str, Any]


def read_pages(spark: SparkSession, exports: Sequence[ExportFile], config: CorpusConfig) -> DataFrame:
    """Every page of the exports, in the PAGES schema: `config.files` partitions, sorted by doc_id in each.

    Of several pages of one doc_id the newest revision is kept and the others are dropped as duplicates.
    Lazy: an ExportError for a damaged file comes out of the job that uses the table (see `errors.explain`).
    """
    splits = plan(exports, spark.sparkContext.defaultParallelism)
    schema = cast(StructType, StructType.fromDDL(f"{PAGES}, revision bigint, path string"))
    rows = spark.range(0, len(splits), 1, len(splits)).mapInArrow(_reader(splits, config, schema), schema)
    order = [F.col("dropped").isNotNull(), F.col("revision").desc(), F.col("path")]
    rank = F.row_number().over(Window.partitionBy("doc_id").orderBy(*order))
    again = (F.col("rank") > 1) & F.col("dropped").isNull()
    return (
        rows.repartition(config.files, "doc_id")
        .withColumn("rank", rank)
        .withColumn("redirect", F.when(~again, F.col("redirect")))
        .withColumn("paragraphs", F.when(again, F.array()).otherwise(F.col("paragraphs")))
        .withColumn("paragraphs_dropped", F.when(~again, F.col("paragraphs_dropped")).otherwise(F.create_map()))
        .withColumn("dropped", F.when(again, F.lit("duplicate")).otherwise(F.col("dropped")))
        .sortWithinPartitions("doc_id", "rank")
        .select([name for name in schema.names if name not in ("revision", "path")])
    )


def paragraphs(pages: DataFrame, config: CorpusConfig) -> DataFrame:
    """One row a paragraph: doc_id, title, lang and the fields of PARAGRAPH; sorted by page and place."""
    rows = pages.select("doc_id", "title", "lang", F.explode("paragraphs").alias("paragraph"))
    return (
        rows.select("doc_id", "title", "lang", "paragraph.*")
        .repartition(config.files, "doc_id")
        .sortWithinPartitions("doc_id", "paragraph_index")
    )


def redirects(pages: DataFrame) -> DataFrame:
    """One row a redirect: lang, title, target; sorted, in one partition."""
    rows = pages.where("dropped is null and redirect != ''")
    return (
        rows.select("lang", "title", F.col("redirect").alias("target"))
        .repartition(1)
        .sortWithinPartitions("lang", "title")
    )


def report(pages: DataFrame) -> dict[str, Any]:
    """Counts of what came in, what was kept and what was dropped, by reason.

    pages_in = pages_out + redirects + the sum of `dropped`.
    """
    total = "aggregate(paragraphs, 0L, (n, p) -> n + size(p.{}))"
    groups = (
        pages.groupBy("dropped", F.col("redirect").isNotNull().alias("redirect"))
        .agg(
            F.count("*").alias("pages"),
            F.sum(F.size("paragraphs")).alias("paragraphs"),
            F.sum(F.expr(total.format("sentences"))).alias("sentences"),
            F.sum(F.expr(total.format("links"))).alias("links"),
        )
        .collect()
    )
    lost = (
        pages.select(F.explode("paragraphs_dropped").alias("reason", "n")).groupBy("reason").agg(F.sum("n")).collect()
    )
    dropped: dict[str, int] = {}
    for row in groups:
        if row.dropped is not None:
            dropped[row.dropped] = dropped.get(row.dropped, 0) + row.pages
    kept = [row for row in groups if row.dropped is None]
    return {
        "pages_in": sum(row.pages for row in groups),
        "pages_out": sum(row.pages for row in kept if not row.redirect),
        "redirects": sum(row.pages for row in kept if row.redirect),
        "paragraphs_out": sum(row.paragraphs for row in kept),
        "sentences_out": sum(row.sentences for row in kept),
        "links_out": sum(row.links for row in kept),
        "dropped": dict(sorted(dropped.items())),
        "paragraphs_dropped": dict(sorted((row.reason, row[1]) for row in lost)),
    }


def _reader(
    splits: list[Split], config: CorpusConfig, schema: StructType
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The function that a task runs: numbers of splits to the rows of their pages."""
    min_characters = config.min_characters

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        arrow = to_arrow_schema(schema)
        for batch in batches:
            for number in batch.column(0).to_pylist():
                rows: list[Row] = []
                size = 0
                for record in read(splits[number]):
                    size += len(record.xml)
                    for row in page_rows(record, splits[number].export.site, min_characters):
                        rows.append(row | {"path": splits[number].export.path})
                    if size > _BATCH_CHARACTERS:
                        yield pa.RecordBatch.from_pylist(rows, schema=arrow)
                        rows, size = [], 0
                if rows:
                    yield pa.RecordBatch.from_pylist(rows, schema=arrow)

    return run


def page_rows(record: Record, site: Site, min_characters: int) -> Iterator[Row]:
    """Rows of the pages in a record: one, or more where files cut off in mid-page were joined."""
    *before, last = record.xml.split(b"<page>")
    for piece in before[1:]:
        yield _lost(piece, site, "truncated")
    if record.state != "whole":
        yield _lost(last, site, record.state)
        return
    try:
        page = parse_page(f"<page>{last.decode()}</page>", site)
    except (MalformedExportError, UnicodeDecodeError):
        yield _lost(last, site, "malformed_xml")
    else:
        yield _row(page, site, min_characters)


def _row(page: Page, site: Site, min_characters: int) -> Row:
    row = _blank(f"{site.lang}:{page.page_id}", site, page.title) | {"revision": page.revision_id}
    if page.namespace != 0:
        return row | {"dropped": "namespace"}
    if page.redirect is not None:
        return row | {"redirect": page.redirect}
    parsed = parse(page.text, site, min_characters)
    split = splitter(site.lang).split
    return row | {
        "dropped": None if parsed.paragraphs else "empty",
        "paragraphs": [_paragraph(paragraph, split) for paragraph in parsed.paragraphs],
        "paragraphs_dropped": list(parsed.dropped.items()),
    }


def _paragraph(paragraph: Paragraph, split: Callable[[str], list[str]]) -> Row:
    return {
        "section_index": paragraph.section_index,
        "section": paragraph.section,
        "paragraph_index": paragraph.paragraph_index,
        "text": paragraph.text,
        "sentences": split(paragraph.text),
        "links": [link._asdict() for link in paragraph.links],
    }


def _blank(doc_id: str, site: Site, title: str) -> Row:
    return {
        "doc_id": doc_id,
        "lang": site.lang,
        "title": title,
        "redirect": None,
        "dropped": None,
        "paragraphs": [],
        "paragraphs_dropped": [],
        "revision": 0,
    }


_TITLE = re.compile(r"<title>([^<]*)</title>")
_ID = re.compile(r"<id>\s*([0-9]{1,18})\s*</id>")


def _lost(piece: bytes, site: Site, reason: str) -> Row:
    """The row of a page that cannot be read, with its number and title where they can."""
    text = piece[:4096].decode("utf-8", "replace").partition("<revision>")[0]
    title, number = _TITLE.search(text), _ID.search(text)
    name = number[1] if number else "?" + hashlib.sha256(piece).hexdigest()[:16]
    return _blank(f"{site.lang}:{name}", site, unescape(title[1]) if title else "") | {"dropped": reason}

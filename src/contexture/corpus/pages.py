"""Read sources with Spark into the tables of pages, paragraphs and redirects.

The table of pages holds everything, with the reasons of drops. The other tables and the report are views of it.
Content and order of the rows do not depend on the number of cores.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, cast

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from contexture.corpus.config import CorpusConfig, SourceName
from contexture.corpus.sources import Reader, open_readers, read_rows
from contexture.corpus.sources.protocol import Row, SourceFile, Split, add_sentences, bundle_splits, plan_splits
from contexture.text.sentences import SentenceParameters, Splitter, get_splitter

PARAGRAPH_SCHEMA = (
    "section_index int, section string, paragraph_index int, text string, sentences array<string>, "
    "links array<struct<target string, start int, end int>>, kind string"
)
#: `page_kind` is "article", "disambiguation", "list", "index" or "outline". `dropped` is the reason for a page without
#: paragraphs: "empty", "duplicate", "truncated", "too_large" or one of its source's `reader`; null for kept pages and
#: redirects. `paragraphs_dropped` counts the dropped parts of a page by reason.
PAGES_SCHEMA = (
    "doc_id string, lang string, title string, page_kind string, redirect string, dropped string, "
    f"paragraphs array<struct<{PARAGRAPH_SCHEMA}>>, "
    "paragraphs_dropped map<string, int>"
)
_BATCH_CHARS = 2 << 20
_ROW_CHARS = 200


def read_pages(
    spark: SparkSession,
    files: Sequence[SourceFile],
    config: CorpusConfig,
    languages: Mapping[str, SentenceParameters] | None = None,
) -> DataFrame:
    """Return the table of all pages (PAGES_SCHEMA) with `config.files` partitions, each sorted by doc_id.

    `languages` are trained parameters of sentence splitting. The newest revision of a doc_id is kept. Lazy: the job
    that uses the table raises the SourceError of a damaged file (see `errors.explain_error`).
    """
    tasks = spark.sparkContext.defaultParallelism
    bundles = bundle_splits(plan_splits(files, tasks), files, tasks)
    readers = open_readers(files, config)
    schema = cast(StructType, StructType.fromDDL(f"{PAGES_SCHEMA}, revision bigint, path string"))
    numbers = spark.range(0, len(bundles), 1, len(bundles))
    rows = numbers.mapInArrow(_make_bundle_reader(bundles, readers, languages or {}, schema), schema)
    order = [F.col("dropped").isNotNull(), F.col("revision").desc(), F.col("path")]
    rank = F.row_number().over(Window.partitionBy("doc_id").orderBy(*order))
    is_duplicate = (F.col("rank") > 1) & F.col("dropped").isNull()
    return (
        rows.repartition(config.files, "doc_id")
        .withColumn("rank", rank)
        .withColumn("redirect", F.when(~is_duplicate, F.col("redirect")))
        .withColumn("paragraphs", F.when(is_duplicate, F.array()).otherwise(F.col("paragraphs")))
        .withColumn("paragraphs_dropped", F.when(~is_duplicate, F.col("paragraphs_dropped")).otherwise(F.create_map()))
        .withColumn("dropped", F.when(is_duplicate, F.lit("duplicate")).otherwise(F.col("dropped")))
        # The window has sorted the rows by doc_id and rank.
        .select([name for name in schema.names if name not in ("revision", "path")])
    )


def extract_paragraphs(pages: DataFrame, config: CorpusConfig) -> DataFrame:
    """Return the paragraphs of the chosen kinds of pages: doc_id, title, lang and the fields of PARAGRAPH_SCHEMA.

    Links get a doc_id. `config.files` partitions, each sorted by page and position.
    """
    chosen_rows = resolve_links(pages).where(F.col("page_kind").isin(*config.page_kinds))
    return (
        chosen_rows.select("doc_id", "title", "lang", "paragraph.*")
        # A different hash: Spark must not reuse the join's partitions, which it may have merged.
        .repartition(config.files, F.xxhash64("doc_id"))
        .sortWithinPartitions("doc_id", "paragraph_index")
    )


def find_destinations(pages: DataFrame) -> DataFrame:
    """Return lang, title and doc_id for each title that leads to a document.

    Like on a wiki, redirects to redirects lead nowhere. A document's title takes precedence over a redirect, and the
    first of several documents with one title counts.
    """
    kept = pages.where("dropped is null")
    documents = kept.where("redirect is null").groupBy("lang", "title").agg(F.min("doc_id").alias("doc_id"))
    redirects = kept.where("redirect is not null").select("lang", F.col("title").alias("name"), "redirect")
    redirect_titles = redirects.join(documents.withColumnRenamed("title", "redirect"), ["lang", "redirect"])
    titles = documents.withColumn("moved", F.lit(False)).unionByName(
        redirect_titles.select("lang", F.col("name").alias("title"), "doc_id", F.lit(True).alias("moved"))
    )
    return titles.groupBy("lang", "title").agg(F.min_by("doc_id", F.struct("moved", "doc_id")).alias("doc_id"))


def resolve_links(pages: DataFrame) -> DataFrame:
    """Return one row for each `paragraph` of the pages, with the field `doc_id` of each link: its document, or null.

    The join uses each title once per page, so even the most frequent title gives at most one row per page.
    """
    titles = "array_distinct(flatten(transform(paragraphs, p -> p.links.target)))"
    linked = pages.select("doc_id", "lang", F.explode(F.expr(titles)).alias("title"))
    known = linked.join(find_destinations(pages).withColumnRenamed("doc_id", "leads_to"), ["lang", "title"])
    maps = known.groupBy("doc_id").agg(
        F.map_from_entries(F.array_sort(F.collect_list(F.struct("title", "leads_to")))).alias("leads_to")
    )
    rows = pages.join(maps, "doc_id", "left").withColumn("paragraph", F.explode("paragraphs")).drop("paragraphs")
    resolved = F.col("paragraph").withField("links", _add_doc_ids(F.col("paragraph")["links"]))
    return rows.withColumn("paragraph", resolved).drop("leads_to")


def _add_doc_ids(links: Column) -> Column:
    """Return a column of links, each with the `doc_id` of its target from the map `leads_to`, or null."""
    return F.transform(links, lambda link: link.withField("doc_id", F.col("leads_to")[link["target"]]))


def select_redirects(pages: DataFrame) -> DataFrame:
    """Return lang, title and target of each redirect, sorted, in one partition."""
    rows = pages.where("dropped is null and redirect != ''")
    return (
        rows.select("lang", "title", F.col("redirect").alias("target"))
        .repartition(1)
        .sortWithinPartitions("lang", "title")
    )


def count_pages(pages: DataFrame, config: CorpusConfig) -> dict[str, Any]:
    """Return counts of pages and paragraphs by reason: pages_in = pages_out + redirects + the sum of `dropped`."""
    is_chosen = F.col("page_kind").isin(*config.page_kinds)
    size = F.size("paragraphs")
    groups = (
        pages.groupBy("dropped", F.col("redirect").isNotNull().alias("redirect"))
        .agg(
            F.count("*").alias("pages"),
            F.sum(F.when(is_chosen, size).otherwise(0)).alias("paragraphs"),
            F.sum(F.when(is_chosen, 0).otherwise(size)).alias("of_other_kinds"),
        )
        .collect()
    )
    paragraph_losses = (
        pages.select(F.explode("paragraphs_dropped").alias("reason", "n")).groupBy("reason").agg(F.sum("n"))
    )
    kept = [row for row in groups if row.dropped is None]
    dropped = Counter[str]()
    for row in groups:
        if row.dropped is not None:
            dropped[row.dropped] += row.pages
    paragraphs_dropped = {row[0]: row[1] for row in paragraph_losses.orderBy("reason").collect()}
    if of_other_kinds := sum(row.of_other_kinds for row in kept):
        paragraphs_dropped["page_kind"] = of_other_kinds
    return {
        "pages_in": sum(row.pages for row in groups),
        "pages_out": sum(row.pages for row in kept if not row.redirect),
        "redirects": sum(row.pages for row in kept if row.redirect),
        "dropped": dict(sorted(dropped.items())),
        "paragraphs_found": sum(row.paragraphs for row in kept),
        "paragraphs_dropped": paragraphs_dropped,
    }


def _make_bundle_reader(
    bundles: list[list[Split]],
    readers: Mapping[SourceName, Reader],
    languages: Mapping[str, SentenceParameters],
    schema: StructType,
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return a function for `mapInArrow` that reads the bundles of splits whose numbers it gets."""

    def read_numbered_bundles(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of the bundles whose numbers are in the batches."""
        arrow_schema = to_arrow_schema(schema)
        splitters = {lang: Splitter(language) for lang, language in languages.items()}
        for batch in batches:
            for number in batch.column(0).to_pylist():
                for rows in _batch_rows(
                    row for split in bundles[number] for row in _read_split(split, readers, splitters)
                ):
                    yield pa.RecordBatch.from_pylist(rows, schema=arrow_schema)

    return read_numbered_bundles


def _read_split(split: Split, readers: Mapping[SourceName, Reader], splitters: Mapping[str, Splitter]) -> Iterator[Row]:
    """Yield the rows of a split, with sentences and the file's path."""
    for row in read_rows(split, readers):
        sentences = splitters.get(row["lang"]) or get_splitter(row["lang"])
        yield add_sentences(row, sentences.split) | {"path": split.file.path}


def _batch_rows(rows: Iterator[Row]) -> Iterator[list[Row]]:
    """Group rows into lists of bounded size, because Arrow copies whole batches."""
    batch: list[Row] = []
    size = 0
    for row in rows:
        batch.append(row)
        size += _ROW_CHARS + sum(len(paragraph["text"]) for paragraph in row["paragraphs"])
        if size > _BATCH_CHARS:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch

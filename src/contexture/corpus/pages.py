"""Sources to the tables of pages, paragraphs and redirects, on Spark.

The table of pages holds everything, also what was dropped and why; the other tables and the report are views of it.
Content and order of the rows do not depend on the number of cores.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import accumulate, chain
from typing import Any, cast

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from contexture.corpus.config import CorpusConfig, SourceName
from contexture.corpus.sources import Reader, open_readers, read_rows
from contexture.corpus.sources.protocol import Row, SourceFile, Split, add_sentences, bundle, plan
from contexture.text.sentences import Language, Splitter, splitter

PARAGRAPH = (
    "section_index int, section string, paragraph_index int, text string, sentences array<string>, "
    "links array<struct<target string, start int, end int>>, kind string"
)
#: `page_kind` is "article", "disambiguation", "list", "index" or "outline". `dropped` is why a page gives no
#: paragraphs: "empty", "duplicate", "truncated", "too_large", or what its source's `reader` names; null for pages kept
#: and for redirects. `paragraphs_dropped` counts, by reason, what was left out of a page.
PAGES = (
    "doc_id string, lang string, title string, page_kind string, redirect string, dropped string, "
    f"paragraphs array<struct<{PARAGRAPH}>>, "
    "paragraphs_dropped map<string, int>"
)
_BATCH_CHARACTERS = 2 << 20
_ROW_CHARACTERS = 200


def read_pages(
    spark: SparkSession,
    files: Sequence[SourceFile],
    config: CorpusConfig,
    languages: Mapping[str, Language] | None = None,
) -> DataFrame:
    """Every page of the files, in the PAGES schema: `config.files` partitions, sorted by doc_id in each.

    `languages` are learned parameters of sentences. Of several pages of one doc_id the newest revision is kept. Lazy: a
    SourceError for a damaged file comes out of the job that uses the table (see `errors.explain`).
    """
    tasks = spark.sparkContext.defaultParallelism
    bundles = bundle(plan(files, tasks), files, tasks)
    readers = open_readers(files, config)
    schema = cast(StructType, StructType.fromDDL(f"{PAGES}, revision bigint, path string"))
    numbers = spark.range(0, len(bundles), 1, len(bundles))
    rows = numbers.mapInArrow(_task(bundles, readers, languages or {}, schema), schema)
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
        # The window has sorted them: by doc_id, and by rank in each.
        .select([name for name in schema.names if name not in ("revision", "path")])
    )


def paragraphs(pages: DataFrame, config: CorpusConfig) -> DataFrame:
    """One row for each paragraph of the chosen kinds of pages: doc_id, title, lang and the fields of PARAGRAPH.

    Links have their doc_id. `config.files` partitions, sorted by page and position in each.
    """
    is_chosen = resolve_links(pages).where(F.col("page_kind").isin(*config.page_kinds))
    return (
        is_chosen.select("doc_id", "title", "lang", "paragraph.*")
        # By a hash of its own: the join's partitions, which Spark merges as it sees fit, must not pass for these.
        .repartition(config.files, F.xxhash64("doc_id"))
        .sortWithinPartitions("doc_id", "paragraph_index")
    )


def destinations(pages: DataFrame) -> DataFrame:
    """One row for every title that leads to a document: lang, title and the document's doc_id.

    As on a wiki, a redirect to a redirect leads nowhere. A document's title comes before a redirect of that name; of
    several documents of one title the first counts.
    """
    kept = pages.where("dropped is null")
    documents = kept.where("redirect is null").groupBy("lang", "title").agg(F.min("doc_id").alias("doc_id"))
    redirects = kept.where("redirect is not null").select("lang", F.col("title").alias("name"), "redirect")
    moved = redirects.join(documents.withColumnRenamed("title", "redirect"), ["lang", "redirect"])
    titles = documents.withColumn("moved", F.lit(False)).unionByName(
        moved.select("lang", F.col("name").alias("title"), "doc_id", F.lit(True).alias("moved"))
    )
    return titles.groupBy("lang", "title").agg(F.min_by("doc_id", F.struct("moved", "doc_id")).alias("doc_id"))


def resolve_links(pages: DataFrame) -> DataFrame:
    """One row for each paragraph of the pages, `paragraph`; each link gets the `doc_id` of its document, or null.

    The join sees each title once per page, so a title linked from everywhere gives at most a row per page.
    """
    titles = "array_distinct(flatten(transform(paragraphs, p -> p.links.target)))"
    linked = pages.select("doc_id", "lang", F.explode(F.expr(titles)).alias("title"))
    known = linked.join(destinations(pages).withColumnRenamed("doc_id", "leads_to"), ["lang", "title"])
    maps = known.groupBy("doc_id").agg(
        F.map_from_entries(F.array_sort(F.collect_list(F.struct("title", "leads_to")))).alias("leads_to")
    )
    rows = pages.join(maps, "doc_id", "left").withColumn("paragraph", F.explode("paragraphs")).drop("paragraphs")
    resolved = F.col("paragraph").withField("links", _resolved(F.col("paragraph")["links"]))
    return rows.withColumn("paragraph", resolved).drop("leads_to")


def _resolved(links: Column) -> Column:
    return F.transform(links, lambda link: link.withField("doc_id", F.col("leads_to")[link["target"]]))


def redirects(pages: DataFrame) -> DataFrame:
    """One row a redirect: lang, title, target; sorted, in one partition."""
    rows = pages.where("dropped is null and redirect != ''")
    return (
        rows.select("lang", "title", F.col("redirect").alias("target"))
        .repartition(1)
        .sortWithinPartitions("lang", "title")
    )


def report(pages: DataFrame, config: CorpusConfig) -> dict[str, Any]:
    """Pages and paragraphs in, out and dropped by reason: pages_in = pages_out + redirects + the sum of `dropped`."""
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
    lost = pages.select(F.explode("paragraphs_dropped").alias("reason", "n")).groupBy("reason").agg(F.sum("n"))
    kept = [row for row in groups if row.dropped is None]
    dropped = Counter[str]()
    for row in groups:
        if row.dropped is not None:
            dropped[row.dropped] += row.pages
    paragraphs_dropped = {row[0]: row[1] for row in lost.orderBy("reason").collect()}
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


def _task(
    bundles: list[list[Split]],
    readers: Mapping[SourceName, Reader],
    languages: Mapping[str, Language],
    schema: StructType,
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The function that a task runs: numbers of bundles to the rows of their pages."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        arrow = to_arrow_schema(schema)
        splitters = {lang: Splitter(language) for lang, language in languages.items()}
        for batch in batches:
            for number in batch.column(0).to_pylist():
                for rows in _batches(row for split in bundles[number] for row in _rows(split, readers, splitters)):
                    yield record_batch(rows, arrow)

    return run


def _rows(split: Split, readers: Mapping[SourceName, Reader], splitters: Mapping[str, Splitter]) -> Iterator[Row]:
    for row in read_rows(split, readers):
        sentences = splitters.get(row["lang"]) or splitter(row["lang"])
        yield add_sentences(row, sentences.split) | {"path": split.file.path}


def _batches(rows: Iterator[Row]) -> Iterator[list[Row]]:
    """Rows in lists of bounded size: a batch of Arrow's is copied whole."""
    batch: list[Row] = []
    size = 0
    for row in rows:
        batch.append(row)
        size += _ROW_CHARACTERS + sum(len(paragraph["text"]) for paragraph in row["paragraphs"])
        if size > _BATCH_CHARACTERS:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def record_batch(rows: Sequence[Row], schema: pa.Schema) -> pa.RecordBatch:
    """The rows in Arrow, a column at a time: a third of the time that pyarrow takes for dictionaries in lists."""
    columns = [_column([row[field.name] for row in rows], field) for field in schema]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _column(values: Sequence[Any], field: pa.Field) -> pa.Array:
    if field.name == "paragraphs":
        return _lists(values, field.type, _paragraphs)
    if field.name == "sentences":
        return _lists(values, field.type, pa.array)
    if field.name == "links":
        return _lists(values, field.type, _links)
    return pa.array(values, field.type)


def _lists(
    values: Sequence[Any], kind: pa.ListType, items: Callable[[Sequence[Any], pa.DataType], pa.Array]
) -> pa.Array:
    offsets = pa.array(accumulate(map(len, values), initial=0), pa.int32())
    return pa.ListArray.from_arrays(offsets, items(list(chain.from_iterable(values)), kind.value_type), type=kind)


def _paragraphs(paragraphs: Sequence[Any], kind: pa.StructType) -> pa.Array:
    columns = [_column([paragraph[field.name] for paragraph in paragraphs], field) for field in kind]
    return pa.StructArray.from_arrays(columns, fields=list(kind))


def _links(links: Sequence[Any], kind: pa.StructType) -> pa.Array:
    columns = zip(*links, strict=True) if links else [()] * kind.num_fields
    return pa.StructArray.from_arrays(
        [pa.array(values, field.type) for values, field in zip(columns, kind, strict=True)], fields=list(kind)
    )

"""Sampling of pairs for two-tower retrieval (section 3): passages to one table of pairs per task."""

import logging
from collections import Counter
from collections.abc import Iterator
from itertools import chain, pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from contexture.encoders.config import Lengths
from contexture.streams.draws import shuffle_into_files, uniform_draw
from contexture.streams.packing import pack_passages
from contexture.streams.pairs.config import PairSampling, PairsConfig, PairTask
from contexture.streams.pairs.draw import (
    DrawFunction,
    Pair,
    Passage,
    draw_body_first,
    draw_inverse_cloze,
    draw_neighbours,
)
from contexture.streams.tables import ExampleTable, ExampleTables
from contexture.streams.tokens import token_lists, tokenize_columns

LOG = logging.getLogger(__name__)
_PAIR_SCHEMA = (
    "pair_id string, query array<int>, title array<int>, passage array<int>, document string, document_pairs bigint"
)
#: Fields of a passage that pairs are drawn from, sorted by the first.
_PASSAGE_COLUMNS = ("passage_id", "section_index", "tokens", "sentence_lengths")
_DRAW_FUNCTIONS: dict[str, DrawFunction] = {
    "ict": draw_inverse_cloze,
    "bfs": draw_body_first,
    "neighbours": draw_neighbours,
}


def sample_pairs(
    task: PairTask, passages: DataFrame, documents: DataFrame, config: PairSampling, lengths: Lengths, seed: int
) -> DataFrame:
    """Return one task's pairs, sampled from passages and documents, which must be read from disk.

    `pairs.draw` defines ICT, BFS and neighbours, `sample_headings` the headings. WLP gives a pair for each passage and
    each other page that it links to: the query is a random sentence of that page's first section, the document is the
    passage.

    Columns: `pair_id`, `query`, `title`, `passage` (token ids without special tokens, cut to `lengths`, which include
    special tokens), `document` (id of the passage) and `document_pairs` (number of pairs in the table with this
    document). The table is shuffled by `shuffle_into_files`. The same tables and seed give the same rows on any number
    of cores.
    """
    if task == "wlp":
        pairs = _sample_links(passages, documents, seed)
    else:
        pages = _single_passages(passages) if task == "ict" else _group_pages(passages)
        pairs = _draw_pairs(pages, _DRAW_FUNCTIONS[task], config, seed)
    return _cut_and_shuffle(pairs, config, lengths, seed)


def _cut_and_shuffle(pairs: DataFrame, config: PairSampling, lengths: Lengths, seed: int) -> DataFrame:
    """Return the pairs cut to the encoder's lengths and shuffled into files."""
    room = F.greatest(F.lit(1), F.lit(lengths.document - 3) - F.size("title"))
    cut = pairs.withColumn("query", F.slice("query", 1, lengths.query - 2))
    return shuffle_into_files(cut.withColumn("passage", F.slice("passage", 1, room)), config.files, seed, "pair_id")


def count_pairs(pairs: DataFrame) -> dict[str, float]:
    """Return what Table 1 reports of a task: `pairs`, `tokens`, `mean_query_tokens` and `mean_document_tokens`.

    Tokens are those of queries and passages, without titles and special tokens. Without pairs, means are 0.
    """
    row = pairs.agg(F.count("*"), F.sum(F.size("query")), F.sum(F.size("passage"))).collect()[0]
    count, query, document = (int(value or 0) for value in row)
    return {
        "pairs": count,
        "tokens": query + document,
        "mean_query_tokens": query / max(count, 1),
        "mean_document_tokens": document / max(count, 1),
    }


def sample_headings(
    passages: DataFrame, tokenizer: Path, config: PairSampling, lengths: Lengths, seed: int
) -> DataFrame:
    """Return pairs of a heading and a passage below it, with the columns of `sample_pairs`.

    The query is the page's title and a section's heading. The document is a passage of that section without the title,
    which would reveal the answer. Each section gives up to `config.pairs_per_passage` pairs, and none if title and
    heading are empty.
    """
    order = Window.partitionBy("doc_id", "section_index").orderBy(
        uniform_draw(seed, "headings", "passage_id"), "passage_id"
    )
    chosen = passages.withColumn("rank", F.row_number().over(order)).where(F.col("rank") <= config.pairs_per_passage)
    headings = chosen.select("passage_id", "title_tokens", "heading", "tokens")
    query = F.concat("title_tokens", "heading_tokens")
    pairs = (
        tokenize_columns(headings, ["heading"], tokenizer)
        .where(F.size(query) > 0)
        .select(
            F.concat_ws(":", F.lit("headings"), "passage_id").alias("pair_id"),
            query.alias("query"),
            F.array().cast("array<int>").alias("title"),
            F.col("tokens").alias("passage"),
            F.col("passage_id").alias("document"),
            F.lit(1).cast("bigint").alias("document_pairs"),
        )
    )
    return _cut_and_shuffle(pairs, config, lengths, seed)


def _sample_links(passages: DataFrame, documents: DataFrame, seed: int) -> DataFrame:
    """Return Wiki Link Prediction's pairs: a random sentence of a linked page's first section, and the linking passage.

    Links are joined with their queries as rows of ids before they are joined with passages: all links to a page go to
    one Spark task, and its rows stay small even for a page with very many links.
    """
    links = passages.select("passage_id", F.explode("links").alias("target"))
    draw = F.pmod(F.xxhash64(F.lit(seed), F.lit("wlp"), "passage_id", "target"), F.size("first"))
    queries = links.join(_select_first_sections(documents), "target").select(
        F.concat_ws(":", F.lit("wlp"), "passage_id", "target").alias("pair_id"),
        F.get("first", draw.cast("int")).alias("query"),
        "passage_id",
        F.count("*").over(Window.partitionBy("passage_id")).alias("document_pairs"),
    )
    return queries.join(passages, "passage_id").select(
        "pair_id",
        "query",
        F.col("title_tokens").alias("title"),
        F.col("tokens").alias("passage"),
        F.col("passage_id").alias("document"),
        "document_pairs",
    )


def _select_first_sections(documents: DataFrame) -> DataFrame:
    """Return `target` (doc_id) and `first` (sentences) of documents whose first section has text."""
    pages = documents.select(
        F.col("doc_id").alias("target"),
        F.col("paragraphs.sentences").alias("sentences"),
        F.size(F.filter("paragraphs.section_index", lambda index: index == 0)).alias("count"),
    )
    # Paragraphs are sorted: those of the first section come first.
    return pages.where("count > 0").select("target", F.flatten(F.slice("sentences", 1, F.col("count"))).alias("first"))


def _single_passages(passages: DataFrame) -> DataFrame:
    """Return one row per passage, in the form of a page with a single passage."""
    return passages.select("title_tokens", F.array(F.struct(*_PASSAGE_COLUMNS)).alias("passages"))


def _group_pages(passages: DataFrame) -> DataFrame:
    """Return one row per page: its title and its passages, sorted by id as text (#10 before #2)."""
    passages_column = F.sort_array(F.collect_list(F.struct(*_PASSAGE_COLUMNS)))
    return (
        passages.groupBy("doc_id")
        .agg(F.min("title_tokens").alias("title_tokens"), passages_column.alias("passages"))
        .drop("doc_id")
    )


def _draw_pairs(pages: DataFrame, draw: DrawFunction, config: PairSampling, seed: int) -> DataFrame:
    """Return the pairs that `draw` draws from each row's passages."""

    def draw_pairs(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            pairs = [list(draw(passages, config, seed)) for passages in _read_passages(batch.column("passages"))]
            titles = np.repeat(np.arange(len(pairs)), [len(of_page) for of_page in pairs])
            yield _to_batch(list(chain.from_iterable(pairs)), batch.column("title_tokens").take(pa.array(titles)))

    return pages.mapInArrow(draw_pairs, _PAIR_SCHEMA)


def _read_passages(pages: pa.ListArray) -> Iterator[list[Passage]]:
    """Read the passages of each page from an Arrow array of lists of structs."""
    ids, sections, tokens, lengths = (pages.values.field(name) for name in _PASSAGE_COLUMNS)
    ends = np.cumsum(lengths.values.to_numpy()).tolist()
    token_ids = tokens.values.to_numpy().tolist()
    sentences = [tuple(token_ids[start:end]) for start, end in pairwise([0, *ends])]
    bounds = lengths.offsets.to_numpy().tolist()
    passages = [
        Passage(passage_id, section, sentences[start:end])
        for passage_id, section, (start, end) in zip(
            ids.to_pylist(), sections.to_pylist(), pairwise(bounds), strict=True
        )
    ]
    for start, end in pairwise(pages.offsets.to_numpy().tolist()):
        yield passages[start:end]


def _to_batch(pairs: list[Pair], titles: pa.ListArray) -> pa.RecordBatch:
    """Return an Arrow batch of pairs with their titles and the number of pairs of each document."""
    count = Counter(pair.document for pair in pairs)  # all pairs of a document are in one row's pairs
    columns = {
        "pair_id": pa.array([pair.pair_id for pair in pairs], pa.string()),
        "query": token_lists([pair.query for pair in pairs]),
        "title": titles,
        "passage": token_lists([pair.passage for pair in pairs]),
        "document": pa.array([pair.document for pair in pairs], pa.string()),
        "document_pairs": pa.array([count[pair.document] for pair in pairs], pa.int64()),
    }
    return pa.RecordBatch.from_pydict(columns)


def tables(config: PairsConfig, lengths: Lengths, seed: int) -> ExampleTables:
    """Define the tables of passages and of each task's pairs, and their counts, as in the paper's Table 1."""
    sampling = config.sampling

    def make_passages(documents: DataFrame, paragraphs: DataFrame) -> DataFrame:
        """Pack documents into passages, and mark the passages of a random share of documents as `held_out`."""
        packed = pack_passages(documents, paragraphs, lengths.document, sampling.files)
        return packed.withColumn("held_out", uniform_draw(seed, "held out", "doc_id") < sampling.held_out)

    def define_table(task: PairTask) -> ExampleTable:
        """Return the table of a task's pairs: its name, the function that samples it, and the tables it reads."""

        def make_pairs(passages: DataFrame, documents: DataFrame) -> DataFrame:
            """Sample the task's pairs from passages and documents that are not held out."""
            seen = passages.where(~F.col("held_out"))
            if sampling.held_out:
                documents = documents.join(seen.select("doc_id").distinct(), "doc_id", "left_semi")
            return sample_pairs(task, seen, documents, sampling, lengths, seed)

        def make_heading_pairs(passages: DataFrame, tokenizer: Path) -> DataFrame:
            """Sample pairs of headings and passages that are not held out."""
            return sample_headings(passages.where(~F.col("held_out")), tokenizer, sampling, lengths, seed)

        if task == "headings":
            return ExampleTable(f"pairs/{task}", make_heading_pairs, ("passages", "tokenizer"))
        return ExampleTable(f"pairs/{task}", make_pairs, ("passages", "documents"))

    def count_by_task(*tables: DataFrame) -> dict[str, dict[str, float]]:
        """Return task → counts of its pairs; if no task has any, warn, or raise ValueError if pairs are required."""
        counts: dict[str, dict[str, float]] = {
            task: count_pairs(table) for task, table in zip(sampling.tasks, tables, strict=False)
        }
        if not any(counted["pairs"] for counted in counts.values()):
            message = "this text gives no training pairs, which need two sentences, headings or links"
            if sampling.required:
                raise ValueError(f"{message}: add such text, or set streams.pairs.sampling.required to false")
            LOG.warning("%s: nothing is trained on pairs", message)
        return counts

    packed = ExampleTable("passages", make_passages, ("documents", "paragraphs"))
    return ExampleTables(
        [packed, *(define_table(task) for task in sampling.tasks)], count_by_task, intermediate=("passages",)
    )

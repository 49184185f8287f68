"""Tokenization of paragraphs into documents. Each sentence is tokenized once for all objectives."""

import os
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate, chain, pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import ArrayType, IntegerType, StructField, StructType
from tokenizers import Tokenizer

from contexture.vocabulary.tokenizers import load_tokenizer

#: Token ids of one sentence, without special tokens.
Sentence = tuple[int, ...]

#: Fields of a paragraph in the documents table.
PARAGRAPH_FIELDS = {
    "paragraph_index": "int",
    "section_index": "int",
    "sentences": "array<array<int>>",
    "links": "array<struct<sentence_index int, doc_id string>>",
    "left_out": "array<int>",
}


class Paragraph(NamedTuple):
    """A paragraph with at least one sentence, and its index on the page."""

    paragraph_index: int
    sentences: list[Sentence]


class Document(NamedTuple):
    """A document with its paragraphs, sorted by index."""

    doc_id: str
    paragraphs: list[Paragraph]


def tokenize_paragraphs(paragraphs: DataFrame, vocabulary_dir: Path) -> DataFrame:
    """Turn the paragraphs table into the documents table, one row per document.

    Columns: `doc_id`, `title_tokens`, `paragraphs` and `sentence_count`. Fields of a paragraph:

    - `paragraph_index`, `section_index`
    - `sentences`: token ids of each sentence, uncut, without special tokens
    - `links`: distinct (`sentence_index`, `doc_id`) of the sentences in which a link starts and of the linked documents
    - `left_out`: positions, in the input, of the paragraph's sentences without tokens

    Sentences without tokens, paragraphs without sentences and documents without paragraphs are dropped. The rows do not
    depend on the partitions of the input. Save the table before sampling, which reads it several times.

    Raises what `load_tokenizer` raises for `vocabulary_dir`, which only the driver reads. The job that uses the table
    raises ValueError for a paragraph with links whose sentences are not in its text.
    """
    tokenizer_json = load_tokenizer(vocabulary_dir)[0].to_str()

    def encode_paragraphs(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        tokenizer = _tokenizer_from_json(tokenizer_json)
        return (_encode_paragraphs(batch, tokenizer) for batch in batches)

    resolved = F.filter("links", lambda link: link["doc_id"].isNotNull())
    links = F.transform(resolved, lambda link: F.struct(link["start"].alias("start"), link["doc_id"].alias("doc_id")))
    fields = ", ".join(map(" ".join, PARAGRAPH_FIELDS.items()))
    tokenized = (
        paragraphs.withColumn("links", links)
        .select(
            "doc_id",
            "title",
            F.col("paragraph_index").cast("int"),
            F.col("section_index").cast("int"),
            # The text only serves to find the sentences of links.
            F.when(F.size("links") > 0, F.col("text")).alias("text"),
            "sentences",
            "links",
        )
        .mapInArrow(encode_paragraphs, f"doc_id string, title_tokens array<int>, {fields}")
    )
    return (
        tokenized.where(F.size("sentences") > 0)
        .groupBy("doc_id")
        .agg(
            F.min("title_tokens").alias("title_tokens"),
            F.sort_array(F.collect_list(F.struct(*PARAGRAPH_FIELDS))).alias("paragraphs"),
            F.sum(F.size("sentences")).alias("sentence_count"),
        )
        .sortWithinPartitions("doc_id")
    )


def select_sentences(documents: DataFrame) -> DataFrame:
    """Return `doc_id`, `paragraph_indices` and `sentences` (token ids by paragraph) of the documents table."""
    return documents.select(
        "doc_id",
        F.col("paragraphs.paragraph_index").alias("paragraph_indices"),
        F.col("paragraphs.sentences").alias("sentences"),
    )


def read_documents(table: pa.Table, max_tokens: int) -> list[Document]:
    """Convert rows of `select_sentences` to documents sorted by `doc_id`, with sentences cut at `max_tokens`."""
    if table.num_rows == 0:
        return []
    paragraphs = table.column("sentences").combine_chunks()
    bounds = paragraphs.offsets.to_numpy().tolist()
    indices = table.column("paragraph_indices").combine_chunks().values.to_numpy().tolist()
    sentence_bounds = paragraphs.values.offsets.to_numpy().tolist()
    sentences = read_sentences(paragraphs.values.values, max_tokens)
    documents = []
    for row, doc_id in enumerate(table.column("doc_id").to_pylist()):
        parts = [
            Paragraph(indices[i], sentences[sentence_bounds[i] : sentence_bounds[i + 1]])
            for i in range(bounds[row], bounds[row + 1])
        ]
        documents.append(Document(doc_id, parts))
    return sorted(documents)


def read_sentences(array: pa.ListArray, max_tokens: int) -> list[Sentence]:
    """Convert an Arrow array of token id lists to tuples cut at `max_tokens`. Much faster than Arrow's `to_pylist`."""
    bounds = array.offsets.to_numpy().tolist()
    tokens = array.values.to_numpy().tolist()
    return [tuple(tokens[start : min(end, start + max_tokens)]) for start, end in pairwise(bounds)]


def read_sentence_blocks(documents: Path) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield the token ids of several sentences, concatenated, and their lengths, from a folder of documents."""
    for file in sorted(documents.rglob("*.parquet")):
        for batch in pq.ParquetFile(file).iter_batches(batch_size=16, columns=["paragraphs"]):
            sentences = pc.list_flatten(pc.struct_field(pc.list_flatten(batch.column(0)), "sentences"))
            lengths = pc.list_value_length(sentences).to_numpy(zero_copy_only=False)
            yield pc.list_flatten(sentences).to_numpy().astype(np.int64), lengths.astype(np.int64)


def token_lists(lists: Sequence[Sequence[int]]) -> pa.ListArray:
    """Convert lists of token ids to an Arrow array of int32 lists. Much faster than `pa.array`."""
    bounds = np.fromiter(accumulate(map(len, lists), initial=0), dtype=np.int64, count=len(lists) + 1)
    tokens = np.fromiter(chain.from_iterable(lists), dtype=np.int32, count=int(bounds[-1]))
    return list_array(bounds, tokens)


def list_array(bounds: np.ndarray | Sequence[int], values: np.ndarray | pa.Array) -> pa.ListArray:
    """Return the Arrow array whose list i is values[bounds[i] : bounds[i + 1]]."""
    return pa.ListArray.from_arrays(pa.array(bounds, pa.int32()), pa.array(values))


def tokenize_columns(texts: DataFrame, columns: Sequence[str], vocabulary_dir: Path) -> DataFrame:
    """Return the table with the token ids of each text column, without special tokens, as `<column>_tokens`.

    Raises what `load_tokenizer` raises for `vocabulary_dir`, which only the driver reads.
    """
    tokenizer_json = load_tokenizer(vocabulary_dir)[0].to_str()
    token_fields = [StructField(f"{column}_tokens", ArrayType(IntegerType())) for column in columns]

    def append_tokens(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        tokenizer = _tokenizer_from_json(tokenizer_json)
        for batch in batches:
            tokens = [_encode_texts(batch.column(column), tokenizer) for column in columns]
            names = [*batch.schema.names, *(field.name for field in token_fields)]
            yield pa.RecordBatch.from_arrays([*batch.columns, *tokens], names=names)

    return texts.mapInArrow(append_tokens, StructType([*texts.schema.fields, *token_fields]))


def _encode_paragraphs(batch: pa.RecordBatch, tokenizer: Tokenizer) -> pa.RecordBatch:
    """Return a batch of paragraphs as rows of `doc_id`, `title_tokens` and `PARAGRAPH_FIELDS`."""
    sentences = _encode_texts(batch.column("sentences").values, tokenizer)
    kept = np.diff(sentences.offsets.to_numpy()) > 0
    bounds = batch.column("sentences").offsets.to_numpy()
    kept_before = np.concatenate([[0], np.cumsum(kept)])
    titles = batch.column("title").dictionary_encode()  # few distinct titles
    columns = {
        "doc_id": batch.column("doc_id"),
        "title_tokens": _encode_texts(titles.dictionary, tokenizer).take(titles.indices),
        "paragraph_index": batch.column("paragraph_index"),
        "section_index": batch.column("section_index"),
        "sentences": list_array(kept_before[bounds], sentences.filter(pa.array(kept))),
        "links": _locate_links(batch, kept, kept_before),
        "left_out": _dropped_positions(kept, bounds, kept_before),
    }
    return pa.RecordBatch.from_pydict(columns)


def _tokenizer_from_json(tokenizer_json: str) -> Tokenizer:
    """Return a single-threaded tokenizer that encodes special tokens in a text as ordinary words."""
    # Spark runs one worker per core.
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    tokenizer = Tokenizer.from_str(tokenizer_json)
    tokenizer.encode_special_tokens = True
    return tokenizer


def _encode_texts(texts: pa.StringArray, tokenizer: Tokenizer) -> pa.ListArray:
    """Return the token ids of each text, without special tokens."""
    encodings = tokenizer.encode_batch_fast(texts.to_pylist(), add_special_tokens=False)
    return token_lists([encoding.ids for encoding in encodings])


def _dropped_positions(kept: np.ndarray, bounds: np.ndarray, kept_before: np.ndarray) -> pa.ListArray:
    """Return, for each paragraph, the positions of its sentences that have no tokens."""
    left_out = np.flatnonzero(~kept)
    paragraphs = np.searchsorted(bounds, left_out, side="right") - 1
    return list_array(bounds - kept_before[bounds], (left_out - bounds[paragraphs]).astype(np.int32))


def _locate_links(batch: pa.RecordBatch, kept: np.ndarray, kept_before: np.ndarray) -> pa.ListArray:
    """Return, for each paragraph, its distinct links as (index of the link's sentence, linked `doc_id`)."""
    sentences, links = batch.column("sentences"), batch.column("links")
    bounds = sentences.offsets.to_numpy().tolist()
    pairs: list[tuple[int, str]] = []
    counts = np.diff(links.offsets.to_numpy())
    for row in np.flatnonzero(counts).tolist():
        first = bounds[row]
        try:
            starts = _find_starts(
                batch.column("text")[row].as_py(), sentences.values[first : bounds[row + 1]].to_pylist()
            )
        except ValueError:
            raise ValueError(
                f"page {batch.column('doc_id')[row]}, paragraph {batch.column('paragraph_index')[row]}: a sentence is "
                "not in the paragraph's text; run the corpus stage again"
            ) from None
        unique: dict[tuple[int, str], None] = {}
        for link in links[row].as_py():
            sentence = first + bisect_right(starts, link["start"]) - 1
            if sentence >= first and kept[sentence]:
                unique[int(kept_before[sentence] - kept_before[first]), link["doc_id"]] = None
        pairs += unique
        counts[row] = len(unique)
    indices = pa.array([index for index, _ in pairs], pa.int32())
    doc_ids = pa.array([doc_id for _, doc_id in pairs], pa.string())
    structs = pa.StructArray.from_arrays([indices, doc_ids], ["sentence_index", "doc_id"])
    return list_array(np.concatenate([[0], np.cumsum(counts)]), structs)


def _find_starts(text: str, sentences: Sequence[str]) -> list[int]:
    """Return the offset of each sentence in the text. Raises ValueError if one is missing."""
    starts = []
    end = 0
    for sentence in sentences:
        starts.append(text.index(sentence, end))
        end = starts[-1] + len(sentence)
    return starts

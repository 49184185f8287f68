"""Paragraphs to documents of token ids: every sentence is tokenized once, for all objectives."""

import os
from collections.abc import Callable, Iterator
from itertools import chain, pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812
from tokenizers import Tokenizer

from contexture.text.vocabulary import load_tokenizer

#: Token ids of one sentence, without special tokens.
Sentence = tuple[int, ...]


class Paragraph(NamedTuple):
    """A paragraph with at least one sentence, and its index on the page."""

    paragraph_index: int
    sentences: list[Sentence]


class Document(NamedTuple):
    """A document with its paragraphs in the order of their indices."""

    doc_id: str
    paragraphs: list[Paragraph]


def tokenize_paragraphs(paragraphs: DataFrame, vocabulary: Path, max_tokens: int) -> DataFrame:
    """Turn the paragraphs table into one row per document.

    Columns: `doc_id`, `paragraphs` (array of `paragraph_index` and `sentences`, the token ids of each sentence
    without special tokens, at most `max_tokens` of them) and `sentence_count`. Sentences without a token, paragraphs
    without a sentence and documents without a paragraph are left out. The rows do not depend on the partitioning of
    the input; save them before sampling, which reads them several times.

    Raises what `load_tokenizer` raises for the folder `vocabulary`, which only the driver has to see.
    """
    tokenizer, _ = load_tokenizer(vocabulary)
    tokenized = paragraphs.select("doc_id", F.col("paragraph_index").cast("int"), "sentences").mapInArrow(
        _encoder(tokenizer.to_str(), max_tokens),
        "doc_id string, paragraph_index int, sentences array<array<int>>",
    )
    rows = F.sort_array(F.collect_list(F.struct("paragraph_index", "sentences")))
    return (
        tokenized.where(F.size("sentences") > 0)
        .groupBy("doc_id")
        .agg(rows.alias("paragraphs"), F.sum(F.size("sentences")).alias("sentence_count"))
        .sortWithinPartitions("doc_id")
    )


def read_documents(table: pa.Table) -> list[Document]:
    """Read rows of `tokenize_paragraphs` out of an Arrow table, sorted by `doc_id`."""
    if table.num_rows == 0:
        return []
    paragraphs = table.column("paragraphs").combine_chunks()
    bounds = paragraphs.offsets.to_numpy().tolist()
    indices = paragraphs.values.field("paragraph_index").to_numpy().tolist()
    lists = paragraphs.values.field("sentences")
    sentence_bounds = lists.offsets.to_numpy().tolist()
    sentences = read_sentences(lists.values)
    documents = []
    for row, doc_id in enumerate(table.column("doc_id").to_pylist()):
        parts = [
            Paragraph(indices[i], sentences[sentence_bounds[i] : sentence_bounds[i + 1]])
            for i in range(bounds[row], bounds[row + 1])
        ]
        documents.append(Document(doc_id, parts))
    return sorted(documents)


def read_sentences(array: pa.ListArray) -> list[Sentence]:
    """Read token ids out of an Arrow list array, far faster than its own `to_pylist`."""
    bounds = array.offsets.to_numpy().tolist()
    tokens = array.values.to_numpy().tolist()
    return [tuple(tokens[start:end]) for start, end in pairwise(bounds)]


def _encoder(tokenizer_json: str, max_tokens: int) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def encode(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        # Spark already runs one worker per core.
        os.environ["TOKENIZERS_PARALLELISM"] = "false"
        tokenizer = Tokenizer.from_str(tokenizer_json)
        tokenizer.encode_special_tokens = True
        for batch in batches:
            sentences = _encode_sentences(batch.column("sentences"), tokenizer, max_tokens)
            columns = [batch.column("doc_id"), batch.column("paragraph_index"), sentences]
            yield pa.RecordBatch.from_arrays(columns, ["doc_id", "paragraph_index", "sentences"])

    return encode


def _encode_sentences(texts: pa.ListArray, tokenizer: Tokenizer, max_tokens: int) -> pa.ListArray:
    """Encode a batch of lists of sentences; the result has the same number of lists, without empty sentences."""
    encodings = tokenizer.encode_batch_fast(texts.values.to_pylist(), add_special_tokens=False)
    ids = [encoding.ids[:max_tokens] for encoding in encodings]
    lengths = np.fromiter((len(sentence) for sentence in ids), dtype=np.int64, count=len(ids))
    tokens = np.fromiter(chain.from_iterable(ids), dtype=np.int32, count=int(lengths.sum()))
    kept_before = np.concatenate([[0], np.cumsum(lengths > 0)])
    sentence_bounds = np.concatenate([[0], np.cumsum(lengths[lengths > 0])])
    sentences = pa.ListArray.from_arrays(_offsets(sentence_bounds), pa.array(tokens))
    return pa.ListArray.from_arrays(_offsets(kept_before[texts.offsets.to_numpy()]), sentences)


def _offsets(bounds: np.ndarray) -> pa.Array:
    return pa.array(bounds, pa.int32())

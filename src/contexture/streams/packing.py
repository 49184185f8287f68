"""Packing of documents into passages: whole sentences of a section, up to the length of a document."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from contexture.streams.tokens import list_array

PASSAGE_SCHEMA = (
    "passage_id string, doc_id string, section_index int, title string, heading string, text string, "
    "title_tokens array<int>, "
    "tokens array<int>, sentence_lengths array<int>, links array<string>"
)

#: Special tokens of `[CLS] title [SEP] passage [SEP]`.
NUM_SPECIAL_TOKENS = 3


def pack_sentences(lengths: Sequence[int], budget: int) -> list[int]:
    """Return how many sentences each passage of a section gets, from their lengths in tokens.

    Greedy: a passage takes sentences while they fit into `budget` tokens. Sentences are not split; one that is longer
    than the budget fills a passage.
    """
    counts: list[int] = []
    room = 0
    for length in lengths:
        if counts and length <= room:
            counts[-1] += 1
            room -= length
        else:
            counts.append(1)
            room = budget - length
    return counts


def pack_passages(documents: DataFrame, paragraphs: DataFrame, document_tokens: int, files: int) -> DataFrame:
    """Return the passages of each page in the documents table, packed from whole sentences (section 4.1).

    Columns: `passage_id` ("<doc_id>#<n>", n from 0 on each page), `doc_id`, `section_index`, `title`, `heading` (of the
    section; "" before the first), `text` (sentences joined by spaces), `title_tokens`, `tokens`, `sentence_lengths` (in
    tokens) and `links` (distinct other documents that it links to). A passage holds sentences of one section, across
    paragraphs. Title, passage and three special tokens are at most `document_tokens`, unless a single sentence is
    longer.

    The table has `files` partitions by doc_id, sorted by doc_id and n. Its rows do not depend on the partitions of the
    input. One page at a time is in memory.

    `paragraphs` is the table that the documents were made from. The job that uses the result raises ValueError if the
    two do not match.
    """
    index = F.col("paragraph_index").cast("int")
    texts = (
        paragraphs.select("doc_id", "title", F.struct(index, F.struct("section", "sentences")).alias("text"))
        .repartition(files, "doc_id")
        .groupBy("doc_id")
        .agg(F.min("title").alias("title"), F.map_from_entries(F.collect_list("text")).alias("texts"))
    )
    # A merge join of sorted partitions needs little memory and keeps the order.
    pages = documents.repartition(files, "doc_id").join(texts.hint("merge"), "doc_id", "left")

    def pack_batches(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return (_pack_pages(batch, document_tokens) for batch in batches)

    paragraph_texts = F.transform("paragraphs", lambda p: F.try_element_at("texts", p["paragraph_index"]))
    columns = ("doc_id", "title", "title_tokens", "paragraphs", paragraph_texts.alias("texts"))
    return pages.select(*columns).mapInArrow(pack_batches, PASSAGE_SCHEMA)


class _PassageSpan(NamedTuple):
    """A passage as a range of the batch's sentences.

    Attributes:
        row: row of its page in the batch.
        number: number of the passage on the page.
        section_index: index of its section.
        end: index of the first sentence after it, in the batch.
        paragraph: index of the section's first paragraph, in the batch.
    """

    row: int
    number: int
    section_index: int
    end: int
    paragraph: int


def _pack_pages(batch: pa.RecordBatch, document_tokens: int) -> pa.RecordBatch:
    """Return the passages of a batch of pages.

    Token ids are not copied: passages are ranges of the batch's sentences.
    """
    sentences = batch.column("paragraphs").values.field("sentences").values
    token_bounds = sentences.offsets.to_numpy()
    lengths = np.diff(token_bounds).astype(np.int32)
    texts = _read_texts(batch)
    sections = pc.struct_field(batch.column("texts").values, "section")
    spans = list(_pack_spans(batch, lengths.tolist(), document_tokens))
    bounds = np.array([0, *(span.end for span in spans)])
    doc_ids = batch.column("doc_id").to_pylist()
    rows = pa.array([span.row for span in spans], pa.int32())
    columns = {
        "passage_id": pa.array([f"{doc_ids[span.row]}#{span.number}" for span in spans], pa.string()),
        "doc_id": batch.column("doc_id").take(rows),
        "section_index": pa.array([span.section_index for span in spans], pa.int32()),
        "title": batch.column("title").take(rows),
        "heading": sections.take(pa.array([span.paragraph for span in spans], pa.int32())).fill_null(""),
        "text": pa.array([" ".join(texts[a:b]) for a, b in pairwise(bounds.tolist())], pa.string()),
        "title_tokens": batch.column("title_tokens").take(rows),
        "tokens": list_array(token_bounds[bounds], sentences.values),
        "sentence_lengths": list_array(bounds, lengths),
        "links": _collect_links(batch, bounds.tolist(), [doc_ids[span.row] for span in spans]),
    }
    return pa.RecordBatch.from_pydict(columns)


def _pack_spans(batch: pa.RecordBatch, lengths: Sequence[int], document_tokens: int) -> Iterator[_PassageSpan]:
    """Yield the passages of all pages in order."""
    paragraphs = batch.column("paragraphs")
    bounds = paragraphs.offsets.to_numpy().tolist()
    sections = paragraphs.values.field("section_index").to_numpy().tolist()
    sentence_bounds = paragraphs.values.field("sentences").offsets.to_numpy().tolist()
    titles = np.diff(batch.column("title_tokens").offsets.to_numpy()).tolist()
    for row, title in enumerate(titles):
        number = 0
        for section, indices in groupby(range(bounds[row], bounds[row + 1]), sections.__getitem__):
            section_paragraphs = list(indices)
            end = sentence_bounds[section_paragraphs[0]]
            section_lengths = lengths[end : sentence_bounds[section_paragraphs[-1] + 1]]
            for count in pack_sentences(section_lengths, max(1, document_tokens - NUM_SPECIAL_TOKENS - title)):
                end += count
                yield _PassageSpan(row, number, section, end, section_paragraphs[0])
                number += 1


def _read_texts(batch: pa.RecordBatch) -> list[str]:
    """Return the texts of the sentences that have tokens, of all pages in a batch."""
    paragraphs = batch.column("paragraphs")
    texts, left_out = pc.struct_field(batch.column("texts").values, "sentences"), paragraphs.values.field("left_out")
    sizes = pc.list_value_length(texts).fill_null(0).to_numpy()
    without_tokens = pc.list_value_length(left_out).to_numpy()
    expected = np.diff(paragraphs.values.field("sentences").offsets.to_numpy()) + without_tokens
    for paragraph in np.flatnonzero(sizes != expected).tolist():
        page = np.searchsorted(paragraphs.offsets.to_numpy(), paragraph, side="right") - 1
        raise ValueError(
            f"page {batch.column('doc_id')[page]}, paragraph {paragraphs.values.field('paragraph_index')[paragraph]}: "
            f"{expected[paragraph]} sentences in the documents table, {sizes[paragraph]} in the paragraphs table: "
            "run the documents stage again with these paragraphs"
        )
    kept = np.ones(sizes.sum(), np.bool_)
    kept[np.repeat(np.cumsum(sizes) - sizes, without_tokens) + left_out.flatten().to_numpy()] = False
    kept_texts: list[str] = texts.flatten().filter(pa.array(kept)).to_pylist()
    return kept_texts


def _collect_links(batch: pa.RecordBatch, bounds: Sequence[int], doc_ids: Sequence[str]) -> pa.ListArray:
    """Return the other documents that each passage links to. `bounds`: first sentence of each passage."""
    paragraphs = batch.column("paragraphs").values
    first_sentences = paragraphs.field("sentences").offsets.to_numpy()
    links = paragraphs.field("links")
    counts = np.diff(links.offsets.to_numpy())
    sentences = np.repeat(first_sentences[:-1], counts) + links.values.field("sentence_index").to_numpy()
    targets: list[dict[str, None]] = [{} for _ in doc_ids]
    for sentence, target in zip(sentences.tolist(), links.values.field("doc_id").to_pylist(), strict=True):
        passage = bisect_right(bounds, sentence) - 1
        if target != doc_ids[passage]:
            targets[passage][target] = None
    return pa.array([list(of_passage) for of_passage in targets], pa.list_(pa.string()))

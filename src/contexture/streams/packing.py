"""Documents to passages: whole sentences of a section, as many as a document's tokens hold."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from contexture.streams.tokens import list_array

PASSAGES = (
    "passage_id string, doc_id string, section_index int, title string, heading string, text string, "
    "title_tokens array<int>, "
    "tokens array<int>, sentence_lengths array<int>, links array<string>"
)


#: Tokens of `[CLS] title [SEP] passage [SEP]` beside title and passage; the passage gets one at least.
OVERHEAD = 3


def pack_sentences(lengths: Sequence[int], budget: int) -> list[int]:
    """How many of the sentences of a section, of these lengths in tokens, go to each of its passages.

    Greedy: a passage takes sentences for as long as they fit into `budget` tokens. No sentence is divided; one longer
    than the budget stands alone.
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
    """Pack every page into passages (section 4.1): the documents table and the paragraphs that it was made of.

    Columns: `passage_id` ("<doc_id>#<n>", n from 0 on each page), `doc_id`, `section_index`, `title`,
    `heading` (of the section; "" before the first), `text` (the sentences, with a space between), `title_tokens`,
    `tokens`, `sentence_lengths` (tokens of each sentence) and `links` (the other documents that it links to, each
    once). A passage holds sentences of one section, across its paragraphs; title, passage and three special tokens
    are at most `document_tokens`, unless one sentence alone is longer. `files` partitions by doc_id, sorted by
    doc_id and n in each; the same rows however the input was cut up. A page is packed at once; nothing grows with
    the corpus.

    The job that uses the table raises ValueError where the two tables do not belong together.
    """
    texts = (
        paragraphs.select("doc_id", "title", F.col("paragraph_index").cast("int"), "section", "sentences")
        .repartition(files, "doc_id")
        .groupBy("doc_id")
        .agg(
            F.min("title").alias("title"),
            F.sort_array(F.collect_list(F.struct("paragraph_index", "section", "sentences"))).alias("texts"),
        )
    )
    # A merge of sorted partitions needs no memory, and leaves the rows in order.
    pages = documents.repartition(files, "doc_id").join(texts.hint("merge"), "doc_id", "left")

    def pack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return (_pack(batch, document_tokens) for batch in batches)

    return pages.select("doc_id", "title", "title_tokens", "paragraphs", "texts").mapInArrow(pack, PASSAGES)


class _Run(NamedTuple):
    """A passage: the row of its page, its number there, its section, and where its sentences end in the batch.

    `paragraph` is the index of the section's first paragraph in the batch.
    """

    row: int
    number: int
    section_index: int
    end: int
    paragraph: int


def _pack(batch: pa.RecordBatch, document_tokens: int) -> pa.RecordBatch:
    """Pages to passages. Passages are runs of the batch's sentences, so that all their tokens stay where they are."""
    sentences = batch.column("paragraphs").values.field("sentences").values
    token_bounds = sentences.offsets.to_numpy()
    lengths = np.diff(token_bounds).astype(np.int32)
    said = _said(batch)
    runs = list(_runs(batch, lengths.tolist(), document_tokens))
    bounds = np.array([0, *(run.end for run in runs)])
    doc_ids = batch.column("doc_id").to_pylist()
    rows = pa.array([run.row for run in runs], pa.int32())
    columns = {
        "passage_id": pa.array([f"{doc_ids[run.row]}#{run.number}" for run in runs], pa.string()),
        "doc_id": batch.column("doc_id").take(rows),
        "section_index": pa.array([run.section_index for run in runs], pa.int32()),
        "title": batch.column("title").take(rows),
        "heading": pa.array(_headings(batch, runs), pa.string()),
        "text": pa.array([" ".join(said[a:b]) for a, b in pairwise(bounds.tolist())], pa.string()),
        "title_tokens": batch.column("title_tokens").take(rows),
        "tokens": list_array(token_bounds[bounds], sentences.values),
        "sentence_lengths": list_array(bounds, lengths),
        "links": _links(batch, bounds.tolist(), [doc_ids[run.row] for run in runs]),
    }
    return pa.RecordBatch.from_pydict(columns)


def _runs(batch: pa.RecordBatch, lengths: Sequence[int], document_tokens: int) -> Iterator[_Run]:
    """The passages of all pages, in order."""
    paragraphs = batch.column("paragraphs")
    bounds = paragraphs.offsets.to_numpy().tolist()
    sections = paragraphs.values.field("section_index").to_numpy().tolist()
    sentence_bounds = paragraphs.values.field("sentences").offsets.to_numpy().tolist()
    titles = np.diff(batch.column("title_tokens").offsets.to_numpy()).tolist()
    for row, title in enumerate(titles):
        number = 0
        for section, paragraphs_of in groupby(range(bounds[row], bounds[row + 1]), sections.__getitem__):
            of_section = list(paragraphs_of)
            end = sentence_bounds[of_section[0]]
            section_lengths = lengths[end : sentence_bounds[of_section[-1] + 1]]
            for count in pack_sentences(section_lengths, max(1, document_tokens - OVERHEAD - title)):
                end += count
                yield _Run(row, number, section, end, of_section[0])
                number += 1


def _said(batch: pa.RecordBatch) -> list[str]:
    """The texts of the sentences that have tokens, in the order of their tokens."""
    texts = batch.column("texts")
    text_bounds = texts.offsets.to_numpy().tolist()
    text_indices = texts.values.field("paragraph_index").to_numpy().tolist()
    lists = texts.values.field("sentences")
    said_bounds, said = lists.offsets.to_numpy().tolist(), lists.values.to_pylist()
    paragraphs = batch.column("paragraphs")
    bounds = paragraphs.offsets.to_numpy().tolist()
    indices = paragraphs.values.field("paragraph_index").to_numpy().tolist()
    counts = np.diff(paragraphs.values.field("sentences").offsets.to_numpy()).tolist()
    left_out = paragraphs.values.field("left_out")
    left_bounds, left = left_out.offsets.to_numpy().tolist(), left_out.values.to_pylist()
    kept: list[str] = []
    for row, doc_id in enumerate(batch.column("doc_id").to_pylist()):
        by_index = {text_indices[i]: i for i in range(text_bounds[row], text_bounds[row + 1])}
        for paragraph in range(bounds[row], bounds[row + 1]):
            text = by_index.get(indices[paragraph])
            sentences = [] if text is None else said[said_bounds[text] : said_bounds[text + 1]]
            without = left[left_bounds[paragraph] : left_bounds[paragraph + 1]]
            if len(sentences) != counts[paragraph] + len(without):
                raise ValueError(
                    f"page {doc_id}, paragraph {indices[paragraph]}: {counts[paragraph] + len(without)} sentences in "
                    f"the documents table, {len(sentences)} in the paragraphs table: write the documents anew from "
                    "these paragraphs"
                )
            kept += [sentence for i, sentence in enumerate(sentences) if i not in without] if without else sentences
    return kept


def _headings(batch: pa.RecordBatch, runs: Sequence[_Run]) -> list[str]:
    """For each passage the heading of its section."""
    texts = batch.column("texts")
    bounds = texts.offsets.to_numpy().tolist()
    indices, sections = (texts.values.field(name).to_pylist() for name in ("paragraph_index", "section"))
    wanted = batch.column("paragraphs").values.field("paragraph_index").to_numpy().tolist()
    pages = [dict(zip(indices[a:b], sections[a:b], strict=True)) for a, b in pairwise(bounds)]
    return [pages[run.row][wanted[run.paragraph]] or "" for run in runs]


def _links(batch: pa.RecordBatch, bounds: Sequence[int], doc_ids: Sequence[str]) -> pa.ListArray:
    """For each passage the other documents that it links to; `bounds`: where its sentences begin in the batch."""
    paragraphs = batch.column("paragraphs").values
    firsts = paragraphs.field("sentences").offsets.to_numpy()
    links = paragraphs.field("links")
    counts = np.diff(links.offsets.to_numpy())
    sentences = np.repeat(firsts[:-1], counts) + links.values.field("sentence_index").to_numpy()
    targets: list[dict[str, None]] = [{} for _ in doc_ids]
    for sentence, target in zip(sentences.tolist(), links.values.field("doc_id").to_pylist(), strict=True):
        passage = bisect_right(bounds, sentence) - 1
        if target != doc_ids[passage]:
            targets[passage][target] = None
    return pa.array([list(of_passage) for of_passage in targets], pa.list_(pa.string()))

"""The passages of a corpus without held-out documents, and their texts."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from tokenizers import Tokenizer

from contexture.encoders.config import Lengths
from contexture.retrieval.parquet_rows import ROWS_PER_GROUP, ParquetRows, read_batches
from contexture.retrieval.top import Rows
from contexture.splits import document_draw

#: Columns of passages that are kept.
COLUMNS = ["passage_id", "doc_id", "title", "text", "title_tokens", "tokens", "links"]
#: Columns of a passage's text that are searched, after its id.
TEXT_COLUMNS = ["passage_id", "title", "text"]


def write_passages(passages: Path, file: Path, held_out_share: float = 0.0) -> ParquetRows:
    """Write the passages of documents that are not held out to one file; raise ValueError if there are none.

    `held_out_share`: share of the documents that are held out to measure the loss of training.
    """
    writer = None
    for batch in read_batches(passages, [*COLUMNS, "held_out"]):
        kept = batch.filter(pc.invert(batch["held_out"])).select(COLUMNS)
        if held_out_share:
            drawn = [document_draw(doc_id) for doc_id in kept["doc_id"].to_pylist()]
            kept = kept.filter(pa.array([number >= held_out_share for number in drawn], pa.bool_()))
        writer = writer or pq.ParquetWriter(file, kept.schema)
        writer.write_batch(kept, row_group_size=ROWS_PER_GROUP)
    if writer is None:
        raise ValueError(f"{passages} contains no passages: run the stage examples first")
    writer.close()
    return ParquetRows(file)


def take_passages(passages: ParquetRows, rows: Rows, columns: Sequence[str]) -> pa.Table:
    """Return rows of the passages, one batch in memory at a time; `rows` are different and sorted."""
    start, parts = 0, []
    for batch in passages.batches(list(columns)):
        first, end = np.searchsorted(rows, [start, start + len(batch)])
        parts.append(batch.take(pa.array(rows[first:end] - start)))
        start += len(batch)
    return pa.Table.from_batches(parts)


def decode_texts(tokenizer: Tokenizer, column: Any) -> list[str]:
    """Return the texts of a column of token ids."""
    texts: list[str] = tokenizer.decode_batch(column.to_pylist(), skip_special_tokens=True)
    return texts


def decode_documents(tokenizer: Tokenizer, titles: Any, passages: Any) -> list[tuple[str, str]]:
    """Return titles and texts of documents of columns of token ids."""
    return list(zip(decode_texts(tokenizer, titles), decode_texts(tokenizer, passages), strict=True))


def cut_passage(tokens: list[int], title: list[int], lengths: Lengths) -> list[int]:
    """Cut a passage so that it fits into a document with its title and three special tokens, as in sampled pairs."""
    return tokens[: max(1, lengths.document - 3 - len(title))]

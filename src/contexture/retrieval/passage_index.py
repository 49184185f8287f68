"""The folder that a search reads: an encoder, the passages of a corpus, their vectors, and BM25 over their words.

Passages are read a few at a time, whatever their number.
"""

import shutil
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import pyarrow.parquet as pq

from contexture.encoders.base import on_device
from contexture.encoders.files import load_encoder
from contexture.encoders.saved import encoder_checksum
from contexture.folders import discard_other, work_folder
from contexture.retrieval.candidates import index_words
from contexture.retrieval.config import Bm25Config
from contexture.retrieval.parquet_rows import ROWS_A_GROUP, ROWS_AT_ONCE, ParquetRows
from contexture.retrieval.passage_search import ENCODER, PASSAGES, VECTORS, WORDS
from contexture.retrieval.vectors import write_vectors

#: The parts of a passage that are searched, and its id.
PARTS = ["title", "text"]
COLUMNS = ["passage_id", *PARTS]


def build_passage_index(passages: Path, encoder: Path, folder: Path, words: Bm25Config | None = None) -> None:
    """Write the passages (a folder of Parquet files), the encoder, the vectors of all passages and BM25 to `folder`.

    Vectors that were made before a kill are kept. Raises ValueError where there is no passage, or no word in any.
    """
    words = words or Bm25Config()
    files = sorted(passages.glob("*.parquet"))
    rows = sum(pq.ParquetFile(file).metadata.num_rows for file in files)
    if not rows:
        raise ValueError(f"{passages} holds no passage: there is nothing to search")
    made_by = {"encoder": encoder_checksum(encoder)}
    size = sum(file.stat().st_size for file in files)
    identity = made_by | {"passages": rows, "bytes": size, "words": asdict(words)}
    discard_other(folder, identity)
    with work_folder(folder, identity) as work:
        shutil.copytree(encoder, work / ENCODER, dirs_exist_ok=True)
        _copy(files, work / PASSAGES)
        stored, model = ParquetRows(work / PASSAGES), on_device(load_encoder(encoder))
        write_vectors(
            work / VECTORS,
            rows,
            model.document.size,
            lambda chosen: model.embed(stored.part(chosen, PARTS), "document"),
            made_by,
        )
        index_words(stored, PARTS, work / WORDS, words)


def _copy(files: Sequence[Path], copy: Path) -> None:
    """What is shown of the passages, in one file."""
    schema = pq.read_schema(files[0])
    with pq.ParquetWriter(copy, schema.empty_table().select(COLUMNS).schema) as writer:
        for file in files:
            for batch in pq.ParquetFile(file).iter_batches(ROWS_AT_ONCE, columns=COLUMNS):
                writer.write_batch(batch.select(COLUMNS), row_group_size=ROWS_A_GROUP)

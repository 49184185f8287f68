"""The folder that a search reads: an encoder, the passages of a corpus, their vectors, and BM25 over their words."""

import shutil
from dataclasses import asdict
from pathlib import Path

import pyarrow.parquet as pq

from contexture.encoders.base import on_device
from contexture.encoders.files import load_encoder
from contexture.encoders.saved import encoder_checksum
from contexture.folders import discard_other, work_folder
from contexture.metrics.bm25 import Bm25
from contexture.metrics.config import Bm25Config
from contexture.metrics.vectors import Array, write_vectors
from contexture.tasks.retrieval.passage_search import ENCODER, PASSAGES, VECTORS, WORDS

#: Passages that are read together to show one of them.
PASSAGES_AT_ONCE = 1000


def build_passage_index(passages: Path, encoder: Path, folder: Path, words: Bm25Config | None = None) -> None:
    """Write the passages (a folder of Parquet files), the encoder, the vectors of all passages and BM25 to `folder`.

    Vectors that were made before a kill are kept. Raises ValueError where there is no passage, or no word in any.
    """
    words = words or Bm25Config()
    rows = sum(pq.ParquetFile(file).metadata.num_rows for file in passages.glob("*.parquet"))
    if not rows:
        raise ValueError(f"{passages} holds no passage: there is nothing to search")
    size = sum(file.stat().st_size for file in passages.glob("*.parquet"))
    made_by = {"encoder": encoder_checksum(encoder)}
    identity = made_by | {"passages": rows, "bytes": size, "words": asdict(words)}
    discard_other(folder, identity)
    with work_folder(folder, identity) as work:
        shutil.copytree(encoder, work / ENCODER, dirs_exist_ok=True)
        table = pq.read_table(passages, columns=["passage_id", "title", "text"])
        pq.write_table(table, work / PASSAGES, row_group_size=PASSAGES_AT_ONCE)
        model = on_device(load_encoder(encoder))

        def documents(chosen: range) -> list[tuple[str, str]]:
            part = table.slice(chosen.start, len(chosen))
            return list(zip(part["title"].to_pylist(), part["text"].to_pylist(), strict=True))

        def rows_of(chosen: range) -> Array:
            return model.embed(documents(chosen), "document")

        write_vectors(work / VECTORS, rows, model.document.size, rows_of, made_by)
        with work_folder(work / WORDS) as part:
            Bm25([" ".join(document) for document in documents(range(rows))], words).save(part)

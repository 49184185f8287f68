"""Search among the passages of a corpus: a folder with an encoder, passages and vectors, and queries against it."""

import shutil
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from contexture.encoders.base import on_device
from contexture.encoders.files import encoder_checksum, load_encoder
from contexture.folders import discard_other, work_folder
from contexture.metrics.config import IndexConfig
from contexture.metrics.search_index import open_index
from contexture.metrics.vectors import Array, check_identity, open_vectors, write_vectors

#: The parts of a search folder.
ENCODER, PASSAGES, VECTORS = "encoder", "passages.parquet", "vectors"


@dataclass(frozen=True)
class Hit:
    """A passage that was found."""

    score: float
    passage_id: str
    title: str
    text: str


def build_passage_index(passages: Path, encoder: Path, folder: Path) -> None:
    """Write the passages (a folder of Parquet files), the encoder and the vectors of all passages to `folder`.

    Vectors that were made before a kill are kept. Raises ValueError where there is no passage.
    """
    rows = sum(pq.ParquetFile(file).metadata.num_rows for file in passages.glob("*.parquet"))
    if not rows:
        raise ValueError(f"{passages} holds no passage: there is nothing to search")
    size = sum(file.stat().st_size for file in passages.glob("*.parquet"))
    made_by = {"encoder": encoder_checksum(encoder)}
    identity = made_by | {"passages": rows, "bytes": size}
    discard_other(folder, identity)
    with work_folder(folder, identity) as work:
        shutil.copytree(encoder, work / ENCODER, dirs_exist_ok=True)
        texts = pq.read_table(passages, columns=["passage_id", "title", "text"])
        pq.write_table(texts, work / PASSAGES)
        model = on_device(load_encoder(encoder))

        def rows_of(chosen: range) -> Array:
            part = texts.slice(chosen.start, len(chosen))
            documents = zip(part["title"].to_pylist(), part["text"].to_pylist(), strict=True)
            return model.embed(list(documents), "document")

        write_vectors(work / VECTORS, rows, model.document.size, rows_of, made_by)


class PassageSearch:
    """A folder of `build_passage_index`, opened."""

    def __init__(self, folder: Path, index: IndexConfig | None = None) -> None:
        """Raises ValueError where a part is missing, damaged, or made by another encoder."""
        if not (folder / PASSAGES).exists():
            raise ValueError(f"{folder} is no search index: make one with kedro run --tags index")
        self.encoder = on_device(load_encoder(folder / ENCODER))
        vectors = open_vectors(folder / VECTORS)
        check_identity(vectors, {"encoder": encoder_checksum(folder / ENCODER)})
        try:
            self.passages = pq.read_table(folder / PASSAGES, memory_map=True)
        except (OSError, pa.ArrowInvalid) as error:
            raise ValueError(f"{folder / PASSAGES} is damaged ({error}): build the index again") from error
        if len(self.passages) != len(vectors):
            raise ValueError(f"{folder}: {len(self.passages)} passages, {len(vectors)} vectors: build the index again")
        self.index = open_index(vectors, index or IndexConfig())
        self.size = len(vectors)

    def __call__(self, query: str, k: int = 5) -> list[Hit]:
        """The k best passages, best first; ValueError for a query without a word."""
        if not self.encoder.vocabulary.tokenizer.encode(query, add_special_tokens=False).ids:
            raise ValueError("the query is empty")
        scores, rows = self.index.search(self.encoder.embed([query], "query"), min(k, self.size))
        found = self.passages.take(pa.array(rows[0][rows[0] >= 0])).to_pylist()
        return [Hit(float(score), **row) for score, row in zip(scores[0], found, strict=False)]

"""Search among the passages of a corpus: a folder with towers, passages and vectors, and queries against it."""

import shutil
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from contexture.encoders.embedding import embed
from contexture.encoders.tower_files import checksum, load_towers
from contexture.folders import discard_other, work_folder
from contexture.metrics.search_index import IndexConfig, open_index
from contexture.metrics.vectors import check_identity, open_vectors, write_vectors
from contexture.systems.two_tower.batches import parts_of
from contexture.tasks.retrieval.data import plain_texts
from contexture.tasks.retrieval.model import on_device
from contexture.vocabulary.tokenizers import load_tokenizer

#: The parts of a search folder.
TOWERS, PASSAGES, VECTORS = "towers", "passages.parquet", "vectors"
_TEXTS = ["passage_id", "title", "text"]


@dataclass(frozen=True)
class Hit:
    """A passage that was found."""

    score: float
    passage_id: str
    title: str
    text: str


def build_passage_index(passages: Path, towers: Path, folder: Path) -> None:
    """Write the passages (a folder of Parquet files), the towers and the vectors of all passages to `folder`.

    Vectors that were made before a kill are kept. Raises ValueError where there is no passage.
    """
    rows = sum(pq.ParquetFile(file).metadata.num_rows for file in passages.glob("*.parquet"))
    if not rows:
        raise ValueError(f"{passages} holds no passage: there is nothing to search")
    size = sum(file.stat().st_size for file in passages.glob("*.parquet"))
    identity = {"towers": checksum(towers), "passages": rows, "bytes": size}
    discard_other(folder, identity)
    with work_folder(folder, identity) as work:
        shutil.copytree(towers, work / TOWERS, dirs_exist_ok=True)
        texts = pq.read_table(passages, columns=[*_TEXTS, "title_tokens", "tokens"])
        pq.write_table(texts.select(_TEXTS), work / PASSAGES)
        model = on_device(load_towers(towers))
        specials = model.specials(load_tokenizer(towers)[1])

        def rows_of(chosen: range) -> npt.NDArray[np.float32]:
            part = parts_of(texts.slice(chosen.start, len(chosen)), "title_tokens", "tokens")
            return embed(model.document, part, specials, model.layout.document_tokens)

        write_vectors(work / VECTORS, rows, model.config.embedding_size, rows_of, {"towers": checksum(towers)})


class PassageSearch:
    """A folder of `build_passage_index`, opened."""

    def __init__(self, folder: Path, index: IndexConfig | None = None) -> None:
        """Raises ValueError where a part is missing, damaged, or made by other towers."""
        if not (folder / PASSAGES).exists():
            raise ValueError(f"{folder} is no search index: make one with kedro run --pipelines two_tower")
        self.towers = on_device(load_towers(folder / TOWERS))
        self.tokenizer, tokens = load_tokenizer(folder / TOWERS)
        self.specials = self.towers.specials(tokens)
        vectors = open_vectors(folder / VECTORS)
        check_identity(vectors, {"towers": checksum(folder / TOWERS)})
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
        texts = plain_texts([query], self.tokenizer)
        if not texts.tokens.size:
            raise ValueError("the query is empty")
        vector = embed(self.towers.query, texts, self.specials, self.towers.layout.query_tokens)
        scores, rows = self.index.search(vector, min(k, self.size))
        found = self.passages.take(pa.array(rows[0][rows[0] >= 0])).to_pylist()
        return [Hit(float(score), **row) for score, row in zip(scores[0], found, strict=False)]

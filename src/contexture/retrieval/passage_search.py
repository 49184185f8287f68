"""Build and search an index folder: an encoder, the passages of a corpus, their vectors, and BM25.

To answer a single question fast, torch and FAISS are imported only if needed, and files are checked by size and
identity instead of checksum.
"""

import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import starmap
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from contexture.encoders.config import StaticConfig
from contexture.encoders.saved import damaged_error, encoder_checksum, read_settings
from contexture.encoders.static_queries import StaticQueryEncoder
from contexture.folders import watch_folder, work_folder
from contexture.retrieval.bm25 import Bm25
from contexture.retrieval.config import Bm25Config, IndexConfig, SearchDefaults, SearchMethod
from contexture.retrieval.fusion import fuse_scores
from contexture.retrieval.parquet_rows import ROWS_PER_BATCH, ROWS_PER_GROUP, ParquetRows
from contexture.retrieval.passages import TEXT_COLUMNS, check_text, searched_text
from contexture.retrieval.top import NO_ROW, Rows, Scores
from contexture.retrieval.vectors import Array, Vectors, check_identity, open_vectors, search_numpy, write_vectors

#: Layout of an index folder.
ENCODER_DIR, PASSAGES_FILE, VECTORS_DIR, BM25_DIR = "encoder", "passages.parquet", "vectors", "bm25"
DEFAULTS_FILE = "search.json"
#: Columns that are stored.
PASSAGE_COLUMNS = ["passage_id", *TEXT_COLUMNS]
#: Minimal length of rankings that are fused.
MIN_FUSION_DEPTH = 100


@dataclass(frozen=True)
class Hit:
    """A passage in the results.

    `score` is the inner product, BM25's score or, for both, their weighted sum after scaling (`fuse_scores`).
    `by_vectors` and `by_bm25` are the ranks in these from 1, or None.
    """

    score: float
    passage_id: str
    title: str
    heading: str
    text: str
    by_vectors: int | None
    by_bm25: int | None


def build_passage_index(
    passages: Path,
    encoder: Path,
    folder: Path,
    bm25: Bm25Config | None = None,
    defaults: SearchDefaults | None = None,
) -> None:
    """Write encoder, passages (from a folder of Parquet files), their vectors, BM25 and `defaults` to `folder`.

    An interrupted build keeps its finished vectors. Raises ValueError if there are no passages or no words.
    """
    from contexture.retrieval.candidates import build_bm25  # `PassageSearch` does not need torch

    bm25, defaults = bm25 or Bm25Config(), defaults or SearchDefaults()
    files = sorted(passages.glob("*.parquet"))
    if not any(pq.ParquetFile(file).metadata.num_rows for file in files):
        raise ValueError(f"{passages} contains no passages: there is nothing to search")
    # The vectors have their own identity. All other parts are written anew.
    identity = {"encoder": encoder_checksum(encoder)}
    with work_folder(folder, identity, is_cache=True) as work_dir:
        shutil.copytree(encoder, work_dir / ENCODER_DIR, dirs_exist_ok=True)
        (work_dir / DEFAULTS_FILE).write_text(json.dumps(asdict(defaults)), encoding="utf-8")
        passage_rows = merge_passages(files, work_dir / PASSAGES_FILE)
        embed_passages(passage_rows, encoder, work_dir / VECTORS_DIR)
        texts = starmap(searched_text, passage_rows.tuples(TEXT_COLUMNS))
        build_bm25(map(" ".join, texts), work_dir / BM25_DIR, bm25)


def merge_passages(files: Sequence[Path], target: Path) -> ParquetRows:
    """Write the stored columns of Parquet files to one file, and return its rows."""
    schema = pq.read_schema(files[0]).empty_table().select(PASSAGE_COLUMNS).schema
    with pq.ParquetWriter(target, schema) as writer:
        for file in files:
            for batch in pq.ParquetFile(file).iter_batches(ROWS_PER_BATCH, columns=PASSAGE_COLUMNS):
                writer.write_batch(batch.select(PASSAGE_COLUMNS), row_group_size=ROWS_PER_GROUP)
    return ParquetRows(target)


def embed_passages(passages: ParquetRows, encoder: Path, folder: Path) -> Vectors:
    """Write the vectors of passages to `folder`, which keeps finished shards of the same texts, and return them."""
    from contexture.encoders.base import prepare_for_inference
    from contexture.encoders.files import load_encoder
    from contexture.retrieval.candidates import hash_texts

    model = prepare_for_inference(load_encoder(encoder))
    return write_vectors(
        folder,
        len(passages),
        model.document.size,
        lambda chosen: model.embed(list(starmap(searched_text, passages.read_range(chosen, TEXT_COLUMNS))), "document"),
        {"encoder": encoder_checksum(encoder), "texts": hash_texts(passages, TEXT_COLUMNS)},
    )


class PassageSearch:
    """Search in a folder of `build_passage_index`."""

    def __init__(self, folder: Path, index: IndexConfig | None = None, method: SearchMethod | None = None) -> None:
        """Open the index; the default method is that of the index.

        Raises ValueError if a part is missing, damaged, or made with another encoder, if the index is replaced
        meanwhile, and for approximate vector search by "bm25".
        """
        self.folder = folder
        #: Raises ReplacedError if the index was replaced after it was opened.
        self.check_replaced = watch_folder(folder / PASSAGES_FILE)
        if not (folder / PASSAGES_FILE).exists():
            raise ValueError(f"{folder} is not a search index: build one with kedro run --tags index")
        try:
            self.defaults = SearchDefaults(**json.loads((folder / DEFAULTS_FILE).read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError) as error:
            raise ValueError(f"{folder / DEFAULTS_FILE} is damaged ({error}): build the index again") from error
        self.method: SearchMethod = method or self.defaults.method
        index = index or IndexConfig()
        if self.method == "bm25" and index.kind != "flat":
            raise ValueError(
                f"{folder}: {index.kind} (--approximate) needs vectors and has no effect on a search by bm25"
                f"{'' if method else ', which this index recommends'}: remove it, or search --by vectors or hybrid"
            )
        try:
            self.passages = ParquetRows(folder / PASSAGES_FILE)
        except (OSError, pa.ArrowInvalid) as error:
            raise ValueError(f"{folder / PASSAGES_FILE} is damaged ({error}): build the index again") from error
        self.rankings: dict[str, _VectorSearch | Bm25] = {}
        if self.method != "bm25":
            self.rankings["vectors"] = _VectorSearch(folder, index)
        if self.method != "vectors":
            self.rankings["bm25"] = Bm25(folder / BM25_DIR)
        for name, ranking in self.rankings.items():
            if len(ranking) != len(self.passages):
                raise ValueError(
                    f"{folder}: {len(self.passages)} passages, {len(ranking)} {name}: build the index again"
                )
        self.check_replaced()

    def __call__(self, query: str, k: int = 5) -> list[Hit]:
        """Return up to k passages, best first; raise ValueError as `check_text` does."""
        return self.search([query], k)[0]

    def search(self, queries: Sequence[str], k: int = 5) -> list[list[Hit]]:
        """Return up to k passages for each query, best first; raise ValueError as `check_text` does."""
        for query in queries:
            check_text(query, "the query")
        k = min(k, len(self.passages))
        depth = k if len(self.rankings) == 1 else min(max(k, MIN_FUSION_DEPTH), len(self.passages))
        rankings = {name: ranking.search(queries, depth) for name, ranking in self.rankings.items()}
        (scores, rows), *other = rankings.values()
        if other:
            scores, rows = fuse_scores((scores, rows), other[0], self.defaults.weight, k)
        return [
            self._describe_hits(
                scores[number], rows[number], {name: part[1][number] for name, part in rankings.items()}
            )
            for number in range(len(queries))
        ]

    def _describe_hits(self, scores: Scores, rows: Rows, ranked: Mapping[str, Rows]) -> list[Hit]:
        """Return the hits of a query; `ranked` has the rows of each ranking, best first."""
        ranks: dict[str, dict[int, int]] = {"vectors": {}, "bm25": {}} | {
            name: {row: rank for rank, row in enumerate(part.tolist(), start=1)} for name, part in ranked.items()
        }
        hits = rows[rows >= 0].tolist()
        return [
            Hit(float(score), **passage, by_vectors=ranks["vectors"].get(row), by_bm25=ranks["bm25"].get(row))
            for row, score, passage in zip(hits, scores, self.passages.take(hits), strict=False)
        ]


class _VectorSearch:
    """Search by the vectors of an encoder."""

    def __init__(self, folder: Path, config: IndexConfig) -> None:
        self.embed = _load_query_encoder(folder / ENCODER_DIR)
        self.vectors = open_vectors(folder / VECTORS_DIR, read_all=False)
        check_identity(self.vectors, {"encoder": encoder_checksum(folder / ENCODER_DIR)})
        self._search: Callable[[Array, int], tuple[Scores, Rows]] = partial(search_numpy, self.vectors)
        if config.kind != "flat":
            from contexture.retrieval.search_index import open_index

            self._search = open_index(self.vectors, config).search

    def __len__(self) -> int:
        return len(self.vectors)

    def search(self, queries: Sequence[str], k: int) -> tuple[Scores, Rows]:
        """Return scores and rows [Q, k] as `search_numpy` does; a query with vector 0 has no results."""
        vectors = self.embed(queries)
        scores, rows = self._search(vectors, k)
        wordless = ~vectors.any(axis=1)
        scores[wordless], rows[wordless] = -np.inf, NO_ROW
        return scores, rows


def _load_query_encoder(folder: Path) -> Callable[[Sequence[str]], Array]:
    """Return a function that embeds questions; static encoders need no torch."""
    try:
        settings = read_settings(folder)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise damaged_error(folder, error) from error
    if isinstance(settings.config, StaticConfig):
        return StaticQueryEncoder(folder, settings).embed
    from contexture.encoders.base import prepare_for_inference
    from contexture.encoders.files import load_encoder

    encoder = prepare_for_inference(load_encoder(folder))
    return lambda texts: encoder.embed(texts, "query")

"""Exact and approximate search for the vectors with the largest inner products, with FAISS.

Exact search reads one block of vectors at a time. Approximate indexes are cached next to the vectors: inverted lists
(ivf) are memory-mapped, a graph (hnsw) needs all vectors in memory.

Results are ordered by score, then row. A score depends on its two vectors alone, so results do not depend on shards,
blocks or other queries.
"""

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import faiss
import numpy as np
import pandas as pd
from pandas.util import hash_array

from contexture.folders import hash_file, work_folder
from contexture.progress import progress
from contexture.retrieval.config import IndexConfig
from contexture.retrieval.top import Rows, Scores, group_batches, select_best
from contexture.retrieval.vectors import BLOCK_ROWS, Array, Vectors, check_queries, inner_products, search_numpy

# Rows beyond k that FAISS returns, so that its rounding does not decide the k best.
_EXTRA_ROWS = 16
# hnsw: neighbours per vector in the graph, and breadth of the search for them (efConstruction).
_HNSW_NEIGHBOURS, _HNSW_BUILD_BREADTH = 32, 40
# ivf: training vectors per list, the fewest without a warning of FAISS.
_VECTORS_PER_LIST = 39
# ivf: vectors in memory at a time while lists are written.
_VECTORS_PER_BATCH = 16 * BLOCK_ROWS
# The FAISS index; ivf: its centroids, the sizes of the lists, and the vectors and rows of each list.
_INDEX_FILE, _SIZES_FILE, _LISTS_FILE = "index.faiss", "sizes.npy", "lists.bin"
_DESCRIPTION_FILE = "index.json"


def search_exact(vectors: Vectors, queries: Array, k: int) -> tuple[Scores, Rows]:
    """Return scores and rows, both [Q, min(k, rows)], with the largest inner products with queries [Q, dimension].

    The best are first; ties are ordered by row. Raises ValueError as `check_queries` does.
    """
    queries = check_queries(vectors, queries, k)
    k = min(k, len(vectors))
    faiss_scores, rows, max_length = _search_faiss(vectors, queries, min(k + _EXTRA_ROWS, len(vectors)))
    scores, rows = select_best(inner_products(vectors, queries, rows), rows, k)
    if faiss_scores.shape[1] < len(vectors):
        # FAISS adds the same products in another order. A row that FAISS left out can only belong to the k best if the
        # k-th score is within the rounding error of the worst score that FAISS returned.
        rounding = 8 * np.sqrt(vectors.dimension) * np.finfo(np.float32).eps
        error = rounding * max_length * np.linalg.norm(queries, axis=1)
        undecided = np.flatnonzero(scores[:, -1] <= faiss_scores[:, -1] + error)
        if len(undecided):
            scores[undecided], rows[undecided] = search_numpy(vectors, queries[undecided], k)
    return scores, rows


def find_nearest(candidates: Array, queries: Array, k: int) -> tuple[Scores, Rows]:
    """Return cosines and rows, both (Q, k), of the k nearest candidates (N, D); exact, in memory."""
    # FAISS normalizes in place.
    candidates, queries = (np.ascontiguousarray(vectors, np.float32).copy() for vectors in (candidates, queries))
    for vectors in (candidates, queries):
        faiss.normalize_L2(vectors)
    index = faiss.IndexFlatIP(candidates.shape[1])
    index.add(candidates)
    scores, rows = index.search(queries, k)
    return scores, rows


class VectorIndex:
    """Search in vectors on disk: exact, or with a FAISS index."""

    def __init__(self, vectors: Vectors, index: Any = None) -> None:
        self.vectors, self.index = vectors, index

    def search(self, queries: Array, k: int) -> tuple[Scores, Rows]:
        """Search as `search_exact` does; results of an approximate index are padded with row −1 and score −inf."""
        if self.index is None:
            return search_exact(self.vectors, queries, k)
        queries = check_queries(self.vectors, queries, k)
        _, rows = self.index.search(queries, min(k, len(self.vectors)))
        return select_best(inner_products(self.vectors, queries, rows), rows, k)


def open_index(vectors: Vectors, config: IndexConfig) -> VectorIndex:
    """Open an index over vectors; an approximate one is cached in `<folder>.ivf` or `<folder>.hnsw`.

    It is built if it is missing, damaged, or of other vectors. The same vectors give the same index.
    """
    if config.kind == "flat":
        return VectorIndex(vectors)
    folder = vectors.folder.with_name(f"{vectors.folder.name}.{config.kind}")
    build_settings: dict[str, Any] = (
        {"lists": None}
        if config.kind == "ivf"
        else {"neighbours": _HNSW_NEIGHBOURS, "construction": _HNSW_BUILD_BREADTH}
    )
    identity = {"kind": config.kind, **build_settings, "faiss": faiss.__version__, "vectors": vectors.fingerprint}
    if not _is_intact(folder, identity):
        with work_folder(folder) as work_dir:
            _build_index(vectors, config.kind, work_dir)
            description = {**identity, "sha256": _hash_index_files(work_dir)}
            (work_dir / _DESCRIPTION_FILE).write_text(json.dumps(description, indent=1), encoding="utf-8")
    index: Any = faiss.read_index(str(folder / _INDEX_FILE))
    if config.kind == "ivf":
        _map_lists(index, folder)
        index.nprobe = config.probes
    else:
        index.hnsw.efSearch = config.breadth
    return VectorIndex(vectors, index)


def compare_indexes(vectors: Vectors, queries: Array, k: int, configs: Sequence[IndexConfig]) -> pd.DataFrame:
    """Return a table with a row for exact search, then one per config.

    Columns: kind, recall_against_exact (share of the exact k best, 0 to 1), queries_per_second (all queries in one
    batch) and build_seconds (to build or open the index).
    """
    started = time.perf_counter()
    _, exact_rows = search_exact(vectors, queries, k)
    results = [("flat", 1.0, len(queries) / (time.perf_counter() - started), 0.0)]
    for config in configs:
        started = time.perf_counter()
        index = open_index(vectors, config)
        opened = time.perf_counter()
        _, rows = index.search(queries, k)
        seconds = time.perf_counter() - opened
        recalls = [np.isin(right, row).mean() for right, row in zip(exact_rows, rows, strict=True)]
        results.append((config.kind, float(np.mean(recalls)), len(queries) / seconds, opened - started))
    return pd.DataFrame(results, columns=["kind", "recall_against_exact", "queries_per_second", "build_seconds"])


def _search_faiss(vectors: Vectors, queries: Array, k: int) -> tuple[Scores, Rows, float]:
    """Return scores and rows of FAISS's k best, and the length of the longest vector."""
    scores, rows = np.empty((len(queries), 0), np.float32), np.empty((len(queries), 0), np.int64)
    max_length = 0.0
    for start, block in vectors.blocks(BLOCK_ROWS):
        block_scores, block_rows = faiss.knn(queries, block, min(k, len(block)), metric=faiss.METRIC_INNER_PRODUCT)
        scores, rows = select_best(np.hstack([scores, block_scores]), np.hstack([rows, block_rows + start]), k)
        max_length = max(max_length, float(np.linalg.norm(block, axis=1).max()))
    return scores, rows, max_length


def _is_intact(folder: Path, identity: dict[str, Any]) -> bool:
    # FAISS does not check the files that it reads.
    try:
        description = json.loads((folder / _DESCRIPTION_FILE).read_text(encoding="utf-8"))
        return bool(description == {**identity, "sha256": _hash_index_files(folder)})
    except (OSError, ValueError):
        return False


def _hash_index_files(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of each of the index's files that exist, by name, without their description."""
    files = (folder / name for name in (_INDEX_FILE, _SIZES_FILE, _LISTS_FILE))
    return {file.name: hash_file(file).hex() for file in files if file.exists()}


def _build_index(vectors: Vectors, kind: str, work_dir: Path) -> None:
    blocks = progress(-(-len(vectors) // BLOCK_ROWS), f"index ({kind})", "block", vectors.blocks(BLOCK_ROWS))
    if kind == "ivf":
        index = _train_lists(vectors)
        with _single_thread():
            nearest = np.concatenate([index.quantizer.search(block, 1)[1][:, 0] for _, block in blocks])
        _write_lists(vectors, nearest, np.bincount(nearest, minlength=index.nlist), work_dir)
    else:
        index = faiss.IndexHNSWFlat(vectors.dimension, _HNSW_NEIGHBOURS, faiss.METRIC_INNER_PRODUCT)
        index.hnsw.efConstruction = _HNSW_BUILD_BREADTH
        with _single_thread():
            for _, block in blocks:
                index.add(block)
    faiss.write_index(index, str(work_dir / _INDEX_FILE))


def _write_lists(vectors: Vectors, nearest: Rows, sizes: Rows, work_dir: Path) -> None:
    """Write the vectors and rows of each list in FAISS's layout, a few lists at a time."""
    order = np.argsort(nearest, kind="stable")
    starts = np.concatenate([[0], np.cumsum(sizes)])
    np.save(work_dir / _SIZES_FILE, sizes)
    with (work_dir / _LISTS_FILE).open("wb") as file:
        for first, end in group_batches(starts, _VECTORS_PER_BATCH):
            rows = order[starts[first] : starts[end]]
            batch = vectors.take(rows)
            for number in range(first, end):
                members = slice(*(starts[number : number + 2] - starts[first]))
                file.write(batch[members].tobytes())
                file.write(rows[members].tobytes())


def _map_lists(index: Any, folder: Path) -> None:
    """Map the lists that `_write_lists` wrote into an index with empty lists."""
    lists: Any = faiss.OnDiskInvertedLists(index.nlist, index.code_size, str(folder / _LISTS_FILE))
    sizes = np.load(folder / _SIZES_FILE).astype(np.uint64)  # keep a reference: FAISS reads it by its address
    lists.set_all_lists_sizes(faiss.swig_ptr(sizes))
    lists.totsize, lists.read_only = int(sizes.sum()) * (index.code_size + 8), True
    lists.do_mmap()
    lists.prefetch_nthread = 0  # starting 32 threads for each search takes longer than reading mapped lists
    index.replace_invlists(lists, True)
    index.ntotal = int(sizes.sum())
    lists.this.disown()  # owned by the index


def _train_lists(vectors: Vectors) -> Any:
    """Return a trained index of up to 4·√N empty lists, with at least 39 of the N vectors per list for training."""
    count = len(vectors)
    lists = max(1, min(int(4 * np.sqrt(count)), count // _VECTORS_PER_LIST))
    rows, sample = np.arange(count), _VECTORS_PER_LIST * lists
    if count >= 2 * sample:
        rows = np.sort(np.argpartition(hash_array(rows), sample)[:sample])  # a sample that depends on the rows alone
    index = faiss.IndexIVFFlat(
        faiss.IndexFlatIP(vectors.dimension), vectors.dimension, lists, faiss.METRIC_INNER_PRODUCT
    )
    index.train(vectors.take(rows))
    return index


@contextmanager
def _single_thread() -> Iterator[None]:
    """Run FAISS on one thread inside the block, because the graph depends on the timing of threads."""
    threads = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(threads)

"""Search for the vectors with the largest inner products: exactly, or faster with FAISS's approximate indexes.

The exact search reads the vectors block by block and keeps no more than one in memory. An approximate index is a cache
beside the vectors. Lists (ivf) are written a few at a time and mapped; a graph (hnsw) holds all vectors in memory.

Results are ordered by score, rows of equal scores by their numbers. A score is a function of its two vectors alone, so
neither shards, blocks nor the other queries change a result.
"""

import hashlib
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

from contexture.folders import work_folder
from contexture.progress import progress
from contexture.retrieval.config import IndexConfig
from contexture.retrieval.top import Rows, Scores, best, runs
from contexture.retrieval.vectors import BLOCK, Array, Vectors, checked, inner_products, search_every

# Rows beyond k whose scores FAISS is asked for, so that its rounding does not decide who is among the k.
_MARGIN = 16
# hnsw: neighbours of a vector in the graph, and the breadth of the search for them.
_NEIGHBOURS, _CONSTRUCTION = 32, 40
# Vectors that a list's centroid is found from; FAISS warns of fewer.
_PER_LIST = 39
# Vectors that are in memory at a time when lists are written.
_AT_ONCE = 4 * BLOCK
# ivf: the centroids; the number of vectors in each list; and list by list the vectors and their row numbers.
_INDEX, _SIZES, _LISTS = "index.faiss", "sizes.npy", "lists.bin"
_DESCRIPTION = "index.json"


def search_exact(vectors: Vectors, queries: Array, k: int) -> tuple[Scores, Rows]:
    """Scores and numbers [Q, min(k, rows)] of the rows with the largest inner products with queries [Q, dimension].

    The best are first; of equal scores the lower row number is first. ValueError for queries of another dimension or
    with numbers that are not finite.
    """
    queries = checked(vectors, queries, k)
    k = min(k, len(vectors))
    rough, rows, longest = _rough(vectors, queries, min(k + _MARGIN, len(vectors)))
    scores, rows = best(inner_products(vectors, queries, rows), rows, k)
    if rough.shape[1] < len(vectors):
        # FAISS's scores and ours are sums of the same products in different orders. A row that FAISS left out can be
        # better than the k-th only if its score is that near to the worst that FAISS kept (as when all are alike).
        rounding = 8 * np.sqrt(vectors.dimension) * np.finfo(np.float32).eps
        error = rounding * longest * np.linalg.norm(queries, axis=1)
        unsure = np.flatnonzero(scores[:, -1] <= rough[:, -1] + error)
        if len(unsure):
            scores[unsure], rows[unsure] = search_every(vectors, queries[unsure], k)
    return scores, rows


def nearest(candidates: Array, queries: Array, k: int) -> tuple[Scores, Rows]:
    """Cosines (Q, k) with the k nearest of the candidates (N, D) in memory, and their rows; exact."""
    # Copies, as FAISS scales in place.
    candidates, queries = (np.ascontiguousarray(vectors, np.float32).copy() for vectors in (candidates, queries))
    for vectors in (candidates, queries):
        faiss.normalize_L2(vectors)
    index = faiss.IndexFlatIP(candidates.shape[1])
    index.add(candidates)
    scores, rows = index.search(queries, k)
    return scores, rows


class Index:
    """Search in vectors on disk: exactly, or through a FAISS index over them."""

    def __init__(self, vectors: Vectors, index: Any = None) -> None:
        self.vectors, self.index = vectors, index

    def search(self, queries: Array, k: int) -> tuple[Scores, Rows]:
        """As `search_exact`; if a FAISS index finds fewer than k, the last rows are −1 and their scores −inf."""
        if self.index is None:
            return search_exact(self.vectors, queries, k)
        queries = checked(self.vectors, queries, k)
        _, rows = self.index.search(queries, min(k, len(self.vectors)))
        return best(inner_products(self.vectors, queries, rows), rows, k)


def open_index(vectors: Vectors, config: IndexConfig) -> Index:
    """The index of a kind; an approximate one is a folder beside that of the vectors, `<folder>.ivf` or `.hnsw`.

    It is built if it is missing, damaged, or of other vectors. The same vectors give the same index.
    """
    if config.kind == "flat":
        return Index(vectors)
    folder = vectors.folder.with_name(f"{vectors.folder.name}.{config.kind}")
    built: dict[str, Any] = (
        {"lists": None} if config.kind == "ivf" else {"neighbours": _NEIGHBOURS, "construction": _CONSTRUCTION}
    )
    identity = {"kind": config.kind, **built, "faiss": faiss.__version__, "vectors": vectors.fingerprint}
    if not _is_whole(folder, identity):
        with work_folder(folder) as work:
            _build(vectors, config.kind, work)
            description = {**identity, "sha256": _checksums(work)}
            (work / _DESCRIPTION).write_text(json.dumps(description, indent=1), encoding="utf-8")
    index: Any = faiss.read_index(str(folder / _INDEX))
    if config.kind == "ivf":
        _map_lists(index, folder)
        index.nprobe = config.probes
    else:
        index.hnsw.efSearch = config.breadth
    return Index(vectors, index)


def compare_indexes(vectors: Vectors, queries: Array, k: int, configs: Sequence[IndexConfig]) -> pd.DataFrame:
    """One row for exact search, then one per config.

    Columns: kind, recall_against_exact (the share of the k best rows that it finds, 0..1), queries_per_second (all
    queries at once, without opening the index) and build_seconds (to build the index, or to open an existing one).
    """
    started = time.perf_counter()
    _, truth = search_exact(vectors, queries, k)
    measured = [("flat", 1.0, len(queries) / (time.perf_counter() - started), 0.0)]
    for config in configs:
        started = time.perf_counter()
        index = open_index(vectors, config)
        opened = time.perf_counter()
        _, rows = index.search(queries, k)
        seconds = time.perf_counter() - opened
        recalls = [np.isin(right, row).mean() for right, row in zip(truth, rows, strict=True)]
        measured.append((config.kind, float(np.mean(recalls)), len(queries) / seconds, opened - started))
    return pd.DataFrame(measured, columns=["kind", "recall_against_exact", "queries_per_second", "build_seconds"])


def _rough(vectors: Vectors, queries: Array, k: int) -> tuple[Scores, Rows, float]:
    """FAISS's own k best, and the length of the longest vector."""
    scores, rows = np.empty((len(queries), 0), np.float32), np.empty((len(queries), 0), np.int64)
    longest = 0.0
    for start, block in vectors.blocks(BLOCK):
        block_scores, block_rows = faiss.knn(queries, block, min(k, len(block)), metric=faiss.METRIC_INNER_PRODUCT)
        scores, rows = best(np.hstack([scores, block_scores]), np.hstack([rows, block_rows + start]), k)
        longest = max(longest, float(np.linalg.norm(block, axis=1).max()))
    return scores, rows, longest


def _is_whole(folder: Path, identity: dict[str, Any]) -> bool:
    # FAISS trusts what it reads: a damaged file must not reach it.
    try:
        description = json.loads((folder / _DESCRIPTION).read_text(encoding="utf-8"))
        return bool(description == {**identity, "sha256": _checksums(folder)})
    except (OSError, ValueError):
        return False


def _checksums(folder: Path) -> dict[str, str]:
    checksums = {}
    for file in (folder / name for name in (_INDEX, _SIZES, _LISTS)):
        if file.exists():
            with file.open("rb") as content:
                checksums[file.name] = hashlib.file_digest(content, "sha256").hexdigest()
    return checksums


def _build(vectors: Vectors, kind: str, work: Path) -> None:
    blocks = progress(-(-len(vectors) // BLOCK), f"index ({kind})", "block", vectors.blocks(BLOCK))
    if kind == "ivf":
        index = _trained(vectors)
        with _one_thread():
            nearest = np.concatenate([index.quantizer.search(block, 1)[1][:, 0] for _, block in blocks])
        _write_lists(vectors, nearest, np.bincount(nearest, minlength=index.nlist), work)
    else:
        index = faiss.IndexHNSWFlat(vectors.dimension, _NEIGHBOURS, faiss.METRIC_INNER_PRODUCT)
        index.hnsw.efConstruction = _CONSTRUCTION
        with _one_thread():
            for _, block in blocks:
                index.add(block)
    faiss.write_index(index, str(work / _INDEX))


def _write_lists(vectors: Vectors, nearest: Rows, sizes: Rows, work: Path) -> None:
    """Write the vectors in the order of their lists, as FAISS lays them out, a few lists at a time."""
    order = np.argsort(nearest, kind="stable")
    starts = np.concatenate([[0], np.cumsum(sizes)])
    np.save(work / _SIZES, sizes)
    with (work / _LISTS).open("wb") as file:
        for first, end in runs(starts, _AT_ONCE):
            rows = order[starts[first] : starts[end]]
            run = vectors.take(rows)
            for number in range(first, end):
                members = slice(*(starts[number : number + 2] - starts[first]))
                file.write(run[members].tobytes())
                file.write(rows[members].tobytes())


def _map_lists(index: Any, folder: Path) -> None:
    """Give an index of empty lists those that `_write_lists` wrote."""
    lists: Any = faiss.OnDiskInvertedLists(index.nlist, index.code_size, str(folder / _LISTS))
    sizes = np.load(folder / _SIZES).astype(np.uint64)  # named: FAISS reads it by its address
    lists.set_all_lists_sizes(faiss.swig_ptr(sizes))
    lists.totsize, lists.read_only = int(sizes.sum()) * (index.code_size + 8), True
    lists.do_mmap()
    index.replace_invlists(lists, True)
    index.ntotal = int(sizes.sum())
    lists.this.disown()  # they are the index's now


def _trained(vectors: Vectors) -> Any:
    """Empty lists, four times the root of the number of vectors, around centroids of a sample: 39 vectors a list.

    There are fewer lists, and all vectors are the sample, if these are few.
    """
    count = len(vectors)
    lists = max(1, min(int(4 * np.sqrt(count)), count // _PER_LIST))
    rows, sample = np.arange(count), _PER_LIST * lists
    if count >= 2 * sample:
        rows = np.sort(np.argpartition(hash_array(rows), sample)[:sample])  # drawn by the row numbers
    index = faiss.IndexIVFFlat(
        faiss.IndexFlatIP(vectors.dimension), vectors.dimension, lists, faiss.METRIC_INNER_PRODUCT
    )
    index.train(vectors.take(rows))
    return index


@contextmanager
def _one_thread() -> Iterator[None]:
    """FAISS on one thread: with several, the neighbours in the graph depend on their timing."""
    threads = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(threads)

"""Vectors of candidates on disk: written in shards, resumable, memory-mapped.

A folder has the shards `00000.npy`, `00001.npy`, … (float32, [rows, dimension]) and `vectors.json` with the identity of
the vectors and the rows and checksum of each shard. Rows are positions in the table of candidates.
"""

import json
import os
import zlib
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from contexture.folders import (
    IDENTITY,
    ReplacedError,
    check_replaceable,
    lock_folder,
    replaced_folder,
    watch_folder,
)
from contexture.progress import progress
from contexture.retrieval.top import NO_ROW, Rows, Scores, select_best

Array = NDArray[np.float32]
#: Rows → their vectors [len(rows), dimension].
EmbedRows = Callable[[range], Array]

#: Vectors per shard, and per block of a search: a block within a shard is not copied.
BLOCK_ROWS = 8192
# Numbers in memory at a time in `inner_products`.
_MAX_GATHERED_NUMBERS = 2**21
DESCRIPTION_FILE = "vectors.json"
#: Mapped files of an object at a time. Processes may often open 1,024 files.
MAX_OPEN_FILES = 256
_READ_ERRORS = (OSError, ValueError, EOFError)


class Shard(TypedDict):
    """A file of vectors."""

    file: str
    rows: int
    crc32: int


class Vectors:
    """The vectors in a folder. Slices and `blocks` map files; nothing stays in memory.

    If the folder is replaced, mapped files keep the old vectors. To map another file raises ReplacedError.
    """

    def __init__(
        self,
        folder: Path,
        check_replaced: Callable[[], None],
        dimension: int,
        identity: dict[str, Any],
        shards: list[Shard],
    ) -> None:
        """`check_replaced` is that of `watch_folder`."""
        self.folder, self.dimension, self.identity = folder, dimension, identity
        #: Equal for folders with the same vectors.
        self.fingerprint = [dimension, *([shard["rows"], shard["crc32"]] for shard in shards)]
        self._ends = np.cumsum([shard["rows"] for shard in shards])
        paths = [folder / shard["file"] for shard in shards]
        self._shards = list(zip([0, *self._ends[:-1].tolist()], self._ends.tolist(), paths, strict=True))
        self._rows = int(self._ends[-1])
        # Opening a file takes longer than reading a vector from it.
        self.map_file = lru_cache(MAX_OPEN_FILES)(partial(_map_unless_replaced, check_replaced))

    def __len__(self) -> int:
        return self._rows

    def __getitem__(self, rows: slice) -> Array:
        """Return rows start … stop−1: a read-only view within one shard, otherwise a copy."""
        start, stop, step = rows.indices(len(self))
        if step != 1:
            raise ValueError(f"vectors can only be sliced in steps of 1, not in steps of {step}")
        parts = [
            self.map_file(path, (last - first, self.dimension))[max(start - first, 0) : stop - first]
            for first, last, path in self._shards
            if first < stop and start < last
        ]
        return parts[0] if len(parts) == 1 else np.concatenate([np.empty((0, self.dimension), np.float32), *parts])

    def take(self, rows: NDArray[np.int64]) -> Array:
        """Return copies of the vectors of `rows`, [len(rows), dimension]."""
        copies = np.empty((len(rows), self.dimension), np.float32)
        numbers = np.searchsorted(self._ends, rows, side="right")
        for number in np.unique(numbers):
            first, last, path = self._shards[number]
            in_shard = numbers == number
            copies[in_shard] = self.map_file(path, (last - first, self.dimension))[rows[in_shard] - first]
        return copies

    def blocks(self, rows: int) -> Iterator[tuple[int, Array]]:
        """Yield (first row, vectors) of blocks of `rows` vectors."""
        for start in range(0, len(self), rows):
            yield start, self[start : start + rows]


def write_vectors(
    folder: Path,
    rows: int,
    dimension: int,
    embed: EmbedRows,
    identity: Mapping[str, Any],
    rows_per_shard: int = BLOCK_ROWS,
) -> Vectors:
    """Embed all rows shard by shard and return the vectors; `folder` appears when it is complete.

    `identity` has all that the vectors depend on (checksums of the encoder, of the candidates, …) as JSON values. A
    finished folder with the same identity is reused; one with another identity, or a damaged one, is replaced. An
    interrupted call is resumed after its last finished shard.

    Raises ValueError for no rows, and if `embed` returns another shape or a number that is not finite.
    """
    if rows < 1:
        raise ValueError(f"{folder}: there are no candidates to embed; check whether the table of candidates is empty")
    folder = folder.resolve()
    if (vectors := _find_vectors(folder, rows, dimension, identity)) is not None:
        return vectors
    work_identity = {**identity, "rows": rows, "dimension": dimension, "rows_per_shard": rows_per_shard}
    with lock_folder(folder, wait=True):
        # Another process may have written them meanwhile.
        if (vectors := _find_vectors(folder, rows, dimension, identity)) is not None:
            return vectors
        replaced = replaced_folder(folder, work_identity, is_cache=True)
        with replaced as work_dir, progress(rows, "embed", "text") as bar:
            shards = []
            for number, start in enumerate(range(0, rows, rows_per_shard)):
                shard = range(start, min(start + rows_per_shard, rows))
                shards.append(_write_shard(work_dir / f"{number:05d}.npy", shard, dimension, embed))
                bar.update(len(shard))
            description = {"dimension": dimension, "identity": dict(identity), "shards": shards}
            (work_dir / DESCRIPTION_FILE).write_text(json.dumps(description, indent=1), encoding="utf-8")
    return open_vectors(folder)


def _find_vectors(folder: Path, rows: int, dimension: int, identity: Mapping[str, Any]) -> Vectors | None:
    """Return the vectors of a finished folder with this identity; None if there are none, or damaged ones.

    Raises ValueError if the folder has other files, which would be lost.
    """
    try:
        vectors = open_vectors(folder)
    except ValueError:
        check_replaceable(folder, DESCRIPTION_FILE, IDENTITY)
        return None
    is_same = (len(vectors), vectors.dimension, vectors.identity) == (rows, dimension, _to_json(identity))
    return vectors if is_same else None


def open_vectors(folder: Path, read_all: bool = True) -> Vectors:
    """Open the vectors that `write_vectors` wrote; `read_all` also verifies the checksums of all shards.

    Raises ValueError if the folder is unfinished, or a shard is missing or damaged.
    """
    remedy = "delete the folder and embed the candidates again"
    path = folder / DESCRIPTION_FILE
    check_replaced = watch_folder(path)
    try:
        description = json.loads(path.read_text(encoding="utf-8"))
        vectors = Vectors(folder, check_replaced, **description)
    except FileNotFoundError as error:
        raise ValueError(
            f"{folder} contains no finished vectors ({path.name} is missing): embed the candidates"
        ) from error
    except (ValueError, TypeError, LookupError) as error:
        raise ValueError(f"{path} is damaged ({error}); {remedy}") from error
    for shard in description["shards"]:
        try:
            rows = vectors.map_file(folder / shard["file"], (shard["rows"], vectors.dimension))
        except ReplacedError:
            raise
        except _READ_ERRORS as error:
            raise ValueError(f"{folder / shard['file']} is missing or damaged ({error}); {remedy}") from error
        if read_all and zlib.crc32(rows.data) != shard["crc32"]:
            raise ValueError(f"{folder / shard['file']} is damaged (its checksum differs); {remedy}")
    return vectors


def search_numpy(vectors: Vectors, queries: Array, k: int) -> tuple[Scores, Rows]:
    """Return the same as `search_index.search_exact` by NumPy alone: exact for any ties, for few queries."""
    queries = check_queries(vectors, queries, k)
    scores, rows = np.empty((len(queries), 0), np.float32), np.empty((len(queries), 0), np.int64)
    for start, block in vectors.blocks(BLOCK_ROWS):
        results = [select_best(np.einsum("nd,d->n", block, query)[None], np.arange(len(block)), k) for query in queries]
        block_scores, block_rows = (np.concatenate(part) for part in zip(*results, strict=True))
        scores, rows = select_best(np.hstack([scores, block_scores]), np.hstack([rows, block_rows + start]), k)
    return scores, rows


def inner_products(vectors: Vectors, queries: Array, rows: Rows) -> Scores:
    """Return the inner products [Q, n] of each query with its rows; −inf for row −1.

    Matrix multiplication is not used because its rounding depends on the position of a vector.
    """
    scores = np.full(rows.shape, -np.inf, np.float32)
    line, column = np.nonzero(rows != NO_ROW)
    step = max(1, _MAX_GATHERED_NUMBERS // vectors.dimension)
    for start in range(0, len(line), step):
        pairs = line[start : start + step], column[start : start + step]
        scores[pairs] = np.einsum("nd,nd->n", vectors.take(rows[pairs]), queries[pairs[0]])
    return scores


def check_queries(vectors: Vectors, queries: Array, k: int) -> Array:
    """Return the queries as float32; raise ValueError for a wrong shape, numbers that are not finite, or k < 1."""
    queries = np.ascontiguousarray(queries, np.float32)
    if queries.ndim != 2 or queries.shape[1] != vectors.dimension:
        raise ValueError(
            f"queries of shape {queries.shape} cannot be compared with {vectors.folder}, whose vectors have "
            f"{vectors.dimension} numbers: embed queries and candidates with the same encoder"
        )
    if not np.isfinite(queries).all():
        raise ValueError("the vector of a query is not finite (did the training diverge?)")
    if k < 1:
        raise ValueError(f"cannot find the {k} best candidates: k must be at least 1")
    return queries


def normalize(vectors: Array) -> Array:
    """Return vectors [n, dimension] scaled to length 1; 0 stays 0, and what is not a number stays so."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    scaled: Array = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths != 0)
    return scaled


def check_identity(vectors: Vectors, expected: Mapping[str, Any]) -> None:
    """Raise ValueError with the differing keys unless the identity of the vectors has all values of `expected`."""
    expected_values = _to_json(expected)
    different_keys = [key for key, value in expected_values.items() if vectors.identity.get(key) != value]
    if different_keys:
        details = "; ".join(
            f"{key} is {vectors.identity.get(key)!r}, expected {expected_values[key]!r}" for key in different_keys
        )
        raise ValueError(
            f"{vectors.folder} was made with another {', '.join(different_keys)}: {details}. "
            "Search with the same one, or embed the candidates again"
        )


def _to_json(identity: Mapping[str, Any]) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(json.dumps(dict(identity)))
    return content


def _write_shard(path: Path, rows: range, dimension: int, embed: EmbedRows) -> Shard:
    shape = (len(rows), dimension)
    try:
        vectors = _map_array(path, shape)  # of an interrupted call
    except _READ_ERRORS:
        vectors = _check_vectors(embed(rows), rows, shape)
        unfinished_file = path.with_suffix(".part")
        with unfinished_file.open("wb") as file:
            np.save(file, vectors, allow_pickle=False)
            file.flush()
            os.fsync(file.fileno())  # a power cut must not leave an empty file
        unfinished_file.replace(path)
    return {"file": path.name, "rows": len(rows), "crc32": zlib.crc32(vectors.data)}


def _check_vectors(vectors: Array, rows: range, shape: tuple[int, int]) -> Array:
    vectors = np.ascontiguousarray(vectors, np.float32)
    if vectors.shape != shape:
        raise ValueError(
            f"rows {rows.start}–{rows.stop - 1}: expected vectors {shape}, the encoder returned {vectors.shape}"
        )
    finite = np.isfinite(vectors).all(axis=1)
    if not finite.all():
        raise ValueError(f"row {rows[int(np.argmin(finite))]}: its vector is not finite (did the training diverge?)")
    return vectors


def _map_unless_replaced(check_replaced: Callable[[], None], path: Path, shape: tuple[int, int]) -> Array:
    try:
        return _map_array(path, shape)
    finally:
        check_replaced()  # afterwards: the folder may be replaced meanwhile


def _map_array(path: Path, shape: tuple[int, int]) -> Array:
    mapped: Array = np.load(path, mmap_mode="r", allow_pickle=False)
    if mapped.dtype != np.float32 or mapped.shape != shape or not mapped.flags.c_contiguous:
        raise ValueError(f"expected float32 {shape}, got {mapped.dtype} {mapped.shape}")
    return mapped.view(np.ndarray)

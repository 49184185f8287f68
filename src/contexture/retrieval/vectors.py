"""Vectors of all candidates on disk: embedded once, in shards, resumable, and read without being loaded.

A folder holds `00000.npy`, `00001.npy`, … (float32, [rows of the shard, dimension]) and `vectors.json`: what they were
made for, and the rows and checksum of every shard. Row numbers are places in the table of candidates.
"""

import json
import os
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from contexture.folders import discard_other, work_folder
from contexture.progress import progress

Array = NDArray[np.float32]
#: Numbers of rows → their vectors [len(rows), dimension].
Embed = Callable[[range], Array]

DESCRIPTION = "vectors.json"


class Shard(TypedDict):
    """One file of a folder of vectors."""

    file: str
    rows: int
    crc32: int


class Vectors:
    """The vectors of a folder. `len`, `[start:stop]` and `blocks` map the rows they name; nothing is kept in memory."""

    def __init__(self, folder: Path, dimension: int, identity: dict[str, Any], shards: list[Shard]) -> None:
        self.folder, self.dimension, self.identity = folder, dimension, identity
        #: Folders with the same fingerprint hold the same vectors.
        self.fingerprint = [dimension, *([shard["rows"], shard["crc32"]] for shard in shards)]
        ends = np.cumsum([shard["rows"] for shard in shards]).tolist()
        starts = [0, *ends[:-1]]
        paths = [folder / shard["file"] for shard in shards]
        self._shards = list(zip(starts, ends, paths, strict=True))
        self._rows = int(ends[-1])

    def __len__(self) -> int:
        return self._rows

    def __getitem__(self, rows: slice) -> Array:
        """Rows start … stop−1, read-only: a view of the file where they lie in one shard, otherwise a copy."""
        start, stop, step = rows.indices(len(self))
        if step != 1:
            raise ValueError(f"vectors are read in consecutive rows, not in steps of {step}")
        parts = [
            _map(path, (last - first, self.dimension))[max(start - first, 0) : stop - first]
            for first, last, path in self._shards
            if first < stop and start < last
        ]
        return parts[0] if len(parts) == 1 else np.concatenate([np.empty((0, self.dimension), np.float32), *parts])

    def take(self, rows: NDArray[np.int64]) -> Array:
        """Copy the vectors [len(rows), dimension] of any rows, in the order given."""
        taken = np.empty((len(rows), self.dimension), np.float32)
        for first, last, path in self._shards:
            here = np.flatnonzero((rows >= first) & (rows < last))
            if len(here):
                taken[here] = _map(path, (last - first, self.dimension))[rows[here] - first]
        return taken

    def blocks(self, rows: int) -> Iterator[tuple[int, Array]]:
        """All vectors, `rows` at a time: the number of the first one, and the block."""
        for start in range(0, len(self), rows):
            yield start, self[start : start + rows]


def write_vectors(
    folder: Path, rows: int, dimension: int, embed: Embed, identity: Mapping[str, Any], rows_per_shard: int = 8192
) -> Vectors:
    """Embed all rows into `folder`, which appears when it is complete; what is there already is not embedded again.

    After a kill the finished shards are kept. A finished folder of the same identity is returned as it is; one of
    another identity, or a damaged one, is replaced.

    Args:
        folder: of the vectors.
        rows: how many candidates there are.
        dimension: of their vectors.
        embed: called with the rows of one shard at a time. To be resumed, it must give the same row the same vector.
        identity: what the vectors depend on (the encoder's checksum, that of the candidates, …), as JSON values.
        rows_per_shard: what is lost at most by a kill.

    Raises:
        ValueError: for no rows; if `embed` gives another shape, or a number that is not finite.
    """
    if rows < 1:
        raise ValueError(f"{folder}: there are no candidates to embed; look whether the table of candidates is empty")
    if finished := _finished(folder, rows, dimension, identity):
        return finished
    begun = {**identity, "rows": rows, "dimension": dimension, "rows_per_shard": rows_per_shard}
    discard_other(folder, begun)
    with work_folder(folder, begun) as work, progress(rows, "embed", "text") as bar:
        shards = []
        for number, start in enumerate(range(0, rows, rows_per_shard)):
            shard = range(start, min(start + rows_per_shard, rows))
            shards.append(_make_shard(work / f"{number:05d}.npy", shard, dimension, embed))
            bar.update(len(shard))
        description = {"dimension": dimension, "identity": dict(identity), "shards": shards}
        (work / DESCRIPTION).write_text(json.dumps(description, indent=1), encoding="utf-8")
    return open_vectors(folder)


def open_vectors(folder: Path, read_all: bool = True) -> Vectors:
    """The vectors that `write_vectors` left in `folder`.

    Args:
        folder: of the vectors.
        read_all: whether every shard is read and checked against its checksum; otherwise only its shape and size are.

    Raises:
        ValueError: if the folder is not finished, or a shard is missing or damaged, naming it.
    """
    again = "delete the folder and embed the candidates again"
    path = folder / DESCRIPTION
    try:
        description = json.loads(path.read_text(encoding="utf-8"))
        vectors = Vectors(folder, **description)
    except FileNotFoundError as error:
        raise ValueError(
            f"{folder} holds no finished vectors ({path.name} is missing): embed the candidates"
        ) from error
    except (ValueError, TypeError, LookupError) as error:
        raise ValueError(f"{path} is damaged ({error}); {again}") from error
    for shard in description["shards"]:
        try:
            rows = _map(folder / shard["file"], (shard["rows"], vectors.dimension))
        except (OSError, ValueError, EOFError) as error:
            raise ValueError(f"{folder / shard['file']} is missing or damaged ({error}); {again}") from error
        if read_all and _checksum(rows) != shard["crc32"]:
            raise ValueError(f"{folder / shard['file']} is damaged (its checksum is another one); {again}")
    return vectors


def unit(vectors: Array) -> Array:
    """Vectors [n, dimension] at length 1, so that inner products are cosines; 0 stays 0."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    out: Array = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
    return out


def check_identity(vectors: Vectors, expected: Mapping[str, Any]) -> None:
    """Raise ValueError, naming what differs, unless the vectors were made for what is `expected` of them.

    Args:
        vectors: of the candidates.
        expected: some or all of the values of their identity, such as the checksum of the encoder that embeds the
            queries.
    """
    wanted = json.loads(json.dumps(dict(expected)))
    differing = [key for key, value in wanted.items() if vectors.identity.get(key) != value]
    if differing:
        shown = "; ".join(f"{key} is {vectors.identity.get(key)!r}, asked for {wanted[key]!r}" for key in differing)
        raise ValueError(
            f"{vectors.folder} was made for another {', '.join(differing)}: {shown}. "
            "Search with what it was made for, or embed the candidates again"
        )


def _finished(folder: Path, rows: int, dimension: int, identity: Mapping[str, Any]) -> Vectors | None:
    try:
        vectors = open_vectors(folder)
    except ValueError:
        return None
    same = vectors.identity == json.loads(json.dumps(dict(identity)))
    return vectors if same and (len(vectors), vectors.dimension) == (rows, dimension) else None


def _make_shard(path: Path, rows: range, dimension: int, embed: Embed) -> Shard:
    shape = (len(rows), dimension)
    vectors = _made_before(path, shape)
    if vectors is None:
        vectors = _checked(embed(rows), rows, shape)
        part = path.with_suffix(".part")
        with part.open("wb") as file:
            np.save(file, vectors, allow_pickle=False)
            file.flush()
            os.fsync(file.fileno())  # a power cut must not leave the name without the content
        part.replace(path)
    return {"file": path.name, "rows": len(rows), "crc32": _checksum(vectors)}


def _made_before(path: Path, shape: tuple[int, int]) -> Array | None:
    try:
        return _map(path, shape)
    except (OSError, ValueError, EOFError):
        return None


def _checked(vectors: Array, rows: range, shape: tuple[int, int]) -> Array:
    vectors = np.ascontiguousarray(vectors, np.float32)
    if vectors.shape != shape:
        raise ValueError(
            f"rows {rows.start}–{rows.stop - 1}: expected vectors {shape}, the encoder gave {vectors.shape}"
        )
    finite = np.isfinite(vectors).all(axis=1)
    if not finite.all():
        raise ValueError(f"row {rows[int(np.argmin(finite))]}: its vector is not finite (did the training diverge?)")
    return vectors


def _map(path: Path, shape: tuple[int, int]) -> Array:
    found: Array = np.load(path, mmap_mode="r", allow_pickle=False)
    if found.dtype != np.float32 or found.shape != shape or not found.flags.c_contiguous:
        raise ValueError(f"expected float32 {shape}, found {found.dtype} {found.shape}")
    return found.view(np.ndarray)


def _checksum(vectors: Array) -> int:
    return zlib.crc32(vectors.data)

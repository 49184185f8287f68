import mmap
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from contexture.folders import ReplacedError
from contexture.retrieval import vectors as vectors_module
from contexture.retrieval.vectors import Vectors, check_identity, normalize, open_vectors, write_vectors

ROWS, DIMENSION = 23, 5
TRUTH = np.random.default_rng(1).normal(size=(ROWS, DIMENSION)).astype(np.float32)
IDENTITY = {"encoder": "a1b2", "candidates": {"rows": ROWS}}


class Encoder:
    """Returns rows of TRUTH, records which, and may raise at a row."""

    def __init__(self, breaks_at: int | None = None) -> None:
        self.breaks_at = breaks_at
        self.embedded: list[int] = []

    def __call__(self, rows: range) -> NDArray[np.float32]:
        if self.breaks_at is not None and self.breaks_at in rows:
            raise KeyboardInterrupt
        self.embedded += rows
        return TRUTH[rows.start : rows.stop]


def write(
    folder: Path, encoder: Encoder | None = None, identity: dict[str, object] = IDENTITY, per_shard: int = 7
) -> Vectors:
    return write_vectors(folder, ROWS, DIMENSION, encoder or Encoder(), identity, per_shard)


def kill(folder: Path, at: int) -> Encoder:
    """Interrupt the writing at a row."""
    with pytest.raises(KeyboardInterrupt):
        write(folder, encoder := Encoder(at))
    return encoder


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("per_shard", [1, 7, 22, 23, 1000])
def test_vectors_are_read_back(tmp_path: Path, per_shard: int) -> None:
    encoder = Encoder()
    vectors = write(tmp_path / "v", encoder, per_shard=per_shard)
    assert encoder.embedded == list(range(ROWS))
    assert (len(vectors), vectors.dimension, vectors.identity) == (ROWS, DIMENSION, IDENTITY)
    for start in range(0, ROWS + 2, 3):
        for stop in range(ROWS + 2):
            assert np.array_equal(vectors[start:stop], TRUTH[start:stop])
    assert np.array_equal(vectors[-5:], TRUTH[-5:])
    chosen = np.array([22, 0, 7, 7, 6, 14])
    assert np.array_equal(vectors.take(chosen), TRUTH[chosen])
    blocks = list(vectors.blocks(6))
    assert [start for start, _ in blocks] == [0, 6, 12, 18]
    assert np.array_equal(np.concatenate([block for _, block in blocks]), TRUTH)


def test_vectors_are_memory_mapped_and_read_only(tmp_path: Path) -> None:
    vectors = write(tmp_path / "v")
    owner = vectors[8:12]
    while isinstance(owner, np.ndarray):
        owner = owner.base
    assert isinstance(owner, mmap.mmap)
    with pytest.raises(ValueError, match="read-only"):
        vectors[8:12][0] = 0
    with pytest.raises(ValueError, match="steps of 2"):
        vectors[0:4:2]


@pytest.mark.parametrize("breaks_at", [0, 3, 7, 22])
def test_an_interrupted_call_loses_at_most_one_shard(tmp_path: Path, breaks_at: int) -> None:
    write(tmp_path / "whole")
    first = kill(tmp_path / "v", breaks_at)
    assert not (tmp_path / "v").exists()
    write(tmp_path / "v", second := Encoder())
    assert first.embedded + second.embedded == list(range(ROWS))  # each row once
    assert contents(tmp_path / "v") == contents(tmp_path / "whole")
    # An incomplete shard is written again.
    kill(tmp_path / "half", 14)
    shard = tmp_path / "half.unfinished" / "00001.npy"
    shard.write_bytes(shard.read_bytes()[:-1])
    shard.with_suffix(".part").write_bytes(b"left by a kill")
    write(tmp_path / "half", encoder := Encoder())
    assert encoder.embedded == list(range(7, ROWS))
    assert contents(tmp_path / "half") == contents(tmp_path / "whole")


def test_finished_vectors_are_not_embedded_again(tmp_path: Path) -> None:
    write(tmp_path / "v")
    again = write(tmp_path / "v", encoder := Encoder())
    assert encoder.embedded == []
    assert np.array_equal(again[:], TRUTH)
    (tmp_path / "v" / "00002.npy").unlink()
    assert np.array_equal(write(tmp_path / "v")[:], TRUTH)
    shard = tmp_path / "v" / "00001.npy"
    shard.write_bytes(shard.read_bytes()[:-4])
    with pytest.raises(ValueError, match=r"00001\.npy is missing or damaged"):
        open_vectors(tmp_path / "v", read_all=False)
    kill(tmp_path / "killed", 20)
    for name in ("v", "killed"):
        write(tmp_path / name, encoder := Encoder(), {**IDENTITY, "encoder": "c3d4"})
        assert encoder.embedded == list(range(ROWS))
        assert open_vectors(tmp_path / name).identity["encoder"] == "c3d4"


def test_open_vectors_are_never_mixed_with_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = write(tmp_path / "v")
    monkeypatch.setattr(vectors_module, "MAX_OPEN_FILES", 1)
    few_files = open_vectors(tmp_path / "v")
    write_vectors(tmp_path / "v", ROWS, DIMENSION, lambda rows: -TRUTH[rows.start : rows.stop], {"encoder": "c3d4"}, 7)
    assert np.array_equal(old[:], TRUTH)
    with pytest.raises(ReplacedError, match="v was replaced after it was opened"):
        few_files[:]
    assert np.array_equal(open_vectors(tmp_path / "v")[:], -TRUTH)


def test_wrong_vectors_of_an_encoder_raise(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no candidates to embed"):
        write_vectors(tmp_path / "v", 0, DIMENSION, Encoder(), IDENTITY)
    assert not list(tmp_path.iterdir())
    with pytest.raises(ValueError, match=r"rows 0–9: expected vectors \(10, 4\), the encoder returned \(10, 5\)"):
        write_vectors(tmp_path / "v", 10, 4, Encoder(), IDENTITY)
    with pytest.raises(ValueError, match="row 13: its vector is not finite"):
        write_vectors(tmp_path / "w", 20, 1, lambda rows: np.where(np.c_[rows] == 13, np.inf, 1), IDENTITY, 10)


def test_damaged_files_raise(tmp_path: Path) -> None:
    write(folder := tmp_path / "v")
    shard, other = ((folder / name).read_bytes() for name in ("00001.npy", "00003.npy"))
    for name, content, message in (
        ("00001.npy", None, r"00001\.npy is missing or damaged"),
        ("00001.npy", shard[:-4], r"00001\.npy is missing or damaged"),
        ("00001.npy", shard[:20], r"00001\.npy is missing or damaged"),
        ("00001.npy", b"", r"00001\.npy is missing or damaged"),
        ("00001.npy", shard[:-1] + bytes([shard[-1] ^ 1]), r"00001\.npy is damaged \(its checksum"),
        ("00001.npy", other, r"00001\.npy .*expected float32 \(7, 5\), got float32 \(2, 5\)"),
        ("vectors.json", b'{"dimension": 5', r"vectors\.json is damaged"),
        ("vectors.json", b"[]", r"vectors\.json is damaged"),
        ("vectors.json", b'{"dimension": 5, "identity": {}, "shards": []}', r"vectors\.json is damaged"),
        ("vectors.json", None, "contains no finished vectors"),
    ):
        path = folder / name
        good = path.read_bytes()
        path.unlink() if content is None else path.write_bytes(content)
        with pytest.raises(ValueError, match=message):
            open_vectors(folder)
        path.write_bytes(good)
        open_vectors(folder)


def test_vectors_of_another_encoder_raise(tmp_path: Path) -> None:
    vectors = write(tmp_path / "v")
    check_identity(vectors, {"encoder": "a1b2"})
    check_identity(vectors, IDENTITY)
    with pytest.raises(ValueError, match=r"v was made with another encoder: encoder is 'a1b2', expected 'c3d4'"):
        check_identity(vectors, {**IDENTITY, "encoder": "c3d4"})
    with pytest.raises(ValueError, match="another vocabulary"):
        check_identity(vectors, {"vocabulary": "x"})


def test_unit_vectors_have_length_1_and_zero_stays_zero() -> None:
    rows = np.array([[3, 4], [0, 0], [-0.01, 0]], np.float32)
    np.testing.assert_allclose(normalize(rows), [[0.6, 0.8], [0, 0], [-1, 0]], rtol=1e-6)
    assert normalize(rows).dtype == np.float32 and normalize(rows[:0]).shape == (0, 2)

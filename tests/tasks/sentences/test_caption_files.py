import mmap
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from contexture.tasks.missing import BenchmarkMissing
from contexture.tasks.sentences import caption_files as image_captions
from contexture.tasks.sentences.caption_files import read_image_captions

FEATURES = np.random.default_rng(3).normal(size=(7, 4)).astype(np.float32)
CAPTIONS = [f"picture {i // 5}, told {i % 5}" for i in range(35)]


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Several blocks, the last one short."""
    monkeypatch.setattr(image_captions, "_BLOCK", 3)


def write(folder: Path, features: NDArray[np.generic] = FEATURES, captions: list[str] = CAPTIONS) -> Path:
    np.save(folder / "dev_ims.npy", features)
    (folder / "dev_caps.txt").write_text("".join(f"{caption}\n" for caption in captions))
    return folder


@pytest.mark.parametrize("rows", [FEATURES, np.repeat(FEATURES, 5, axis=0)], ids=["an image", "a caption"])
def test_a_row_an_image_or_a_caption(tmp_path: Path, rows: NDArray[np.float32]):
    data = read_image_captions(write(tmp_path, rows), "dev")
    np.testing.assert_array_equal(data.images, FEATURES)
    assert data.captions == CAPTIONS
    assert [f"picture {row // 5}" for row in range(len(data.captions))] == [one.split(",")[0] for one in CAPTIONS]


def test_features_stay_in_their_file(tmp_path: Path):
    data = read_image_captions(write(tmp_path, np.repeat(FEATURES, 5, axis=0)), "dev")
    base: object = data.images
    while isinstance(base, np.ndarray):
        base = base.base
    assert isinstance(base, mmap.mmap)


def changed(row: int, value: float, repeats: int = 1) -> NDArray[np.float32]:
    rows = np.repeat(FEATURES, repeats, axis=0)
    rows[row, 2] = value
    return rows


@pytest.mark.parametrize(
    ("features", "captions", "message"),
    [
        (FEATURES[:6], CAPTIONS, r"dev_ims\.npy has 6 rows, but dev_caps\.txt 35 captions: .*\(7\) or .*\(35\)"),
        (FEATURES, CAPTIONS[:-1], r"dev_caps\.txt has 34 captions, no multiple of five"),
        (FEATURES, [*CAPTIONS[:8], " ", *CAPTIONS[9:]], r"dev_caps\.txt, line 9: an empty caption"),
        (FEATURES, [], r"dev_caps\.txt has no rows"),
        (changed(33, 9.0, repeats=5), CAPTIONS, r"dev_ims\.npy, rows 30 to 34: .* put the captions of an image"),
        (changed(5, np.nan), CAPTIONS, r"dev_ims\.npy, row 5: not all features are finite"),
        (changed(6, np.inf), CAPTIONS, r"dev_ims\.npy, row 6: not all features are finite"),
        (FEATURES.astype(np.float64), CAPTIONS, r"holds float64 of shape \(7, 4\); save it as float32"),
        (FEATURES[0], CAPTIONS, r"holds float32 of shape \(4,\)"),
        (np.array([{"a": 1}]), CAPTIONS, r"dev_ims\.npy is no NumPy file of numbers"),
    ],
)
def test_what_does_not_fit_is_named(tmp_path: Path, features: NDArray[np.generic], captions: list[str], message: str):
    with pytest.raises(ValueError, match=message):
        read_image_captions(write(tmp_path, features, captions), "dev")


@pytest.mark.parametrize("content", [b"", b"no array", b"\x93NUMPY\x01\x00"])
def test_a_damaged_file_is_named(tmp_path: Path, content: bytes):
    (write(tmp_path) / "dev_ims.npy").write_bytes(content)
    with pytest.raises(ValueError, match=r"dev_ims\.npy is no NumPy file"):
        read_image_captions(tmp_path, "dev")


def test_absent_files_and_splits(tmp_path: Path):
    write(tmp_path)
    with pytest.raises(BenchmarkMissing, match=r"captions is not here: looked for .*test_ims\.npy\. Name a folder"):
        read_image_captions(tmp_path, "test")
    (tmp_path / "dev_caps.txt").unlink()
    with pytest.raises(BenchmarkMissing, match=r"dev_caps\.txt"):
        read_image_captions(tmp_path, "dev")
    with pytest.raises(ValueError, match="no split 'val' of images"):
        read_image_captions(tmp_path, "val")

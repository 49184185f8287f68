"""Features of images and their captions, in the layout of Kiros et al. (2014) and the ranking code that followed them.

A folder holds `<split>_ims.npy`, float32 [rows, dimension], and `<split>_caps.txt`, a caption a line, five an image. A
row of features is an image, or, in the older files, a caption's image, so that every image stands there five times.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from contexture.tasks.missing import BenchmarkMissing
from contexture.tasks.sentences.files import read_lines

SPLITS = ("train", "dev", "test")
CAPTIONS_PER_IMAGE = 5

#: Images looked through at a time: about 80 MB at five rows of 4,096 numbers each.
_BLOCK = 1_000
_REMEDY = (
    "Name a folder with train_ims.npy, train_caps.txt and the same of dev and test: float32 features, a row an image "
    "or a row a caption, and five captions an image, one a line. Or leave the task out."
)


@dataclass(frozen=True, eq=False)
class ImageCaptions:
    """Images and captions of one split; captions 5i to 5i + 4 are of image i."""

    images: NDArray[np.float32]
    """[images, dimension], mapped from the file."""
    captions: list[str]


def read_image_captions(folder: Path, split: str) -> ImageCaptions:
    """One of `SPLITS`. The features are read through once, to see that they are finite and repeat as they should.

    Raises:
        BenchmarkMissing: one of the two files is absent.
        ValueError: the files' rows do not fit together, a caption is empty, or the features are no float32 matrix of
            finite numbers; the text names the file.
    """
    if split not in SPLITS:
        raise ValueError(f"no split {split!r} of images and captions; there are {', '.join(SPLITS)}")
    features, captions = folder / f"{split}_ims.npy", folder / f"{split}_caps.txt"
    for path in (features, captions):
        if not path.is_file():
            raise BenchmarkMissing("The set of images and captions", path, _REMEDY)
    texts = _captions(captions)
    return ImageCaptions(_images(features, captions, len(texts)), texts)


def _captions(path: Path) -> list[str]:
    texts = [line.strip() for line in read_lines(path)]
    if "" in texts:
        raise ValueError(f"{path}, line {texts.index('') + 1}: an empty caption; give every image five captions")
    if len(texts) % CAPTIONS_PER_IMAGE:
        raise ValueError(f"{path} has {len(texts):,} captions, no multiple of five; give every image five captions")
    return texts


def _images(path: Path, captions: Path, count: int) -> NDArray[np.float32]:
    rows = _load(path)
    images = count // CAPTIONS_PER_IMAGE
    if len(rows) not in (images, count):
        raise ValueError(
            f"{path} has {len(rows):,} rows, but {captions.name} {count:,} captions: it must have a row for each image "
            f"({images:,}) or for each caption ({count:,})"
        )
    repeats = len(rows) // images
    for start, block in _blocks(rows, _BLOCK * repeats):
        if not np.isfinite(block).all():
            row = start + int(np.flatnonzero(~np.isfinite(block).all(axis=1))[0])
            raise ValueError(f"{path}, row {row}: not all features are finite numbers; make the file again")
        groups = block.reshape(-1, repeats, block.shape[1])
        differing = np.flatnonzero((groups != groups[:, :1]).any(axis=(1, 2)))
        if len(differing):
            first = start + int(differing[0]) * repeats
            raise ValueError(
                f"{path}, rows {first} to {first + repeats - 1}: with a row for each caption, these five must be one "
                "image's and equal; put the captions of an image together"
            )
    return rows[::repeats]


def _load(path: Path) -> NDArray[np.float32]:
    try:
        rows: NDArray[np.float32] = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError, OSError) as error:
        raise ValueError(f"{path} is no NumPy file of numbers ({error}); save it with numpy.save as float32") from error
    if rows.dtype != np.float32 or rows.ndim != 2:
        raise ValueError(f"{path} holds {rows.dtype} of shape {rows.shape}; save it as float32 [rows, dimension]")
    return rows


def _blocks(rows: NDArray[np.float32], size: int) -> Iterator[tuple[int, NDArray[np.float32]]]:
    for start in range(0, len(rows), size):
        yield start, rows[start : start + size]

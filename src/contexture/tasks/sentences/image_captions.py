"""Ranking images by captions and captions by images (Quick-Thoughts, section 4.4.3; Kiros et al., 2015).

Vectors of images and captions are frozen. Two matrices are trained, U for images and V for captions; projections are
normalised, as in Kiros et al.: f(x, y) = (Ux)ᵀ(Vy) / (|Ux| |Vy|).

A folder has the layout of Kiros et al. (2014): `<split>_ims.npy`, float32 [rows, dimension], and `<split>_caps.txt`,
one caption per line, five per image. Features have one row per image or, in older files, one per caption, so that each
image is repeated five times.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from contexture.progress import progress
from contexture.retrieval.top import ROUNDING_ERROR
from contexture.seeding import mix
from contexture.tasks.missing import BenchmarkMissing
from contexture.tasks.sentences.files import read_lines
from contexture.tasks.sentences.spec import CAPTION_RECALL_AT
from contexture.tasks.sentences.vectors import Array

SPLITS = ("train", "dev", "test")
CAPTIONS_PER_IMAGE = 5
#: Images of a fold; the paper's test split of 5,000 has five folds.
FOLD_IMAGES = 1000
#: Images checked at a time: about 80 MB with five rows of 4,096 features each.
_IMAGES_AT_ONCE = 1_000
_ROWS_AT_ONCE = 8192
_REMEDY = (
    "Name a folder with {train,dev,test}_ims.npy, float32 features with one row per image or per caption, and "
    "{train,dev,test}_caps.txt, five captions per image, one per line. Or set sentences.image_captions to null."
)


@dataclass(frozen=True, eq=False)
class ImageCaptions:
    """Images and captions of a split; captions 5i to 5i + 4 belong to image i."""

    images: Array
    """[images, dimension], mapped from the file."""
    captions: list[str]


def read_image_captions(folder: Path, split: str) -> ImageCaptions:
    """Return the images and captions of a split of `SPLITS`; all features are checked once.

    Raises BenchmarkMissing for absent files. Raises ValueError, with the file, for row counts that do not fit, empty
    captions, and features that are not a finite float32 matrix.
    """
    features, captions = folder / f"{split}_ims.npy", folder / f"{split}_caps.txt"
    for path in (features, captions):
        if not path.is_file():
            raise BenchmarkMissing("The set of images and captions", path, _REMEDY)
    texts = [line.strip() for line in read_lines(captions)]
    if "" in texts:
        raise ValueError(f"{captions}, line {texts.index('') + 1}: an empty caption; give every image five captions")
    if len(texts) % CAPTIONS_PER_IMAGE:
        raise ValueError(
            f"{captions} has {len(texts):,} captions, not a multiple of five; give every image five captions"
        )
    rows = _load_features(features)
    num_images = len(texts) // CAPTIONS_PER_IMAGE
    if len(rows) not in (num_images, len(texts)):
        raise ValueError(
            f"{features} has {len(rows):,} rows, but {captions.name} {len(texts):,} captions: it must have a row for "
            f"each image ({num_images:,}) or for each caption ({len(texts):,})"
        )
    repeats = len(rows) // num_images
    for start in range(0, len(rows), _IMAGES_AT_ONCE * repeats):
        _check_features(features, start, rows[start : start + _IMAGES_AT_ONCE * repeats], repeats)
    return ImageCaptions(rows[::repeats], texts)


def _load_features(path: Path) -> Array:
    """Return the memory-mapped matrix of image features; raises ValueError unless it is two-dimensional float32."""
    try:
        rows: Array = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError, OSError) as error:
        raise ValueError(
            f"{path} is not a NumPy file of numbers ({error}); save it with numpy.save as float32"
        ) from error
    if rows.dtype != np.float32 or rows.ndim != 2:
        raise ValueError(f"{path} holds {rows.dtype} of shape {rows.shape}; save it as float32 [rows, dimension]")
    return rows


def _check_features(path: Path, start: int, block: Array, repeats: int) -> None:
    """Raise ValueError if features are not finite, or if the rows of an image differ.

    `block` has the rows from `start` on; `repeats` successive rows belong to one image.
    """
    finite = np.isfinite(block).all(axis=1)
    if not finite.all():
        row = start + int(finite.argmin())
        raise ValueError(f"{path}, row {row}: features are not finite; create the file again")
    groups = block.reshape(-1, repeats, block.shape[1])
    differing = (groups != groups[:, :1]).any(axis=(1, 2))
    if differing.any():
        first = start + int(differing.argmax()) * repeats
        raise ValueError(
            f"{path}, rows {first} to {first + repeats - 1}: with a row for each caption, the five rows of an image "
            "must be equal; group captions by image"
        )


@dataclass(frozen=True)
class ImageCaptionConfig:
    """Training of the two matrices.

    Size, margin and epochs are those of Kiros et al. (2015). Mismatches are those of the batch, not 50 drawn per pair.
    """

    # Dimension of the projections.
    size: int = 1000
    # Required difference between the scores of a match and a mismatch.
    margin: float = 0.2
    # Captions per step, each with its image.
    batch: int = 128
    epochs: int = 15
    learning_rate: float = 2e-4


@dataclass(frozen=True)
class CaptionedImages:
    """Vectors of a split: images (N, X) and captions (c·N, Y), grouped by image. Either may be memory-mapped."""

    images: Array
    captions: Array


class JointSpace(nn.Module):
    """The matrices U and V."""

    def __init__(self, image_size: int, caption_size: int, size: int) -> None:
        super().__init__()
        self.image = nn.Linear(image_size, size, bias=False)
        self.caption = nn.Linear(caption_size, size, bias=False)

    def forward(self, images: Tensor, captions: Tensor) -> Tensor:
        """Return scores f (B, C) of each image (B, X) with each caption (C, Y): cosines of their projections."""
        return _project(self.image, images) @ _project(self.caption, captions).T


def margin_loss(scores: Tensor, images: Tensor, margin: float) -> Tensor:
    """Return the margin loss of image–caption scores, summed over all mismatches in both directions (equation 3).

    `margin` is α. The printed equation swaps C′ and I′ under its sums, which does not change the value. `scores` (B, B)
    are f of the image of pair i and the caption of pair j; `images` (B,) is the image of each pair. Captions of the
    same image are not mismatches.
    """
    match = scores.diagonal()
    mismatched_captions = (margin - match[:, None] + scores).clamp_min(0)
    mismatched_images = (margin - match[None, :] + scores).clamp_min(0)
    return (mismatched_captions + mismatched_images).masked_fill(images[:, None] == images[None, :], 0).sum()


def rank_image_captions(
    train: CaptionedImages, dev: CaptionedImages, test: CaptionedImages, config: ImageCaptionConfig, seed: int
) -> dict[str, float]:
    """Train a joint space on `train`, choose the epoch with the highest sum of recalls on `dev`, and measure `test`.

    The result depends only on the vectors, the configuration and the seed.

    Returns:
        `annotation_recall_at_{1,5,10}` and `search_recall_at_{1,5,10}` (0 … 1), `annotation_median_rank` and
        `search_median_rank` (from 1). Annotation ranks captions for an image by its best caption; search ranks images
        for a caption. Means over folds of `FOLD_IMAGES` images if these divide the split.
    """
    for name, split in (("dev", dev), ("test", test)):
        if split.images.shape[1] != train.images.shape[1]:
            raise ValueError(
                f"{name}: images have {split.images.shape[1]} features, those of the training split "
                f"{train.images.shape[1]}; extract all with the same network"
            )
    device = "cuda" if torch.cuda.is_available() else "cpu"
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(mix(seed, 0))
        space = JointSpace(train.images.shape[1], train.captions.shape[1], config.size)
    space = space.to(device)
    optimizer = torch.optim.Adam(space.parameters(), lr=config.learning_rate)
    best, best_weights = -1.0, space.state_dict()
    for epoch in progress(config.epochs, "image captions", "epoch", range(config.epochs)):
        _train_epoch(space, optimizer, train, config, mix(seed, 1, epoch))
        recalls = sum(value for name, value in measure_split(space, dev).items() if "recall" in name)
        if recalls > best:
            best, best_weights = recalls, {name: value.clone() for name, value in space.state_dict().items()}
    space.load_state_dict(best_weights)
    return measure_split(space, test)


@torch.no_grad()
def measure_split(space: JointSpace, split: CaptionedImages) -> dict[str, float]:
    """Return recalls and median ranks of a split in both directions; see `rank_image_captions`."""
    count, per_image = len(split.images), len(split.captions) // len(split.images)
    fold = FOLD_IMAGES if count % FOLD_IMAGES == 0 else count
    images, captions = _project_all(space.image, split.images), _project_all(space.caption, split.captions)
    metrics = []
    for start in range(0, count, fold):
        scores = images[start : start + fold] @ captions[start * per_image : (start + fold) * per_image].T
        metrics.append(
            _rank_metrics("annotation", annotation_ranks(scores)) | _rank_metrics("search", search_ranks(scores))
        )
    return {name: float(np.mean([of_fold[name] for of_fold in metrics])) for name in metrics[0]}


def annotation_ranks(scores: Tensor) -> Tensor:
    """Return the rank, from 1, of each image's best caption among the captions of all images.

    Ties, up to rounding, rank before it. `scores` (N, c·N) are f of each image and caption, captions grouped by image.
    """
    count = len(scores)
    per_image = scores.view(count, count, -1)
    best = per_image.diagonal().amax(dim=0)
    rivals = (per_image >= best[:, None, None] - ROUNDING_ERROR).sum(dim=2)
    return 1 + rivals.sum(dim=1) - rivals.diagonal()


def search_ranks(scores: Tensor) -> Tensor:
    """Return the rank (c·N,), from 1, of each caption's image among all images; ties as in `annotation_ranks`."""
    count = len(scores)
    captions = torch.arange(scores.shape[1], device=scores.device)
    matches = scores[captions // (scores.shape[1] // count), captions]
    # The image counts itself, so that ranks begin at 1.
    return (scores >= matches - ROUNDING_ERROR).sum(dim=0)


def _rank_metrics(task: str, ranks: Tensor) -> dict[str, float]:
    """Return R@k and the median of ranks, as `<task>_recall_at_<k>` and `<task>_median_rank`."""
    numbers = ranks.cpu().numpy()
    recalls = {f"{task}_recall_at_{k}": float((numbers <= k).mean()) for k in CAPTION_RECALL_AT}
    return {**recalls, f"{task}_median_rank": float(np.median(numbers))}


def _train_epoch(
    space: JointSpace, optimizer: torch.optim.Optimizer, split: CaptionedImages, config: ImageCaptionConfig, seed: int
) -> None:
    """Train the joint space for one epoch, a pass over the captions of a split in random order."""
    order = np.random.default_rng(seed).permutation(len(split.captions))
    per_image = len(split.captions) // len(split.images)
    for start in range(0, len(order), config.batch):
        # Sorted rows are read faster; the loss does not depend on the order.
        captions = np.sort(order[start : start + config.batch])
        images = captions // per_image
        scores = space(
            _to_tensor(space.image, split.images[images]), _to_tensor(space.caption, split.captions[captions])
        )
        loss = margin_loss(scores, torch.from_numpy(images).to(scores.device), config.margin)
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()


def _project(layer: nn.Linear, vectors: Tensor) -> Tensor:
    """Return the normalised projections of vectors by one of the matrices of the joint space."""
    # f does not depend on the vectors' length; normalising them makes the step size independent of the features.
    return nn.functional.normalize(layer(nn.functional.normalize(vectors, dim=-1)), dim=-1)


def _project_all(layer: nn.Linear, vectors: Array) -> Tensor:
    """Return the projections of a split's vectors, computed in blocks."""
    blocks = range(0, len(vectors), _ROWS_AT_ONCE)
    return torch.cat([_project(layer, _to_tensor(layer, vectors[start : start + _ROWS_AT_ONCE])) for start in blocks])


def _to_tensor(layer: nn.Linear, vectors: Array) -> Tensor:
    """Return a copy of vectors as a float32 tensor on the layer's device."""
    return torch.from_numpy(np.array(vectors, np.float32)).to(layer.weight.device)

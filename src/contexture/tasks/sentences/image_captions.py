"""Ranking images by captions and captions by images (Quick-Thoughts paper, section 4.4.3; Kiros et al., 2015).

Vectors of images and captions are given and stay as they are. Trained are two matrices, U for images and V for
captions, whose products are brought to length 1, as Kiros et al. do: f(x, y) = (Ux)ᵀ(Vy) / (|Ux| |Vy|).
"""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from contexture.progress import progress
from contexture.seeding import mix
from contexture.tasks.sentences.neighbours import ROUNDING

#: Images among which one is searched for: the paper's test split of 5,000 makes five folds.
FOLD = 1000
#: R@k is measured at these k.
TOP = (1, 5, 10)
_PROJECTED = 8192


@dataclass(frozen=True)
class ImageCaptionConfig:
    """How the two matrices are trained.

    Size, margin and epochs are those of Kiros et al. (2015), who draw 50 mismatches a pair; here they are the batch's.
    """

    # Numbers that images and captions are projected to.
    size: int = 1000
    # By how much a match is to score higher than a mismatch.
    margin: float = 0.2
    # Captions, each with its image, of a step.
    batch: int = 128
    epochs: int = 15
    learning_rate: float = 2e-4


@dataclass(frozen=True)
class CaptionedImages:
    """Vectors of the images and captions of a split; either may be mapped from a file."""

    #: (N, X)
    images: NDArray[np.float32]
    #: (c·N, Y), c captions an image: those of the first image, then those of the second, …
    captions: NDArray[np.float32]

    @property
    def captions_per_image(self) -> int:
        """How many captions each image has."""
        return len(self.captions) // len(self.images)


class JointSpace(nn.Module):
    """U and V."""

    def __init__(self, image_size: int, caption_size: int, size: int) -> None:
        super().__init__()
        self.image = nn.Linear(image_size, size, bias=False)
        self.caption = nn.Linear(caption_size, size, bias=False)

    def forward(self, images: Tensor, captions: Tensor) -> Tensor:
        """f of each image (B, X) and each caption (C, Y): (B, C)."""
        return _project(self.image, images) @ _project(self.caption, captions).T


def margin_loss(scores: Tensor, images: Tensor, margin: float) -> Tensor:
    """Equation 3 over the mismatches of a batch.

    The paper's print has C′ under the sum over I′ and I′ under that over C′; the two sums are the same either way.

    Args:
        scores: (B, B), f of the image of pair i and the caption of pair j.
        images: (B,), the image of each pair; captions of the same image are no mismatches.
        margin: α.

    Returns:
        The sum over all pairs, of both directions.
    """
    match = scores.diagonal()
    captions = (margin - match[:, None] + scores).clamp_min(0)
    others = (margin - match[None, :] + scores).clamp_min(0)
    return (captions + others).masked_fill(images[:, None] == images[None, :], 0).sum()


def rank_image_captions(
    train: CaptionedImages, dev: CaptionedImages, test: CaptionedImages, config: ImageCaptionConfig, seed: int
) -> dict[str, float]:
    """Train on one split, keep the epoch with the highest sum of all recalls on the second, measure on the third.

    The result is a function of the vectors, the configuration and the seed.

    Returns:
        `annotation_recall_at_{1,5,10}` and `search_recall_at_{1,5,10}` (0 … 1), `annotation_median_rank` and
        `search_median_rank` (from 1): annotation ranks captions for an image, whose best one counts; search ranks
        images for a caption. Means over folds of `FOLD` images, where the split is a multiple of that.

    Raises:
        ValueError: for vectors whose numbers do not fit together, or that are not finite.
    """
    for name, split in (("train", train), ("dev", dev), ("test", test)):
        _check(name, split, train)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(mix(seed, 0))
        space = JointSpace(train.images.shape[1], train.captions.shape[1], config.size)
    space = space.to(device)
    optimizer = torch.optim.Adam(space.parameters(), lr=config.learning_rate)
    best, kept = -1.0, space.state_dict()
    for epoch in progress(config.epochs, "image captions", "epoch", range(config.epochs)):
        _train(space, optimizer, train, config, mix(seed, 1, epoch))
        reached = sum(value for name, value in evaluate(space, dev).items() if "recall" in name)
        if reached > best:
            best, kept = reached, {name: value.clone() for name, value in space.state_dict().items()}
    space.load_state_dict(kept)
    return evaluate(space, test)


@torch.no_grad()
def evaluate(space: JointSpace, split: CaptionedImages) -> dict[str, float]:
    """Recalls and median ranks of a split, as `rank_image_captions` returns them."""
    count, each = len(split.images), split.captions_per_image
    fold = FOLD if count % FOLD == 0 else count
    images, captions = _all(space.image, split.images), _all(space.caption, split.captions)
    folds = []
    for start in range(0, count, fold):
        scores = images[start : start + fold] @ captions[start * each : (start + fold) * each].T
        ranks = {"annotation": annotation_ranks(scores), "search": search_ranks(scores)}
        folds.append({name: value for task, found in ranks.items() for name, value in _metrics(task, found).items()})
    return {name: float(np.mean([found[name] for found in folds])) for name in folds[0]}


def annotation_ranks(scores: Tensor) -> Tensor:
    """Rank, from 1, of the best of each image's own captions among the captions of all images.

    Captions of other images that score alike, but for rounding, rank before it.

    Args:
        scores: (N, c·N), f of each image with each caption, captions in the order of their images.
    """
    count = len(scores)
    per_image = scores.view(count, count, -1)
    own = per_image.diagonal().amax(dim=0)
    rivals = (per_image >= own[:, None, None] - ROUNDING).sum(dim=2)
    return 1 + rivals.sum(dim=1) - rivals.diagonal()


def search_ranks(scores: Tensor) -> Tensor:
    """Rank, from 1, of each caption's image among all images; images that score alike, but for rounding, rank before.

    Args:
        scores: (N, c·N), as in `annotation_ranks`.

    Returns:
        (c·N,)
    """
    count = len(scores)
    captions = torch.arange(scores.shape[1], device=scores.device)
    own = scores[captions // (scores.shape[1] // count), captions]
    # The image itself is as high as itself: the 1 from which ranks count.
    return (scores >= own - ROUNDING).sum(dim=0)


def _metrics(task: str, ranks: Tensor) -> dict[str, float]:
    found = ranks.cpu().numpy()
    recalls = {f"{task}_recall_at_{k}": float((found <= k).mean()) for k in TOP}
    return {**recalls, f"{task}_median_rank": float(np.median(found))}


def _train(
    space: JointSpace, optimizer: torch.optim.Optimizer, split: CaptionedImages, config: ImageCaptionConfig, seed: int
) -> None:
    order = np.random.default_rng(seed).permutation(len(split.captions))
    for start in range(0, len(order), config.batch):
        # Files are read faster from front to back, and the loss has no order.
        captions = np.sort(order[start : start + config.batch])
        images = captions // split.captions_per_image
        scores = space(_tensor(space.image, split.images[images]), _tensor(space.caption, split.captions[captions]))
        loss = margin_loss(scores, torch.from_numpy(images).to(scores.device), config.margin)
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()


def _project(layer: nn.Linear, vectors: Tensor) -> Tensor:
    # The length of what is projected has no part in f; at length 1, steps are of one size whatever the features.
    return nn.functional.normalize(layer(nn.functional.normalize(vectors, dim=-1)), dim=-1)


def _all(layer: nn.Linear, vectors: NDArray[np.float32]) -> Tensor:
    blocks = range(0, len(vectors), _PROJECTED)
    return torch.cat([_project(layer, _tensor(layer, vectors[start : start + _PROJECTED])) for start in blocks])


def _tensor(layer: nn.Linear, vectors: NDArray[np.float32]) -> Tensor:
    return torch.from_numpy(np.array(vectors, np.float32)).to(layer.weight.device)


def _check(name: str, split: CaptionedImages, train: CaptionedImages) -> None:
    images, captions = split.images, split.captions
    if not len(images) or not len(captions) or len(captions) % len(images):
        raise ValueError(
            f"{name}: {len(images)} images with {len(captions)} captions; each image needs equally many, at least one"
        )
    found = images.shape[1], captions.shape[1]
    if found != (train.images.shape[1], train.captions.shape[1]):
        raise ValueError(f"{name}: vectors of {found} numbers (image, caption) do not fit those of the training split")
    for what, vectors in (("image", images), ("caption", captions)):
        for start in range(0, len(vectors), _PROJECTED):
            finite = np.isfinite(vectors[start : start + _PROJECTED]).all(axis=1)
            if not finite.all():
                raise ValueError(f"{name}: the vector of {what} {start + int(np.argmin(finite)) + 1} is not finite")

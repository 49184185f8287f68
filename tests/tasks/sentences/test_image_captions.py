from copy import deepcopy
from dataclasses import replace

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from contexture.tasks.sentences import image_captions
from contexture.tasks.sentences.image_captions import (
    CaptionedImages,
    ImageCaptionConfig,
    JointSpace,
    annotation_ranks,
    evaluate,
    margin_loss,
    rank_image_captions,
    search_ranks,
)

CONFIG = ImageCaptionConfig(size=8, batch=32, epochs=6, learning_rate=0.01)


def planted(count: int, seed: int, each: int = 5) -> CaptionedImages:
    """Images and captions that show the same 6 hidden numbers through two maps, with some noise."""
    maps, rng = np.random.default_rng(99), np.random.default_rng(seed)
    to_image, to_caption = maps.normal(size=(6, 20)), maps.normal(size=(6, 15))
    hidden = rng.normal(size=(count, 6))
    noisy = np.repeat(hidden, each, axis=0) + 0.1 * rng.normal(size=(count * each, 6))
    return CaptionedImages(
        (100 * hidden @ to_image).astype(np.float32),  # features come at all scales
        (noisy @ to_caption).astype(np.float32),
    )


def test_loss_is_that_of_a_slow_loop() -> None:
    scores = torch.randn(6, 6, generator=torch.Generator().manual_seed(0))
    images = [0, 1, 1, 2, 3, 0]
    expected = 0.0
    for pair in range(6):
        for other in range(6):
            if images[pair] != images[other]:
                match = scores[pair, pair]
                expected += max(0.0, float(0.3 - match + scores[pair, other]))  # another caption for the image
                expected += max(0.0, float(0.3 - match + scores[other, pair]))  # another image for the caption
    assert float(margin_loss(scores, torch.tensor(images), 0.3)) == pytest.approx(expected, rel=1e-5)


def test_ranks_by_hand() -> None:
    # Images 0 and 1 with two captions each.
    scores = torch.tensor([[0.1, 0.8, 0.9, 0.3], [0.5, 0.8, 0.2, 0.4]])
    # Image 0: its best is 0.8; 0.9 is before it. Image 1: its best is 0.4; 0.5 and 0.8 are before it.
    assert annotation_ranks(scores).tolist() == [2, 3]
    # 0.1 < 0.5; 0.8 ties with 0.8; 0.2 < 0.9; 0.4 > 0.3.
    assert search_ranks(scores).tolist() == [2, 2, 2, 1]


def test_what_scores_everything_alike_is_last() -> None:
    assert annotation_ranks(torch.zeros(4, 12)).tolist() == [10] * 4
    assert search_ranks(torch.zeros(4, 12)).tolist() == [4] * 12


def test_ranks_are_those_of_a_slow_loop() -> None:
    scores = torch.from_numpy(np.random.default_rng(0).permutation(7 * 21).reshape(7, 21) / 147.0)
    annotation = []
    for image in range(7):
        order = torch.argsort(scores[image], descending=True).tolist()
        annotation.append(1 + min(order.index(caption) for caption in range(3 * image, 3 * image + 3)))
    search = [1 + torch.argsort(scores[:, c], descending=True).tolist().index(c // 3) for c in range(21)]
    assert annotation_ranks(scores).tolist() == annotation
    assert search_ranks(scores).tolist() == search


def identity(size: int) -> JointSpace:
    space = JointSpace(size, size, size)
    with torch.no_grad():
        space.image.weight.copy_(torch.eye(size))
        space.caption.weight.copy_(torch.eye(size))
    return space


def test_metrics_and_folds_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    images = np.eye(4, dtype=np.float32)
    captions = images[[1, 0, 2, 3]]  # the first two are swapped
    swapped = CaptionedImages(images, captions)
    found = evaluate(identity(4), swapped)
    # Ranks of both directions: 4, 4 (all else ties with the wrong one's score of 0), 1, 1.
    assert found == {
        f"{task}_{name}": value
        for task in ("annotation", "search")
        for name, value in {"recall_at_1": 0.5, "recall_at_5": 1, "recall_at_10": 1, "median_rank": 2.5}.items()
    }
    monkeypatch.setattr(image_captions, "FOLD", 2)
    # Folds of two: in the first both are second, in the second both are first.
    found = evaluate(identity(4), swapped)
    assert found["search_median_rank"] == found["annotation_median_rank"] == 1.5
    monkeypatch.setattr(image_captions, "FOLD", 3)
    assert evaluate(identity(4), swapped)["search_median_rank"] == 2.5


def test_lengths_have_no_part_in_the_scores() -> None:
    space, split = JointSpace(20, 15, 4), planted(30, 1)
    scaled = CaptionedImages(split.images * np.float32(7), split.captions / np.float32(9))
    assert evaluate(space, scaled) == evaluate(space, split)
    scores = space(torch.from_numpy(split.images), torch.from_numpy(split.captions))
    assert float(scores.detach().abs().max()) <= 1 + 1e-5


def test_training_finds_what_images_and_captions_share() -> None:
    train, dev, test = planted(80, 1), planted(40, 2), planted(40, 3)
    found = rank_image_captions(train, dev, test, CONFIG, seed=0)
    untrained = evaluate(JointSpace(20, 15, 8), test)
    assert untrained["search_recall_at_1"] < 0.3
    assert found["search_recall_at_1"] > 0.7
    assert found["annotation_recall_at_1"] > 0.7
    assert found["search_median_rank"] == 1
    assert found == rank_image_captions(train, dev, test, CONFIG, seed=0)
    assert found != rank_image_captions(train, dev, test, CONFIG, seed=1)


def test_both_the_matrices_and_the_order_are_of_the_seed() -> None:
    train, test = planted(30, 1), planted(30, 3)
    at_once = replace(CONFIG, batch=150, epochs=1)
    assert rank_image_captions(train, test, test, at_once, 0) != rank_image_captions(train, test, test, at_once, 1)
    first = JointSpace(20, 15, 4)
    weights = []
    for seed in (0, 0, 1):
        space = deepcopy(first)
        image_captions._train(space, torch.optim.Adam(space.parameters()), train, CONFIG, seed)
        weights.append(space.image.weight.detach())
    assert torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[0], weights[2])


def test_each_epoch_has_an_order_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    seeds: list[int] = []
    monkeypatch.setattr(image_captions, "_train", lambda *given: seeds.append(given[-1]))
    small = planted(3, 1)
    for seed in (0, 1):
        rank_image_captions(small, small, small, CONFIG, seed)
    assert len(set(seeds)) == 2 * CONFIG.epochs


def test_the_best_epoch_on_dev_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    train, dev, test = planted(60, 1), planted(30, 2), planted(30, 3)
    per_epoch = []
    whole = evaluate

    def noted(space: JointSpace, split: CaptionedImages) -> dict[str, float]:
        if split is dev:
            worse = 1 if len(per_epoch) < 2 else 0  # the second epoch is made to look the best
            per_epoch.append(whole(space, test))
            return {"search_recall_at_1": worse * len(per_epoch)}
        return whole(space, split)

    monkeypatch.setattr(image_captions, "evaluate", noted)
    found = rank_image_captions(train, dev, test, CONFIG, seed=0)
    assert len(per_epoch) == CONFIG.epochs
    assert found == per_epoch[1]
    assert found != per_epoch[-1]


def broken(split: CaptionedImages, images: NDArray[np.float32]) -> CaptionedImages:
    return replace(split, images=images)


def test_what_does_not_fit_together() -> None:
    good = planted(6, 0)
    nan = good.images.copy()
    nan[4, 2] = np.nan
    for dev, message in (
        (broken(good, good.images[:4]), "dev: 4 images with 30 captions"),
        (broken(good, good.images[:0]), "dev: 0 images"),
        (broken(good, good.images[:, :3]), r"dev: vectors of \(3, 15\) numbers"),
        (broken(good, nan), "dev: the vector of image 5 is not finite"),
    ):
        with pytest.raises(ValueError, match=message):
            rank_image_captions(good, dev, good, CONFIG, seed=0)

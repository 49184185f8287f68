import mmap
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from contexture.tasks.missing import BenchmarkMissing
from contexture.tasks.sentences import image_captions
from contexture.tasks.sentences.image_captions import (
    CaptionedImages,
    ImageCaptionConfig,
    JointSpace,
    annotation_ranks,
    margin_loss,
    measure_split,
    rank_image_captions,
    read_image_captions,
    search_ranks,
)

FEATURES = np.random.default_rng(3).normal(size=(7, 4)).astype(np.float32)
CAPTIONS = [f"picture {i // 5}, caption {i % 5}" for i in range(35)]
CONFIG = ImageCaptionConfig(size=8, batch=32, epochs=6, learning_rate=0.01)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use several blocks, the last one short."""
    monkeypatch.setattr(image_captions, "_IMAGES_AT_ONCE", 3)


def write(folder: Path, features: NDArray[np.generic] = FEATURES, captions: list[str] = CAPTIONS) -> Path:
    np.save(folder / "dev_ims.npy", features)
    (folder / "dev_caps.txt").write_text("".join(f"{caption}\n" for caption in captions))
    return folder


@pytest.mark.parametrize("rows", [FEATURES, np.repeat(FEATURES, 5, axis=0)], ids=["an image", "a caption"])
def test_a_row_an_image_or_a_caption_stays_in_its_file(tmp_path: Path, rows: NDArray[np.float32]):
    data = read_image_captions(write(tmp_path, rows), "dev")
    np.testing.assert_array_equal(data.images, FEATURES)
    assert data.captions == CAPTIONS
    base: object = data.images
    while isinstance(base, np.ndarray):
        base = base.base
    assert isinstance(base, mmap.mmap)


def change_feature(row: int, value: float, repeats: int = 1) -> NDArray[np.float32]:
    rows = np.repeat(FEATURES, repeats, axis=0)
    rows[row, 2] = value
    return rows


@pytest.mark.parametrize(
    ("features", "captions", "message"),
    [
        (FEATURES[:6], CAPTIONS, r"dev_ims\.npy has 6 rows, but dev_caps\.txt 35 captions: .*\(7\) or .*\(35\)"),
        (FEATURES, CAPTIONS[:-1], r"dev_caps\.txt has 34 captions, not a multiple of five"),
        (FEATURES, [*CAPTIONS[:8], " ", *CAPTIONS[9:]], r"dev_caps\.txt, line 9: an empty caption"),
        (FEATURES, [], r"dev_caps\.txt has no rows"),
        (change_feature(33, 9.0, repeats=5), CAPTIONS, r"dev_ims\.npy, rows 30 to 34: .* group captions"),
        (change_feature(5, np.nan), CAPTIONS, r"dev_ims\.npy, row 5: features are not finite"),
        (change_feature(6, np.inf), CAPTIONS, r"dev_ims\.npy, row 6: features are not finite"),
        (FEATURES.astype(np.float64), CAPTIONS, r"holds float64 of shape \(7, 4\); save it as float32"),
        (FEATURES[0], CAPTIONS, r"holds float32 of shape \(4,\)"),
        (np.array([{"a": 1}]), CAPTIONS, r"dev_ims\.npy is not a NumPy file of numbers"),
    ],
)
def test_errors_name_files_that_do_not_fit(
    tmp_path: Path, features: NDArray[np.generic], captions: list[str], message: str
):
    with pytest.raises(ValueError, match=message):
        read_image_captions(write(tmp_path, features, captions), "dev")


@pytest.mark.parametrize("content", [b"", b"no array", b"\x93NUMPY\x01\x00"])
def test_errors_name_the_damaged_file(tmp_path: Path, content: bytes):
    (write(tmp_path) / "dev_ims.npy").write_bytes(content)
    with pytest.raises(ValueError, match=r"dev_ims\.npy is not a NumPy file"):
        read_image_captions(tmp_path, "dev")


def test_absent_files(tmp_path: Path):
    write(tmp_path)
    with pytest.raises(BenchmarkMissing, match=r"captions is not here: looked for .*test_ims\.npy\. Name a folder"):
        read_image_captions(tmp_path, "test")
    (tmp_path / "dev_caps.txt").unlink()
    with pytest.raises(BenchmarkMissing, match=r"dev_caps\.txt"):
        read_image_captions(tmp_path, "dev")


def make_images(count: int, seed: int) -> CaptionedImages:
    """Return images with five captions each, two linear views of the same 6 hidden numbers, with noise."""
    maps, rng = np.random.default_rng(99), np.random.default_rng(seed)
    to_image, to_caption = maps.normal(size=(6, 20)), maps.normal(size=(6, 15))
    hidden = rng.normal(size=(count, 6))
    noisy = np.repeat(hidden, 5, axis=0) + 0.1 * rng.normal(size=(count * 5, 6))
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
    # A model that scores everything alike is last.
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


def test_metrics_and_folds_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    identity, images = JointSpace(4, 4, 4), np.eye(4, dtype=np.float32)
    for layer in (identity.image, identity.caption):
        layer.weight.data.copy_(torch.eye(4))
    swapped = CaptionedImages(images, images[[1, 0, 2, 3]])  # the captions of the first two
    # Ranks of both directions: 4, 4 (all else ties with the wrong one's score of 0), 1, 1.
    assert measure_split(identity, swapped) == {
        f"{task}_{name}": value
        for task in ("annotation", "search")
        for name, value in {"recall_at_1": 0.5, "recall_at_5": 1, "recall_at_10": 1, "median_rank": 2.5}.items()
    }
    # Folds of two: in the first both are second, in the second both are first. Four images make no folds of three.
    for fold, median in ((2, 1.5), (3, 2.5)):
        monkeypatch.setattr(image_captions, "FOLD_IMAGES", fold)
        metrics = measure_split(identity, swapped)
        assert metrics["search_median_rank"] == metrics["annotation_median_rank"] == median


def test_scores_do_not_depend_on_lengths() -> None:
    space, split = JointSpace(20, 15, 4), make_images(30, 1)
    scaled = CaptionedImages(split.images * np.float32(7), split.captions / np.float32(9))
    assert measure_split(space, scaled) == measure_split(space, split)
    scores = space(torch.from_numpy(split.images), torch.from_numpy(split.captions))
    assert float(scores.detach().abs().max()) <= 1 + 1e-5


def test_training_learns_the_common_factors() -> None:
    train, dev, test = make_images(80, 1), make_images(40, 2), make_images(40, 3)
    metrics = rank_image_captions(train, dev, test, CONFIG, seed=0)
    assert measure_split(JointSpace(20, 15, 8), test)["search_recall_at_1"] < 0.3
    assert min(metrics["search_recall_at_1"], metrics["annotation_recall_at_1"]) > 0.7
    assert metrics["search_median_rank"] == 1
    assert metrics == rank_image_captions(train, dev, test, CONFIG, seed=0)
    assert metrics != rank_image_captions(train, dev, test, CONFIG, seed=1)


def test_the_seed_sets_matrices_and_order() -> None:
    train, test = make_images(30, 1), make_images(30, 3)
    at_once = replace(CONFIG, batch=150, epochs=1)
    assert rank_image_captions(train, test, test, at_once, 0) != rank_image_captions(train, test, test, at_once, 1)
    first = JointSpace(20, 15, 4)
    weights = []
    for seed in (0, 0, 1):
        space = deepcopy(first)
        image_captions._train_epoch(space, torch.optim.Adam(space.parameters()), train, CONFIG, seed)
        weights.append(space.image.weight.detach())
    assert torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[0], weights[2])


def test_each_epoch_has_a_different_order(monkeypatch: pytest.MonkeyPatch) -> None:
    seeds: list[int] = []
    monkeypatch.setattr(image_captions, "_train_epoch", lambda *args: seeds.append(args[-1]))
    small = make_images(3, 1)
    for seed in (0, 1):
        rank_image_captions(small, small, small, CONFIG, seed)
    assert len(set(seeds)) == 2 * CONFIG.epochs


def test_the_best_epoch_on_dev_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    train, dev, test = make_images(60, 1), make_images(30, 2), make_images(30, 3)
    per_epoch: list[dict[str, float]] = []

    def record_dev(space: JointSpace, split: CaptionedImages) -> dict[str, float]:
        if split is dev:
            factor = 1 if len(per_epoch) < 2 else 0  # the second epoch is made to look the best
            per_epoch.append(measure_split(space, test))
            return {"search_recall_at_1": factor * len(per_epoch)}
        return measure_split(space, split)

    monkeypatch.setattr(image_captions, "measure_split", record_dev)
    metrics: Any = rank_image_captions(train, dev, test, CONFIG, seed=0)
    assert len(per_epoch) == CONFIG.epochs
    assert metrics == per_epoch[1] != per_epoch[-1]


def test_errors_name_images_of_another_dimension() -> None:
    good = make_images(6, 0)
    narrow = replace(good, images=good.images[:, :3])
    with pytest.raises(ValueError, match="dev: images have 3 features, those of the training split 20"):
        rank_image_captions(good, narrow, good, CONFIG, seed=0)

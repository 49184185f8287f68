"""Every contestant on the test pairs of every set: frozen, fine-tuned, and what needs no training of an encoder."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from contexture.encoders.base import Encoder
from contexture.tasks.answer_selection.baselines import words
from contexture.tasks.base import Contestant, Each, Results, make_record, measure_encoders, one_by_one, seeds_of
from contexture.tasks.pairs.config import FeatureKind
from contexture.tasks.pairs.features import Labels, classify, coded, frozen_features, select_cross_layers
from contexture.tasks.pairs.model import PairInputs, load_pair_model
from contexture.tasks.pairs.splits import PARTS, first_rows
from contexture.tasks.sentences.vectors import VectorStore

NAME = "pairs"
#: How a page describes the input of the classifier.
FEATURE_NOTES: dict[FeatureKind, str] = {
    "vectors": "Features of a pair: [u, v, |u−v|, u∗v] for all encoders",
    "cross": "Features of a pair: [C_0; C_1] for encoders with cross-sequence layers, [u, v, |u−v|, u∗v] for others",
}
#: Genres ("" where a set has none) → accuracy on the test pairs of these.
Accuracies = dict[str, float]


def evaluate_pairs(
    contestants: Sequence[Contestant],
    files: dict[str, Path],
    train_rows: int | None,
    place: Path,
    each: Each = one_by_one,
    features: FeatureKind = "vectors",
) -> Results:
    """The accuracy of all contestants and of the baselines on the test part of every set.

    The fact `notes` names the features.

    Args:
        contestants: the seeds of the baselines are theirs, too.
        files: set → its table, as `splits.PairSet.rows` has it.
        train_rows: so many pairs at most are learned from.
        place: vectors of the sentences are kept here.
        each: how encoders are measured, side by side or one by one.
        features: input of the classifier of frozen vectors; fine-tuned models remember theirs.
    """
    records: list[dict[str, Any]] = []
    for name, file in files.items():
        known = measure_encoders(measure_frozen, contestants, each, name, file, train_rows, place, features)
        tuned = [one for one in contestants if one.finetuned is not None and (one.finetuned / name).exists()]
        finetuned = each(measure_finetuned, [(one.finetuned / name, file) for one in tuned if one.finetuned])
        for one in contestants:
            records += _records(name, one.variant, one.seed, "frozen", known[one.encoders])
        for one, found in zip(tuned, finetuned, strict=True):
            records += _records(name, one.variant, one.seed, "finetuned", found)
        for variant, found in measure_baselines(file, train_rows).items():
            for seed in seeds_of(contestants):
                records += _records(name, variant, seed, "frozen", found)
    return Results(records, {"notes": [FEATURE_NOTES[features]]} if records else {})


def measure_frozen(
    encoders: Sequence[str],
    name: str,
    file: Path,
    train_rows: int | None,
    place: Path,
    features: FeatureKind = "vectors",
) -> Accuracies:
    """Embed every sentence of a set once, as one of no role, and classify its pairs by `frozen_features`."""
    parts, labels, classes = _parts(file, train_rows)
    texts = sorted({text for rows in parts.values() for side in ("first", "second") for text in rows[side]})
    store, cross = VectorStore(place), None
    if len(encoders) == 1:
        model = store.load(encoders[0])
        cross = select_cross_layers(model, features) if isinstance(model, Encoder) else None
        lookup: Any = store.embed(model, encoders[0], texts, name)
    else:
        lookup = store(encoders, texts, name)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    inputs = {}
    for part, rows in parts.items():
        first, second = (torch.from_numpy(lookup(rows[side].tolist())).to(device) for side in ("first", "second"))
        inputs[part] = frozen_features(first, second, cross)
    try:
        predicted = classify(inputs, labels, classes)["test"]
    except ValueError as error:
        raise ValueError(f"{'+'.join(encoders)} on {name}: {error}") from error
    return _accuracies(parts["test"], labels["test"] == predicted)


def measure_finetuned(folder: Path, file: Path) -> Accuracies:
    """The accuracy of a model that was fine-tuned on the set."""
    model = load_pair_model(folder)
    rows = pd.read_parquet(file)
    test = rows[rows["part"] == "test"]
    return _accuracies(test, PairInputs(test, model.settings.classes, model.encoder).is_right(model))


def measure_baselines(file: Path, train_rows: int | None) -> dict[str, Accuracies]:
    """`majority`: the most frequent label. `word_overlap`: a logistic regression on the shares of words in common."""
    parts, labels, classes = _parts(file, train_rows)
    most = np.bincount(labels["train"]).argmax()
    overlaps = {part: torch.from_numpy(overlap(rows)) for part, rows in parts.items()}
    predicted = classify(overlaps, labels, classes)["test"]
    return {
        "majority": _accuracies(parts["test"], labels["test"] == most),
        "word_overlap": _accuracies(parts["test"], labels["test"] == predicted),
    }


def overlap(rows: pd.DataFrame) -> np.ndarray[Any, np.dtype[np.float32]]:
    """Words in common as a share of the first sentence's, of the second's, and of those of both, (N, 3)."""
    shares = []
    for one, two in zip(rows["first"], rows["second"], strict=True):
        first, second = words(one), words(two)
        both = len(first & second)
        shares.append([both / max(1, len(of)) for of in (first, second, first | second)])
    return np.array(shares, np.float32)


def _parts(file: Path, train_rows: int | None) -> tuple[dict[str, pd.DataFrame], dict[str, Labels], int]:
    """The rows of each part, their labels as numbers, and how many classes there are."""
    rows = pd.read_parquet(file)
    parts = {part: rows[rows["part"] == part] for part in PARTS}
    classes = sorted(parts["train"]["label"].unique())
    parts["train"] = first_rows(parts["train"], train_rows)
    return parts, {part: coded(found["label"].tolist(), classes) for part, found in parts.items()}, len(classes)


def _accuracies(test: pd.DataFrame, right: np.ndarray[Any, np.dtype[np.bool_]]) -> Accuracies:
    found = pd.Series(right, index=test.index).groupby(test["genres"]).mean()
    return {str(genres): float(value) for genres, value in found.items()}


def _records(name: str, variant: str, seed: int, protocol: str, found: Accuracies) -> Iterator[dict[str, Any]]:
    for genres, value in found.items():
        yield make_record(variant, seed, NAME, f"{name}_{genres}" if genres else name, value, protocol)

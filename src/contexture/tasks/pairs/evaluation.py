"""Accuracy of frozen encoders, fine-tuned encoders and baselines on the test pairs of every set."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd
import torch

from contexture.encoders.base import Encoder
from contexture.tasks.answer_selection.baselines import split_words
from contexture.tasks.base import (
    EvaluatedEncoder,
    ParallelMap,
    Results,
    list_seeds,
    make_record,
    measure_encoders,
    serial_map,
)
from contexture.tasks.pairs.config import FeatureKind, PairSettings
from contexture.tasks.pairs.features import Labels, classify, encode_labels, frozen_features, select_cross_layers
from contexture.tasks.pairs.model import PairInputs, PairModel
from contexture.tasks.pairs.splits import PARTS, sample_rows
from contexture.tasks.sentences.vectors import VectorStore

NAME = "pairs"
#: Descriptions of the classifier's input, for reports.
FEATURE_NOTES: dict[FeatureKind, str] = {
    "vectors": "Features of a pair: [u, v, |u−v|, u∗v] for all encoders",
    "cross": "Features of a pair: [C_0; C_1] for encoders with cross-sequence layers, [u, v, |u−v|, u∗v] for others",
}
#: Genres ("" for a set without them) → accuracy on their test pairs.
Accuracies = dict[str, float]


def evaluate_pairs(
    settings: PairSettings,
    encoders: Sequence[EvaluatedEncoder],
    files: dict[str, Path],
    vectors_dir: Path,
    parallel_map: ParallelMap = serial_map,
) -> Results:
    """Return the accuracy of all encoders and baselines on the test part of every set.

    `files` has the table of each set, see `splits.PairSet.rows`. Fine-tuned models use the features that they were
    trained with. Models of sets that are not in `settings.finetune` are those of an earlier run, and are left out.
    Baselines are repeated for the encoders' seeds. The detail `notes` names the features.
    """
    accuracies: list[tuple[str, str, int, str, Accuracies]] = []
    for name, file in files.items():
        frozen = measure_encoders(measure_frozen, encoders, parallel_map, name, file, settings, vectors_dir)
        is_tuned = name in settings.finetune
        folders = [e.finetuned_dir / name if is_tuned and e.finetuned_dir else None for e in encoders]
        tuned = [folder for folder in folders if folder and folder.exists()]
        finetuned = dict(zip(tuned, parallel_map(measure_finetuned, [(folder, file) for folder in tuned]), strict=True))
        for encoder in encoders:
            accuracies.append((name, encoder.variant, encoder.seed, "frozen", frozen[encoder.models]))
        for encoder, folder in zip(encoders, folders, strict=True):
            if folder and folder in finetuned:
                accuracies.append((name, encoder.variant, encoder.seed, "finetuned", finetuned[folder]))
        for variant, by_genres in measure_baselines(file, settings.train_rows).items():
            accuracies += [(name, variant, seed, "frozen", by_genres) for seed in list_seeds(encoders)]
    examples = {name: _count_by_genres(file) for name, file in files.items()}
    records = [
        make_record(
            variant,
            seed,
            NAME,
            f"{name}_{genres}" if genres else name,
            value,
            protocol,
            examples=examples[name][genres],
        )
        for name, variant, seed, protocol, by_genres in accuracies
        for genres, value in by_genres.items()
    ]
    return Results(records, {"notes": [FEATURE_NOTES[settings.features]]} if records else {})


def measure_frozen(
    models: Sequence[str], name: str, file: Path, settings: PairSettings, vectors_dir: Path
) -> Accuracies:
    """Return genre → test accuracy of one frozen encoder, by a logistic regression on `frozen_features` of the pairs.

    The vectors of its `models` are concatenated. Each sentence is embedded once, without a role.
    """
    parts, labels, classes = _read_parts(file, settings.train_rows)
    texts = sorted({text for rows in parts.values() for side in ("first", "second") for text in rows[side]})
    store, cross = VectorStore(vectors_dir), None
    if len(models) == 1:
        model = store.load(models[0])
        cross = select_cross_layers(model, settings.features) if isinstance(model, Encoder) else None
        lookup = store.embed(model, models[0], texts, name)
    else:
        lookup = store(models, texts, name)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    inputs = {}
    for part, rows in parts.items():
        first, second = (torch.from_numpy(lookup(rows[side].tolist())).to(device) for side in ("first", "second"))
        inputs[part] = frozen_features(first, second, cross)
    predicted = classify(inputs, labels, classes)["test"]
    return _accuracy_by_genres(parts["test"], labels["test"] == predicted)


def measure_finetuned(folder: Path, file: Path) -> Accuracies:
    """Return the accuracy of a fine-tuned model on the test pairs of the set that it was trained on."""
    model = PairModel.load(folder)
    rows = pd.read_parquet(file)
    test = rows[rows["part"] == "test"]
    return _accuracy_by_genres(test, PairInputs(test, model.settings.classes, model.encoder).is_right(model))


def measure_baselines(file: Path, train_rows: int | None) -> dict[str, Accuracies]:
    """Return accuracies of `majority`, the most frequent label, and `word_overlap`, a regression on common words."""
    parts, labels, classes = _read_parts(file, train_rows)
    majority = np.bincount(labels["train"]).argmax()
    overlaps = {part: torch.from_numpy(word_overlap(rows)) for part, rows in parts.items()}
    predicted = classify(overlaps, labels, classes)["test"]
    return {
        "majority": _accuracy_by_genres(parts["test"], labels["test"] == majority),
        "word_overlap": _accuracy_by_genres(parts["test"], labels["test"] == predicted),
    }


def word_overlap(rows: pd.DataFrame) -> npt.NDArray[np.float32]:
    """Return the common words of pairs as shares (N, 3) of the first, of the second, and of both sentences' words."""
    shares = []
    for texts in zip(rows["first"], rows["second"], strict=True):
        first, second = (split_words(text) for text in texts)
        common = len(first & second)
        shares.append([common / max(1, len(vocabulary)) for vocabulary in (first, second, first | second)])
    return np.array(shares, np.float32)


def _read_parts(file: Path, train_rows: int | None) -> tuple[dict[str, pd.DataFrame], dict[str, Labels], int]:
    """Return the rows of each part of a set, their labels as numbers, and the number of classes."""
    rows = pd.read_parquet(file)
    parts = {part: rows[rows["part"] == part] for part in PARTS}
    classes = sorted(parts["train"]["label"].unique())
    parts["train"] = sample_rows(parts["train"], train_rows)
    return parts, {part: encode_labels(table["label"].tolist(), classes) for part, table in parts.items()}, len(classes)


def _count_by_genres(file: Path) -> dict[str, int]:
    """Return genres of the test pairs → number of pairs."""
    rows = pd.read_parquet(file, columns=["part", "genres"])
    counts = rows.loc[rows["part"] == "test", "genres"].value_counts()
    return {str(genres): int(count) for genres, count in counts.items()}


def _accuracy_by_genres(test: pd.DataFrame, is_right: npt.NDArray[np.bool_]) -> Accuracies:
    """Return genres of the test pairs → share that is predicted right."""
    by_genres = pd.Series(is_right, index=test.index).groupby(test["genres"]).mean()
    return {str(genres): float(value) for genres, value in by_genres.items()}

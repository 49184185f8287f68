"""Frozen encoders on reviews: what tells praise from blame in English, asked in every language."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd
import torch

from contexture.tasks.base import Contestant, Each, Results, make_record, measure_encoders, one_by_one
from contexture.tasks.pairs.features import classify
from contexture.tasks.reviews.files import AMAZON
from contexture.tasks.sentences.vectors import VectorStore

NAME = "reviews"


def evaluate_reviews(contestants: Sequence[Contestant], file: Path, place: Path, each: Each = one_by_one) -> Results:
    """The accuracy of all contestants in each language; vectors are kept in `place`."""
    found = measure_encoders(measure, contestants, each, file, place)
    return Results(
        [
            make_record(one.variant, one.seed, NAME, f"{AMAZON}_{language}", value)
            for one in contestants
            for language, value in found[one.encoders].items()
        ]
    )


def measure(encoders: Sequence[str], file: Path, place: Path) -> dict[str, float]:
    """Language → accuracy of one logistic regression on the vectors; every review is embedded once."""
    rows = pd.read_parquet(file)
    lookup = VectorStore(place)(encoders, sorted(set(rows["text"])), NAME)
    parts = {str(part): of for part, of in rows.groupby("part")}
    device = "cuda" if torch.cuda.is_available() else "cpu"
    features = {part: torch.from_numpy(lookup(of["text"].tolist())).to(device) for part, of in parts.items()}
    labels = {part: of["label"].to_numpy() for part, of in parts.items()}
    try:
        predicted = classify(features, labels, 2)["test"]
    except ValueError as error:
        raise ValueError(f"{'+'.join(encoders)} on {NAME}: {error}") from error
    right = pd.Series(predicted == labels["test"], index=parts["test"].index)
    by_language = right.groupby(parts["test"]["language"], sort=False).mean()
    return {str(language): float(value) for language, value in by_language.items()}

"""Frozen encoders on reviews: a sentiment classifier trained in English and tested in every language."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd
import torch

from contexture.tasks.base import Row
from contexture.tasks.pairs.features import classify
from contexture.tasks.reviews.files import AMAZON
from contexture.tasks.sentences.vectors import VectorStore

NAME = "reviews"


def measure_reviews(encoders: Sequence[str], file: Path, vectors_dir: Path) -> list[Row]:
    """Return the accuracy in each language of a logistic regression trained on English reviews."""
    rows = pd.read_parquet(file)
    lookup = VectorStore(vectors_dir)(encoders, sorted(set(rows["text"])), NAME)
    parts = {str(part): table for part, table in rows.groupby("part")}
    device = "cuda" if torch.cuda.is_available() else "cpu"
    features = {part: torch.from_numpy(lookup(table["text"].tolist())).to(device) for part, table in parts.items()}
    labels = {part: table["label"].to_numpy() for part, table in parts.items()}
    is_right = pd.Series(classify(features, labels, 2)["test"] == labels["test"], index=parts["test"].index)
    accuracies = is_right.groupby(parts["test"]["language"], sort=False).mean()
    return [
        Row(task=NAME, data=f"{AMAZON}_{language}", protocol="frozen", split="test", metric="accuracy", value=value)
        for language, value in accuracies.to_dict().items()
    ]

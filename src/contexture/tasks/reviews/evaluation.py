"""Encoders on reviews: a sentiment classifier, trained in English on frozen vectors or with the encoder."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd
import torch

from contexture.tasks.base import Row
from contexture.tasks.pairs.features import classify
from contexture.tasks.reviews.files import AMAZON
from contexture.tasks.reviews.finetune import make_inputs
from contexture.tasks.reviews.model import ReviewModel
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
    return _accuracy_rows(parts["test"], classify(features, labels, 2)["test"] == labels["test"], "frozen")


def measure_finetuned(folder: Path, file: Path) -> list[Row]:
    """Return the accuracy in each language of a model that was fine-tuned on English reviews."""
    model, rows = ReviewModel.load(folder), pd.read_parquet(file)
    test = rows[rows["part"] == "test"]
    return _accuracy_rows(test, make_inputs(test, model).is_right(model), "finetuned")


def _accuracy_rows(test: pd.DataFrame, is_right: npt.NDArray[np.bool_], protocol: str) -> list[Row]:
    """Return the share of the test reviews of each language that is predicted right."""
    by_language = pd.Series(is_right, index=test.index).groupby(test["language"], sort=False)
    return [
        Row(
            task=NAME,
            data=f"{AMAZON}_{language}",
            protocol=protocol,
            split="test",
            metric="accuracy",
            value=float(right.mean()),
            examples=len(right),
        )
        for language, right in by_language
    ]

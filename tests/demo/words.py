"""Words of texts and predictions by them, for tests."""

import re
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression


def split_words(text: str) -> list[str]:
    """Return the lower-case words of a text."""
    return re.findall(r"\w+", text.lower())


def word_overlap(text: str, other: str) -> int:
    return len(set(split_words(text)) & set(split_words(other)))


def predict_labels(train: Any, test: Any, train_labels: list[str], test_labels: list[str]) -> float:
    """Return the accuracy of a linear model of numbers (N, 1), or of word uni- and bigrams."""
    if isinstance(train, np.ndarray):
        return float(LogisticRegression().fit(train, train_labels).score(test, test_labels))
    counted = CountVectorizer(ngram_range=(1, 2))
    model = LogisticRegression(C=0.1).fit(counted.fit_transform(train), train_labels)
    return float(model.score(counted.transform(test), test_labels))

"""Words of a text, for tests."""

import re

from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression


def words(text: str) -> list[str]:
    """In lower case, without marks."""
    return re.findall(r"\w+", text.lower())


def tells_labels(train: list[str], test: list[str], train_labels: list[str], test_labels: list[str]) -> float:
    """The share of labels of `test` that a linear model of words and pairs of words guesses."""
    counted = CountVectorizer(ngram_range=(1, 2))
    model = LogisticRegression(C=0.1).fit(counted.fit_transform(train), train_labels)
    right: float = model.score(counted.transform(test), test_labels)
    return right

from collections.abc import Sequence

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

from contexture.tasks.sentences.analogies import ALL, analogies, questions

#: A→B adds (0, 1), C→D too: a parallelogram, but D's neighbour "near" lies closer to none of the four answers.
VECTORS = {
    "he walks": [1.0, 0.0, 1.0],
    "he walked": [1.0, 1.0, 1.0],
    "she sings": [3.0, 0.0, 1.0],
    "she sang": [3.0, 1.0, 1.0],
    "big": [0.0, 0.0, 5.0],
    "bigger": [0.0, 0.1, 5.0],
    "small": [0.0, 5.0, 0.0],
    "smaller": [0.0, 5.0, 3.0],
}


def lookup(texts: Sequence[str]) -> NDArray[np.float32]:
    return np.array([VECTORS[text] for text in texts], np.float32)


def table(*rows: list[str]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["category", "a", "b", "c", "d"])


PAST = ["past", "he walks", "he walked", "she sings", "she sang"]
SIZE = ["size", "big", "bigger", "small", "smaller"]


def test_each_sentence_is_the_answer_once() -> None:
    found = questions(table(["x", "A", "B", "C", "D"], ["y", "E", "F", "G", "H"]))
    assert ["".join(row) for row in found.itertuples(index=False)] == [
        "xABCD", "xBADC", "xCDAB", "xDCBA", "yEFGH", "yFEHG", "yGHEF", "yHGFE",
    ]  # fmt: skip


def slow(row: list[str], pool: list[str], excluding: bool) -> list[bool]:
    _, *names = row
    right = []
    for order in ("0123", "1032", "2301", "3210"):
        a, b, c, d = (names[int(i)] for i in order)
        query = np.array(VECTORS[c]) + VECTORS[b] - np.array(VECTORS[a])
        rivals = [text for text in pool if not (excluding and text in (a, b, c))]
        cosine = {t: query @ np.array(VECTORS[t]) / np.linalg.norm(VECTORS[t]) for t in rivals}
        right.append(max(cosine, key=lambda text: cosine[text]) == d)
    return right


def test_accuracy_with_and_without_the_three_given_sentences() -> None:
    found = analogies(table(SIZE, PAST), lookup).set_index("category")
    pool = list(VECTORS)
    size, size_excluding = slow(SIZE, pool, False), slow(SIZE, pool, True)
    assert slow(PAST, pool, False) == [True] * 4
    assert sum(size) < sum(size_excluding)  # the common failure: C itself is the nearest
    assert found.index.tolist() == ["past", "size", ALL]
    assert found["questions"].tolist() == [4, 4, 8]
    assert found["accuracy"].tolist() == [1, sum(size) / 4, (4 + sum(size)) / 8]
    assert found["accuracy_excluding"].tolist() == [1, sum(size_excluding) / 4, (4 + sum(size_excluding)) / 8]


def test_other_candidates_can_be_nearer_and_a_tie_is_wrong() -> None:
    right = np.array([VECTORS["she sang"]], np.float32)
    for text, vector, accuracy in (
        ("far", -right, 1.0),
        ("she  sang", right, 1.0),  # the answer itself
        ("she sang!", 2 * right, 0.75),  # as near as the answer to the one question that it answers
    ):
        found = analogies(table(PAST), lookup, [([text], vector)]).iloc[-1]
        assert (found["accuracy"], found["accuracy_excluding"]) == (accuracy, accuracy)


def test_no_analogies() -> None:
    with pytest.raises(ValueError, match="there are no analogies"):
        analogies(table(), lookup)

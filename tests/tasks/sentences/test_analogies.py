import gzip
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

from contexture.tasks.missing import BenchmarkMissing
from contexture.tasks.sentences.analogies import ALL_CATEGORIES, build_questions, measure_analogies, read_analogies

LINE = "family\this son ate .\ther son ate .\this cat slept .\ther cat slept ."
#: A→B and C→D add the same vector.
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
PAST = ["past", "he walks", "he walked", "she sings", "she sang"]
SIZE = ["size", "big", "bigger", "small", "smaller"]


def test_a_line_becomes_a_row(tmp_path: Path) -> None:
    path = tmp_path / "tuples.tsv.gz"
    with pytest.raises(BenchmarkMissing, match=r"analogies is not here: looked for .*tuples\.tsv\.gz\. Name a file"):
        read_analogies(path)
    path.write_bytes(gzip.compress(f"{LINE}\r\ntense\ta\tb\tc \td\n".encode()))
    expected = make_table(LINE.split("\t"), ["tense", "a", "b", "c", "d"])
    pd.testing.assert_frame_equal(read_analogies(path), expected)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (f"{LINE}\nfamily\ta\tb\tc\n", "line 2: 4 of 4 fields hold text; a line must be a category and four"),
        (f"{LINE}\n{LINE}\te\n", "line 2: 6 of 6 fields"),
        (f"{LINE}\nfamily\ta\t \tc\td\n", "line 2: 4 of 5 fields"),
        (f"{LINE}\n\n{LINE}\n", "line 2: 0 of 1 fields"),
        ("", "has no rows"),
    ],
)
def test_errors_name_the_bad_line(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "tuples.tsv"
    path.write_text(content)
    with pytest.raises(ValueError, match=rf"tuples\.tsv.*{message}"):
        read_analogies(path)


def lookup(texts: Sequence[str]) -> NDArray[np.float32]:
    return np.array([VECTORS[text] for text in texts], np.float32)


def make_table(*rows: list[str]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["category", "a", "b", "c", "d"])


def test_each_sentence_is_the_answer_once() -> None:
    questions = build_questions(make_table(["x", "A", "B", "C", "D"], ["y", "E", "F", "G", "H"]))
    assert ["".join(row) for row in questions.itertuples(index=False)] == [
        "xABCD", "xBADC", "xCDAB", "xDCBA", "yEFGH", "yFEHG", "yGHEF", "yHGFE",
    ]  # fmt: skip


def is_right_by_loops(row: list[str], excluding: bool) -> list[bool]:
    right = []
    for order in ("1234", "2143", "3412", "4321"):
        a, b, c, d = (row[int(i)] for i in order)
        query = np.array(VECTORS[c]) + VECTORS[b] - np.array(VECTORS[a])
        rivals = [text for text in VECTORS if not (excluding and text in (a, b, c))]
        cosine = {t: query @ np.array(VECTORS[t]) / np.linalg.norm(VECTORS[t]) for t in rivals}
        right.append(max(cosine, key=lambda text: cosine[text]) == d)
    return right


def test_accuracy_with_and_without_the_three_premises() -> None:
    accuracies = measure_analogies(make_table(SIZE, PAST), lookup)
    size, size_excluding = sum(is_right_by_loops(SIZE, False)), sum(is_right_by_loops(SIZE, True))
    assert is_right_by_loops(PAST, False) == [True] * 4
    assert size < size_excluding  # the common failure: C itself is the nearest
    assert accuracies.to_numpy().tolist() == [
        ["past", 4, 1, 1],
        ["size", 4, size / 4, size_excluding / 4],
        [ALL_CATEGORIES, 8, (4 + size) / 8, (4 + size_excluding) / 8],
    ]


def test_other_candidates_can_be_nearer_and_a_tie_is_wrong() -> None:
    right = np.array([VECTORS["she sang"]], np.float32)
    for text, vector, accuracy in (
        ("far", -right, 1.0),
        ("she  sang", right, 1.0),  # the answer itself
        ("she sang!", 2 * right, 0.75),  # as near as the answer to the one question that it answers
    ):
        overall = measure_analogies(make_table(PAST), lookup, [([text], vector)]).iloc[-1]
        assert (overall["accuracy"], overall["accuracy_excluding"]) == (accuracy, accuracy)

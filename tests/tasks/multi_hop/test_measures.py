"""HotpotQA's scores, compared with values by hand."""

import pytest

from contexture.tasks.multi_hop.measures import (
    AnswerScores,
    combine_scores,
    normalise_answer,
    score_answer,
    score_facts,
)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("The  Beatles!", "beatles"),
        ("a U.S. state", "us state"),
        ("An apple, the pear and a fig", "apple pear and fig"),
        ("Theatre", "theatre"),
        ("...", ""),
    ],
)
def test_answers_are_normalised(answer: str, expected: str) -> None:
    assert normalise_answer(answer) == expected


@pytest.mark.parametrize(
    ("predicted", "gold", "expected"),
    [
        ("the Chief of Protocol", "Chief of Protocol", (1, 1, 1, 1)),
        # 2 of 4 predicted words are right, 2 of 3 gold words: F1 = 2 · 1/2 · 2/3 / (1/2 + 2/3) = 4/7.
        ("Chief of the old office", "chief of protocol", (0, 4 / 7, 1 / 2, 2 / 3)),
        ("new new york", "york new", (0, 4 / 5, 2 / 3, 1)),
        ("Paris", "London", (0, 0, 0, 0)),
        ("yes", "Yes.", (1, 1, 1, 1)),
        # Yes is never right in part.
        ("yes it is", "yes", (0, 0, 0, 0)),
        ("no", "no man", (0, 0, 0, 0)),
        ("", "York", (0, 0, 0, 0)),
    ],
)
def test_answers(predicted: str, gold: str, expected: tuple[float, ...]) -> None:
    assert score_answer(predicted, gold) == pytest.approx(expected)


def test_supporting_facts() -> None:
    gold = {("A", 0), ("B", 1)}
    assert score_facts(gold, gold) == (1, 1, 1, 1)
    assert score_facts({("A", 0), ("A", 1), ("B", 0)}, gold) == pytest.approx((0, 2 / 5, 1 / 3, 1 / 2))
    assert score_facts([], gold) == (0, 0, 0, 0)


def test_joint_measures_are_of_products() -> None:
    answer, support = AnswerScores(1, 1, 1, 1), score_facts({("A", 0)}, {("A", 0), ("B", 1)})
    assert combine_scores(answer, support) == pytest.approx((0, 2 / 3, 1, 1 / 2))
    part = score_answer("Chief of the old office", "chief of protocol")
    # Precision 1/2 · 1, recall 2/3 · 1/2.
    assert combine_scores(part, support) == pytest.approx((0, 2 / 5, 1 / 2, 1 / 3))
    assert combine_scores(part, AnswerScores(0, 0, 0, 0)) == (0, 0, 0, 0)

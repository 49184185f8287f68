"""Questions that a joint model answers and a pairwise one does not."""

from typing import Any

import pandas as pd
import pytest

from contexture.tasks.answer_selection.details import compare_joint_to_pairwise

LABELS = {"a": [0, 1, 0], "b": [1, 0, 0], "c": [0, 1, 0], "d": [0, 1, 0]}
#: Pairwise: a and c wrong, b right; d ties a right and a wrong candidate, which counts as wrong.
PAIRS = {"a": [3, 2, 1], "b": [3, 2, 1], "c": [3, 1, 2], "d": [2, 2, 1]}


def scores(variant: str, protocol: str, values: dict[str, list[int]], seed: int = 0) -> pd.DataFrame:
    rows = [
        (variant, seed, protocol, question, str(number), label, score)
        for question, numbers in values.items()
        for number, (label, score) in enumerate(zip(LABELS[question], numbers, strict=True))
    ]
    columns = ["variant", "seed", "protocol", "question_id", "candidate_id", "label", "score"]
    return pd.DataFrame(rows, columns=columns)


@pytest.fixture
def answers() -> pd.DataFrame:
    rows = [(q, str(n), f"{q}?", f"{q}{n}") for q in LABELS for n in range(3)]
    return pd.DataFrame(rows, columns=["question_id", "candidate_id", "question", "candidate"])


def test_by_hand(answers: pd.DataFrame) -> None:
    """`ours` gains a and d and loses b; `other` gains a."""
    ours = {"a": [2, 3, 1], "b": [1, 2, 3], "c": [3, 1, 2], "d": [1, 3, 2]}
    other = PAIRS | {"a": [2, 3, 1]}
    runs = [scores("pairwise", "grouped", PAIRS), scores("other", "reranked", other), scores("ours", "reranked", ours)]
    later = scores("other", "reranked", {question: [0, 1, 0] for question in LABELS}, seed=1)
    result: dict[str, Any] = compare_joint_to_pairwise(pd.concat([*runs, later]), answers)
    assert (result["variant"], result["count"], result["lost"]) == ("ours", 2, 1)
    assert [question["question"] for question in result["questions"]] == ["a?", "d?"]
    assert result["questions"][0]["candidates"] == [
        {"candidate": "a0", "right": False, "chosen": False},
        {"candidate": "a1", "right": True, "chosen": True},
        {"candidate": "a2", "right": False, "chosen": False},
    ]
    assert [row["candidate"] for row in result["questions"][1]["candidates"]] == ["d0", "d1", "d2"]


def test_row_order_and_further_pairwise_models_do_not_matter(answers: pd.DataFrame) -> None:
    tied = {"a": [1, 1, 1], "b": [3, 2, 1], "c": [1, 1, 1], "d": [1, 1, 1]}
    runs = [scores("pairwise", "grouped", tied), scores("ours", "reranked", PAIRS | {"a": [2, 3, 1]})]
    result = compare_joint_to_pairwise(pd.concat(runs), answers)
    assert [row["candidate"] for row in result["questions"][0]["candidates"]] == ["a0", "a2", "a1"]
    assert compare_joint_to_pairwise(pd.concat([run[::-1] for run in runs]), answers[::-1]) == result
    assert (
        compare_joint_to_pairwise(pd.concat([runs[0], scores("second", "grouped", PAIRS), runs[1]]), answers) == result
    )


def test_missing_joint_or_pairwise_models(answers: pd.DataFrame) -> None:
    for single_kind in (scores("pairwise", "grouped", PAIRS), scores("ours", "reranked", PAIRS)):
        assert compare_joint_to_pairwise(single_kind, answers) == {}
    same = pd.concat([scores("pairwise", "grouped", PAIRS), scores("ours", "reranked", PAIRS)])
    assert compare_joint_to_pairwise(same, answers) == {"variant": "ours", "count": 0, "lost": 0, "questions": []}

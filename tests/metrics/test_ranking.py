import json
from itertools import permutations
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score

from contexture.metrics.ranking import METRICS, mean_average_precision, question_metrics
from contexture.metrics.scores import to_records

RUN = {"variant": "mspp_ie", "seed": 0, "split": "test", "protocol": "grouped"}


def make_scores(questions: dict[str, list[tuple[float, int]]], **run: object) -> pd.DataFrame:
    rows = [
        {**RUN, **run, "question_id": q, "candidate_id": f"{q}-{i}", "label": label, "score": score}
        for q, candidates in questions.items()
        for i, (score, label) in enumerate(candidates)
    ]
    return pd.DataFrame(rows)


def measure(candidates: list[tuple[float, int]]) -> list[float]:
    result = question_metrics(make_scores({"Q1": candidates}))
    return [float(result[name].iloc[0]) for name in METRICS]


def worst_case(candidates: list[tuple[float, int]]) -> list[float]:
    """Return the worst P@1, AP and RR of all orders that the scores allow."""
    orders = []
    for order in permutations(candidates):
        scores = [score for score, _ in order]
        if scores == sorted(scores, reverse=True):
            ranks = [rank for rank, (_, label) in enumerate(order, 1) if label]
            precisions = [hits / rank for hits, rank in enumerate(ranks, 1)]
            orders.append([float(ranks[0] == 1), sum(precisions) / len(ranks), 1 / ranks[0]])
    return [min(values) for values in zip(*orders, strict=True)]


# Few different scores, for many ties; some negative, as logits.
candidate_lists = st.lists(
    st.tuples(st.sampled_from([-7.5, -1.0, 0.0, 0.25, 3.0]), st.integers(0, 1)), min_size=1, max_size=6
).filter(lambda candidates: any(label for _, label in candidates))


def test_hand_computed() -> None:
    # positives at ranks 2 and 3 of four: AP = (1/2 + 2/3) / 2
    assert measure([(0.9, 0), (0.8, 1), (0.7, 1), (0.1, 0)]) == pytest.approx([0, 7 / 12, 1 / 2])
    # positives at ranks 1 and 4: AP = (1 + 2/4) / 2
    assert measure([(-9.0, 1), (-2.0, 0), (-1.0, 1), (-3.0, 0)]) == pytest.approx([1, 3 / 4, 1])


def test_equal_scores_count_as_the_worst_order() -> None:
    # The positive is first in the input and ranks third of three.
    assert measure([(0.5, 1), (0.5, 0), (0.5, 0)]) == pytest.approx([0, 1 / 3, 1 / 3])
    assert measure([(0.5, 1), (0.5, 1)]) == pytest.approx([1, 1, 1])


@settings(max_examples=50, deadline=None)
@given(candidate_lists)
def test_metrics_are_those_of_the_worst_order(candidates: list[tuple[float, int]]) -> None:
    assert measure(candidates) == pytest.approx(worst_case(candidates), abs=1e-6)


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 40))
def test_agrees_with_scikit_learn_without_ties(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    scores, labels = rng.normal(size=n), rng.integers(0, 2, n)
    labels[rng.integers(n)] = 1
    assert measure(list(zip(scores, labels, strict=True)))[1] == pytest.approx(
        average_precision_score(labels, scores), abs=1e-6
    )


@given(st.dictionaries(st.sampled_from("ABCDE"), candidate_lists, min_size=1), st.randoms())
@settings(max_examples=20, deadline=None)
def test_row_order_and_rising_transforms_change_nothing(questions, random) -> None:
    scores = make_scores(questions)
    shuffled = scores.sample(frac=1, random_state=random.randrange(2**32))
    pd.testing.assert_frame_equal(question_metrics(shuffled), question_metrics(scores))
    rescaled = scores.assign(score=np.exp(scores["score"]) - 5)
    pd.testing.assert_frame_equal(question_metrics(rescaled), question_metrics(scores))
    expected = question_metrics(scores)["map"].mean()
    for index in (scores["question_id"], scores["question_id"].map(ord)):
        assert mean_average_precision(scores["score"], scores["label"], index) == pytest.approx(expected)


def test_runs_are_kept_apart_and_sorted() -> None:
    good, bad = [(1.0, 1), (0.0, 0)], [(0.0, 1), (1.0, 0)]
    scores = pd.concat(
        [
            make_scores({"Q2": good, "Q1": bad}, seed=1),
            make_scores({"Q1": good, "Q2": good}, seed=0),
            make_scores({"Q1": bad}, variant="joint_ie", split="dev"),
        ]
    )
    result = question_metrics(scores)
    assert list(result.columns) == ["variant", "seed", "split", "protocol", "question_id", *METRICS]
    assert result[["variant", "seed", "question_id", "p_at_1"]].to_numpy().tolist() == [
        ["joint_ie", 0, "Q1", 0.0],
        ["mspp_ie", 0, "Q1", 1.0],
        ["mspp_ie", 0, "Q2", 1.0],
        ["mspp_ie", 1, "Q1", 0.0],
        ["mspp_ie", 1, "Q2", 1.0],
    ]


def test_records_are_means_of_a_run() -> None:
    questions = {"Q1": [(1.0, 1), (0.0, 0)], "Q2": [(1.0, 0), (0.0, 1)]}
    scores = pd.concat([make_scores(questions, seed=3), make_scores({"Q1": [(1.0, 1)]}, seed=3, protocol="reranked")])
    records = to_records(question_metrics(scores), METRICS, "answer_selection", "wikiqa")
    common = {"variant": "mspp_ie", "seed": 3, "task": "answer_selection", "data": "wikiqa", "split": "test"}
    assert records == [
        {**common, "protocol": "grouped", "metric": "p_at_1", "value": 0.5, "examples": 2},
        {**common, "protocol": "grouped", "metric": "map", "value": 0.75, "examples": 2},
        {**common, "protocol": "grouped", "metric": "mrr", "value": 0.75, "examples": 2},
        *({**common, "protocol": "reranked", "metric": metric, "value": 1.0, "examples": 1} for metric in METRICS),
    ]
    json.dumps(records)  # no NumPy numbers
    empty = question_metrics(scores[:0])
    assert empty.columns.tolist() == [*RUN, "question_id", *METRICS] and empty.empty
    assert to_records(empty, METRICS, "answer_selection", "wikiqa") == []


@pytest.mark.parametrize("score", [float("nan"), float("inf"), -float("inf")])
def test_a_score_that_is_not_finite_names_variant_and_question(score: float) -> None:
    scores = make_scores({"Q1": [(1.0, 1)], "Q7": [(0.5, 1), (score, 0)]}, variant="joint_ae")
    with pytest.raises(ValueError, match=r"not finite.*variant=joint_ae.*question_id=Q7"):
        question_metrics(scores)
    with pytest.raises(ValueError, match=r"not finite.*question_id=7"):
        mean_average_precision(scores["score"], scores["label"], [1, 7, 7])


def test_a_question_without_a_positive_fails() -> None:
    scores = make_scores({"Q1": [(1.0, 1)], "Q7": [(0.5, 0), (0.1, 0)]})
    with pytest.raises(ValueError, match=r"without a positive.*variant=mspp_ie.*question_id=Q7"):
        question_metrics(scores)
    with pytest.raises(ValueError, match=r"without a positive.*question_id=7"):
        mean_average_precision(scores["score"], scores["label"], [1, 7, 7])


SCORES = make_scores({"Q1": [(1.0, 1), (0.0, 0)]})


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        (SCORES.drop(columns="label"), r"the columns \['label'\] are missing"),
        (SCORES.assign(label=2), "label other than 0 and 1"),
        (pd.concat([SCORES, SCORES[:1]]), r"scored twice.*candidate_id=Q1-0"),
        (SCORES.assign(question_id=None), "an empty key"),
    ],
)
def test_scores_that_cannot_be_ranked(scores: pd.DataFrame, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        question_metrics(scores)


@pytest.mark.parametrize(
    ("scores", "labels", "questions", "message"),
    [
        ([], [], [], "no candidates"),
        ([0.1, 0.2], [1, 0], [0], "same length"),
        ([0.1, 0.2], [1, -1], [0, 0], "label other than 0 and 1"),
    ],
)
def test_candidates_that_cannot_be_ranked(scores: list[float], labels: list[int], questions: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        mean_average_precision(scores, labels, questions)

"""Weights of fused searches and recommendations, by hand."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from contexture.retrieval.config import SearchDefaults, SearchMethod
from contexture.retrieval.top import Rows
from contexture.tasks.held_out.recommendation import (
    FROM_TEXT,
    PUBLISHED,
    choose_search,
    fuse_encoders,
    recommend_search,
    select_encoder,
    training_gains,
)


def means_table(values: dict[str, dict[str, list[float]]]) -> pd.DataFrame:
    """Return a table of means from kind → search → nDCG@10 of each question."""
    columns = ["variant", "kind", "query_id", "ndcg_at_10"]
    rows = [
        (variant, kind, f"{kind} {number}", value)
        for kind, searches in values.items()
        for variant, scores in searches.items()
        for number, value in enumerate(scores)
    ]
    return pd.DataFrame(rows, columns=columns)


def kind_scores(count: int, **searches: float) -> dict[str, list[float]]:
    """Return the same value for each question; "x_both" is x with BM25."""
    return {name.replace("_both", "+bm25"): [value] * count for name, value in searches.items()}


def test_generated_kinds_have_equal_weight_and_fused_searches_are_candidates() -> None:
    headings = kind_scores(30, bm25=0.2, a=0.1, a_both=0.3, b=0.2, b_both=0.2)
    links = kind_scores(10, bm25=0.4, a=0.9, a_both=0.5, b=0.5, b_both=0.4)
    result = recommend_search(means_table({"headings": headings, "links": links}), ["a", "b"], ())
    assert result["means"] == pytest.approx({"bm25": 0.3, "a": 0.5, "a+bm25": 0.4, "b": 0.35, "b+bm25": 0.3})
    assert (result["best"], result["take"], result["encoder"]) == ("a+bm25", "a+bm25", "a")
    assert result["basis"] == ["headings", "links"]
    assert result["expected"] == pytest.approx({"a+bm25": FROM_TEXT.gain_share * 0.1, "b+bm25": 0})
    assert result["gain"][0] == pytest.approx(0.1) and result["gain"][1] < 0.1 < result["gain"][2]


def test_gains_of_published_encoders_count_more() -> None:
    scores = kind_scores(30, bm25=0.2, a=0.5, a_both=0.5, b=0.2, b_both=0.3)
    table = means_table({"sentences": scores})
    assert recommend_search(table, ["a", "b"], ())["take"] == "a+bm25"
    assert recommend_search(table, ["a", "b"], {"b"})["take"] == "b+bm25"
    worse = means_table({"sentences": kind_scores(30, bm25=0.2, a=0.1, a_both=0.19)})
    result = recommend_search(worse, ["a"], {"a"})
    assert (result["take"], result["best"], result["encoder"]) == ("bm25", "bm25", "a")


@pytest.mark.parametrize(
    ("headings_count", "count", "best", "basis", "gain"),
    [(40, 20, "bm25", "questions", 0), (40, 19, "a+bm25", "headings", 0.4), (0, 3, "bm25", "questions", 0)],
)
def test_twenty_user_questions_determine_the_recommendation(
    headings_count: int, count: int, best: str, basis: str, gain: float
) -> None:
    headings = kind_scores(headings_count, bm25=0.1, a=0.9, a_both=0.5)
    questions = kind_scores(count, bm25=0.5, a=0.2, a_both=0.4)
    result = recommend_search(means_table({"headings": headings, "questions": questions}), ["a"], ())
    assert (result["take"], result["best"], result["basis"], result["encoder"]) == (best, best, [basis], "a")
    assert result["gain"] == pytest.approx([gain] * 3)


def test_few_questions_do_not_decide_alone() -> None:
    """Without generated questions, too: the page says that they are too few."""
    for count, take in ((1, "bm25"), (19, "bm25"), (20, "a")):
        questions = means_table({"questions": kind_scores(count, bm25=0.2, a=0.9, a_both=0.5)})
        result = recommend_search(questions, ["a"], ())
        assert (result["take"], result["best"], result["encoder"]) == (take, "a", "a")


UNSURE = {"bm25": [0.0, 0.8, 0.1, 0.7] * 5, "a": [0.8, 0.2, 0.8, 0.2] * 5}


@pytest.mark.parametrize(
    ("fused", "generated_gain", "take"),
    [(0.45, 0.1, "a+bm25"), (0.45, 0.0, "bm25"), (0.35, 0.1, "bm25")],  # BM25 has 0.4
)
def test_generated_questions_decide_where_the_users_do_not(fused: float, generated_gain: float, take: str) -> None:
    """Gains between −0.6 and 0.8 with mean 0.1 are not significant."""
    headings = kind_scores(40, bm25=0.1, a=0.2, a_both=0.1 + generated_gain)
    table = means_table({"headings": headings, "questions": UNSURE | {"a+bm25": [fused] * 20}})
    result = recommend_search(table, ["a"], ())
    assert (result["best"], result["take"], result["encoder"]) == ("a", take, "a")
    assert result["gain"][0] == pytest.approx(0.1) and result["gain"][1] <= 0 < result["gain"][2]


def test_a_significant_gain_on_the_users_questions_decides() -> None:
    sure = UNSURE | {"a": [value + 0.1 for value in UNSURE["bm25"]], "a+bm25": [0.0] * 20}
    headings = kind_scores(40, bm25=0.1, a=0.0, a_both=0.05)
    result = recommend_search(means_table({"headings": headings, "questions": sure}), ["a"], ())
    assert result["take"] == "a" and result["gain"] == pytest.approx([0.1] * 3)


@pytest.mark.parametrize(("untrained", "trained", "best"), [(0.6, 0.8, "x"), (0.8, 0.6, "x_none")])
def test_an_encoder_that_training_harmed_is_not_recommended(untrained: float, trained: float, best: str) -> None:
    values = {"bm25": 0.3, "x": trained, "x_both": trained - 0.1, "x_none": untrained, "x_none_both": untrained - 0.1}
    result = recommend_search(means_table({"headings": kind_scores(20, **values)}), ["x", "x_none"], ())
    assert (result["take"], result["encoder"]) == (f"{best}+bm25", best)


def test_training_gains_by_kind() -> None:
    values = {"bm25": [0.3] * 4, "x": [0.5, 0.7, 0.5, 0.7], "x_none": [0.4, 0.4, 0.4, 0.4]}
    table = means_table({"headings": values, "links": {name: [value[0]] * 8 for name, value in values.items()}})
    gains = training_gains(table, ["x", "x_none"])
    assert set(gains) == {"headings", "links"} and set(gains["headings"]) == {"x"}
    gain, low, high = gains["headings"]["x"]
    assert gain == pytest.approx(0.2) and 0.1 - 1e-9 < low < 0.2 < high < 0.3 + 1e-9
    assert gains["links"]["x"] == pytest.approx([0.1] * 3)
    both = table.assign(variant=table["variant"] + "+bm25")
    all_rows = pd.concat([table, both[both["variant"] != "bm25+bm25"]])
    gain, low, high = recommend_search(all_rows, ["x", "x_none"], ())["learned"]["x"]
    assert gain == pytest.approx(0.15) and low < 0.15 < high


def test_the_encoder_is_that_of_the_recommended_search_or_the_best() -> None:
    means = {"bm25": 0.9, "a": 0.5, "a+bm25": 0.6, "b": 0.1, "b+bm25": 0.7, "other": 0.8, "other+bm25": 0.8}
    assert select_encoder({"take": "a+bm25", "means": means}, ["a", "b"]) == "a"
    assert select_encoder({"take": "a", "means": means}, ["a", "b"]) == "a"
    assert select_encoder({"take": "bm25", "means": means}, ["a", "b"]) == "b"
    assert select_encoder({"take": "hub", "means": means}, ["a", "other"]) == "other"
    assert select_encoder({"take": "bm25", "means": means}, ["not measured", "a"]) == "a"


@pytest.mark.parametrize(
    ("take", "scores", "method"),
    [
        ("bm25", {"a": 0.5, "a+bm25": 0.6}, "bm25"),
        ("a+bm25", {"a": 0.5, "a+bm25": 0.6}, "hybrid"),
        ("a", {"a": 0.7, "a+bm25": 0.6}, "vectors"),
        ("a+bm25", {"a": 0.7, "a+bm25": 0.6}, "hybrid"),  # by questions that overestimate the encoder
        ("hub", {"a": 0.7, "a+bm25": 0.8}, "hybrid"),  # a published encoder that is not exported
    ],
)
def test_the_index_is_searched_as_recommended(take: str, scores: dict[str, float], method: SearchMethod) -> None:
    details = {"advice": {"take": take, "means": scores}, "weights": {"a": 0.3}}
    assert choose_search(details, "a") == SearchDefaults(method, 0.3)
    assert choose_search({}, "a") == SearchDefaults("bm25")  # nothing was measured


def is_first(rows: Rows) -> Any:
    """Return nDCG of 1 where row 2 is first, otherwise 0.5."""
    return np.where(rows[:, 0] == 2, 1.0, 0.5)


def two_rankings(*is_right: Any) -> Any:
    """Return rankings of rows 2 and 1, with row 2 first where it is right."""
    return (
        (np.tile(np.float32([1, 0]), (len(right), 1)), np.where(right[:, None], [2, 1], [1, 2])) for right in is_right
    )


@pytest.mark.parametrize(("published", "expected"), [(("a",), PUBLISHED), ((), FROM_TEXT)])
def test_a_weight_is_limited_and_chosen_by_other_questions(published: tuple[str, ...], expected: Any) -> None:
    """The encoder is right for even questions, BM25 for odd ones, of two generated kinds."""
    kinds = np.array(["links"] * 4 + ["headings"] * 4 + ["questions"] * 2)
    is_even = np.arange(10) % 2 == 0
    vectors, words = two_rankings(is_even, ~is_even)
    fused, weights = fuse_encoders({("a", 0): vectors, ("bm25", 0): words}, words, kinds, published, is_first)
    assert list(fused) == [("a+bm25", 0)] and weights == {"a": 0.1}  # all but 0.5 are right for half of each kind
    # Odd questions get the weight that is best for even ones, if it is allowed, and the other way round.
    first = fused["a+bm25", 0][1][:8, 0]
    assert first[1::2].tolist() == [1 if expected.max_weight > 0.5 else 2] * 4
    assert first[::2].tolist() == [1] * 4


@pytest.mark.parametrize(("published", "expected", "least"), [(("a",), PUBLISHED, 0.4), ((), FROM_TEXT, 0.1)])
def test_weights_are_limited_by_the_kind_of_questions(published: tuple[str, ...], expected: Any, least: float) -> None:
    """The encoder alone is right."""
    right, wrong = two_rankings(np.array([True] * 4), np.array([False] * 4))
    for kinds, limit in (
        (["halves"] * 4, expected.max_weight_by_halves),
        (["halves", "halves", "links", "links"], expected.max_weight),
        (["questions"] * 4, least),
    ):
        rankings = {("a", 0): right, ("bm25", 0): wrong}
        _, weights = fuse_encoders(rankings, wrong, np.array(kinds), published, is_first)
        assert weights == {"a": limit if limit < 0.5 or kinds[0] == "questions" else 0.6}

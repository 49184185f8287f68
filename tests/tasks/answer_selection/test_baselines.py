"""Baselines of answer selection."""

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contexture.metrics.ranking import question_metrics
from contexture.tasks.answer_selection.baselines import (
    compute_idf,
    score_by_file_order,
    score_by_word_overlap,
    score_randomly,
)
from tests.tasks.answer_selection import toys

ANSWERS = toys.make_answers()


def test_idf_counts_distinct_texts() -> None:
    idf = compute_idf(["The sea.", "the sky, the sky", "The sea.", "Ash"])
    assert idf == {"the": math.log(3 / 2), "sea": math.log(3), "sky": math.log(3), "ash": math.log(3)}


def test_word_overlap_sums_idf_of_shared_words() -> None:
    answers = pd.DataFrame(
        {
            "question": ["How deep is the sea?"] * 3 + ["the the"],
            "candidate": ["The sea is deep, deep.", "THE SKY", "Ash", "the sky"],
        }
    )
    idf = {"the": 0.5, "sea": 2.0, "deep": 4.0, "sky": 8.0}
    assert score_by_word_overlap(answers, idf).tolist() == [6.5, 0.5, 0.0, 0.5]


def test_file_order_prefers_early_candidates() -> None:
    assert score_by_file_order(pd.DataFrame({"position": [0, 1, 0]})).tolist() == [0, -1, 0]


@settings(max_examples=20, deadline=None)  # the cores may be shared
@given(st.integers(0, 99), st.integers(0, 2**32 - 1))
def test_random_order_depends_on_seed_and_ids_alone(seed: int, shuffle: int) -> None:
    scores = score_randomly(ANSWERS, seed)
    order = np.random.default_rng(shuffle).permutation(len(ANSWERS))
    assert (score_randomly(ANSWERS.iloc[order], seed) == scores[order]).all()
    assert not np.array_equal(score_randomly(ANSWERS, seed + 1), scores)
    assert len(set(scores)) == len(scores) and 0 <= scores.min() <= scores.max() < 1


def test_random_order_is_even() -> None:
    scores = np.concatenate([score_randomly(ANSWERS, seed) for seed in range(20)])
    assert abs(scores.mean() - 0.5) < 0.02 and abs(scores.var() - 1 / 12) < 0.01


def test_wikiqa(shared_data: Path, tmp_path: Path) -> None:
    """The WikiQA paper reports 51.0 for weighted word counts, on slightly different questions."""
    answers = toys.read_set("wikiqa", shared_data / "answer_selection" / "wikiqa", tmp_path / "wikiqa")
    test = answers[answers["split"] == "test"].reset_index(drop=True)
    scores = {
        "overlap": score_by_word_overlap(test, compute_idf(answers["candidate"])),
        "file": score_by_file_order(test),
    }
    run = {"seed": 0, "protocol": "frozen"}
    maps = {
        name: question_metrics(test.assign(variant=name, score=score, **run))["map"].mean()
        for name, score in scores.items()
    }
    assert maps == pytest.approx({"overlap": 0.547, "file": 0.633}, abs=0.001)

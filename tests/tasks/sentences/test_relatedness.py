from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scipy.optimize
from numpy.typing import NDArray
from scipy.stats import pearsonr

from contexture.tasks.sentences.probe_protocols import SENTEVAL
from contexture.tasks.sentences.relatedness import (
    RelatednessResult,
    correlation,
    expected_scores,
    measure_relatedness,
    score_distributions,
)
from contexture.tasks.sentences.tables import RelatednessTask

LEVELS = np.arange(1.0, 6.0)


def vectors(texts: list[str]) -> NDArray[np.float32]:
    """Return the two numbers in each text."""
    return np.array([text.split() for text in texts], np.float32)


def make_task() -> RelatednessTask:
    rng = np.random.default_rng(0)
    u, v = rng.standard_normal((2, 90, 2)).round(2)
    score = np.clip(4.5 - np.abs(u - v).sum(1) + rng.normal(0, 0.4, 90), 1, 5).round(1)
    texts = [[f"{a} {b}" for a, b in side] for side in (u, v)]
    split = ["train"] * 50 + ["dev"] * 20 + ["test"] * 20
    table = {"split": split, "text": texts[0], "text2": texts[1], "score": score}
    return RelatednessTask("elms", 1, 5, pd.DataFrame(table))


def fit_by_scipy(x: NDArray[np.float64], scores: NDArray[np.float64], strength: float) -> NDArray[np.float64]:
    """Return the softmax's weights and, in the last row, intercepts."""
    targets = np.array([[max(0.0, 1 - abs(score - level)) for level in LEVELS] for score in scores])

    def objective(w: NDArray[np.float64]) -> float:
        columns = w.reshape(-1, 5)
        logits = x @ columns[:-1] + columns[-1]
        losses = np.log(np.exp(logits).sum(1)) - (targets * logits).sum(1)
        return float(0.5 * (columns[:-1] ** 2).sum() + strength * losses.sum())

    best = scipy.optimize.minimize(objective, np.zeros((x.shape[1] + 1) * 5), method="BFGS", options={"gtol": 1e-4})
    weights: NDArray[np.float64] = best.x.reshape(-1, 5)
    return weights


def test_equals_a_slow_minimisation_for_each_strength() -> None:
    elms = make_task()
    u, v = (vectors(elms.table[column].tolist()).astype(np.float64) for column in ("text", "text2"))
    x, scores = np.hstack([np.abs(u - v), u * v]), elms.table["score"].to_numpy()
    predictions = []
    for strength in SENTEVAL.nested:
        w = fit_by_scipy(x[:50], scores[:50], strength)
        masses = np.exp(x @ w[:-1] + w[-1])
        predictions.append(masses @ LEVELS / masses.sum(1))
    by_dev = [pearsonr(predicted[50:70], scores[50:70]).statistic for predicted in predictions]
    best = int(np.argmax(by_dev))
    result = measure_relatedness(elms, vectors, SENTEVAL)
    assert result.chosen == (SENTEVAL.nested[best],)
    assert result.validation == pytest.approx(by_dev[best], abs=1e-4)
    assert result.scores.tolist() == scores[70:].tolist()
    np.testing.assert_allclose(expected_scores(result.log_probabilities, LEVELS), predictions[best][70:], atol=5e-3)
    ranks = [pd.Series(numbers).rank() for numbers in (predictions[best][70:], scores[70:])]
    assert result.metrics == {
        "pearson": pytest.approx(pearsonr(predictions[best][70:], scores[70:]).statistic, abs=1e-3),
        "spearman": pytest.approx(np.corrcoef(*ranks)[0, 1], abs=1e-2),
        "mse": pytest.approx(np.mean((predictions[best][70:] - scores[70:]) ** 2), abs=5e-3),
    }


def test_targets_and_predictions_by_hand() -> None:
    targets = score_distributions(np.array([1.0, 3.7, 5.0]), LEVELS)
    np.testing.assert_allclose(targets, [[1, 0, 0, 0, 0], [0, 0, 0.3, 0.7, 0], [0, 0, 0, 0, 1]], atol=1e-12)
    log_probs = np.log(np.array([[0.1, 0.3], [0.2, 0.2]], np.float32))  # as of an ensemble: not normalised
    np.testing.assert_allclose(expected_scores(log_probs, np.array([1.0, 2.0])), [1.75, 1.5], rtol=1e-6)
    result = RelatednessResult("elms", (), 0.0, np.array([2.0, 1.0]), np.array([1.0, 2.0]), log_probs)
    assert result.metrics == pytest.approx({"pearson": 1, "spearman": 1, "mse": (0.25**2 + 0.5**2) / 2}, rel=1e-6)
    assert correlation(pearsonr, np.ones(3), np.arange(3.0)) == 0


def test_errors_name_the_task() -> None:
    table = make_task().table
    for changed, message in (
        (table.assign(score=5.5 - np.arange(90) / 90), "elms: the score 5.5 is not between 1 and 5"),
        (table[table["split"] != "dev"], "elms: the part dev has 0 rows"),
        (table.assign(score=[np.nan, *table["score"][1:]]), "elms: the score nan is not"),
    ):
        with pytest.raises(ValueError, match=message):
            measure_relatedness(replace(make_task(), table=changed), vectors, SENTEVAL)

from dataclasses import replace

import numpy as np
import pytest

from contexture.tasks.sentences.ensemble import ensemble, relatedness_ensemble
from contexture.tasks.sentences.probe import ProbeResult
from contexture.tasks.sentences.relatedness import RelatednessResult


def probed(first: list[float], validation: float) -> ProbeResult:
    """A probe of three pairs of class 1, 0, 0 and its probabilities of class 0."""
    log_probs = np.log(np.array([[p, 1 - p] for p in first], np.float32))
    labels, rows, folds = np.array([1, 0, 0]), np.array([4, 2, 9]), np.zeros(3, np.int64)
    metrics = {"accuracy": -1.0, "f1": -1.0}
    return ProbeResult("mrpc", "senteval", metrics, (1.0,), validation, rows, folds, labels, log_probs)


def test_log_probabilities_weighted_by_validation_scores() -> None:
    one, other = probed([0.4, 0.9, 0.1], 0.6), probed([0.9, 0.5, 0.6], 0.2)  # weights 3/4 and 1/4
    found = ensemble([one, other])
    expected = 0.75 * np.log([[0.4, 0.6], [0.9, 0.1], [0.1, 0.9]]) + 0.25 * np.log([[0.9, 0.1], [0.5, 0.5], [0.6, 0.4]])
    np.testing.assert_allclose(found.log_probabilities, expected, rtol=1e-5)
    # Predicted: 0.49 against 0.38 → 0, 0, 1; labels 1, 0, 0.
    assert found.metrics == {"accuracy": pytest.approx(1 / 3), "f1": 0}
    assert found.validation == pytest.approx(0.5)
    assert found.chosen == ()
    assert ensemble([one]).metrics == {"accuracy": pytest.approx(2 / 3), "f1": pytest.approx(2 / 3)}
    assert ensemble([one, replace(other, validation=-0.5)]).metrics == ensemble([one]).metrics


def test_degrees() -> None:
    levels = np.array([1.0, 2.0])
    rows, scores = np.array([0, 1]), np.array([1.0, 2.0])
    parts = [np.log(np.array(p, np.float32)) for p in ([[0.8, 0.2], [0.5, 0.5]], [[0.2, 0.8], [0.1, 0.9]])]
    one, other = (
        RelatednessResult("sick_r", "senteval", {}, (1.0,), validation, rows, scores, levels, part)
        for validation, part in zip((0.3, 0.3), parts, strict=True)
    )
    found = relatedness_ensemble([one, other])
    # The geometric means, normalised, give class 2 the masses 1/2 and 3/4: degrees 1.5 and 1.75.
    assert found.metrics == pytest.approx({"pearson": 1, "spearman": 1, "mse": (0.25 + 0.0625) / 2}, rel=1e-5)


def test_models_that_do_not_belong_together_are_refused() -> None:
    one = probed([0.4, 0.9, 0.1], 0.6)
    with pytest.raises(ValueError, match="needs a model"):
        ensemble([])
    with pytest.raises(ValueError, match=r"mrpc \(senteval, 3 rows\) and trec"):
        ensemble([one, replace(one, task="trec")])
    with pytest.raises(ValueError, match="the same rows"):
        ensemble([one, replace(one, rows=np.array([4, 2, 8]))])
    with pytest.raises(ValueError, match="the same folds"):
        ensemble([one, replace(one, folds=np.array([0, 0, 1]))])
    with pytest.raises(ValueError, match="no model of the ensemble has a validation score above 0"):
        ensemble([replace(one, validation=0.0)])

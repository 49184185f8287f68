from dataclasses import replace

import numpy as np
import pytest

from contexture.tasks.sentences.evaluation import average_results
from contexture.tasks.sentences.probe import ProbeResult
from contexture.tasks.sentences.relatedness import RelatednessResult


def make_result(first: list[float], validation: float) -> ProbeResult:
    """Return a probe of three pairs with classes 1, 0, 0 and these probabilities of class 0."""
    log_probs = np.log(np.array([[p, 1 - p] for p in first], np.float32))
    return ProbeResult("mrpc", (1.0,), validation, np.zeros(3, np.int64), np.array([1, 0, 0]), log_probs, has_f1=True)


def test_log_probabilities_weighted_by_validation_scores() -> None:
    first, second = make_result([0.4, 0.9, 0.1], 0.6), make_result([0.9, 0.5, 0.6], 0.2)  # weights 3/4 and 1/4
    average = average_results([first, second])
    expected = 0.75 * np.log([[0.4, 0.6], [0.9, 0.1], [0.1, 0.9]]) + 0.25 * np.log([[0.9, 0.1], [0.5, 0.5], [0.6, 0.4]])
    np.testing.assert_allclose(average.log_probabilities, expected, rtol=1e-5)
    # Predicted: 0.49 against 0.38 → 0, 0, 1; labels 1, 0, 0.
    assert average.metrics == {"accuracy": pytest.approx(1 / 3), "f1": 0}
    assert (average.validation, average.chosen) == (pytest.approx(0.5), ())
    assert average_results([first]).metrics == {"accuracy": pytest.approx(2 / 3), "f1": pytest.approx(2 / 3)}
    assert average_results([first, replace(second, validation=-0.5)]).metrics == average_results([first]).metrics
    with pytest.raises(ValueError, match="mrpc: no model of the ensemble has a validation score above 0"):
        average_results([replace(first, validation=0.0)])


def test_relatedness_by_hand() -> None:
    scores = levels = np.array([1.0, 2.0])
    first, second = (
        RelatednessResult("sick_r", (1.0,), 0.3, scores, levels, np.log(np.array(probabilities, np.float32)))
        for probabilities in ([[0.8, 0.2], [0.5, 0.5]], [[0.2, 0.8], [0.1, 0.9]])
    )
    # The geometric means, normalised, give class 2 the masses 1/2 and 3/4: degrees 1.5 and 1.75.
    expected = {"pearson": 1, "spearman": 1, "mse": (0.25 + 0.0625) / 2}
    assert average_results([first, second]).metrics == pytest.approx(expected, rel=1e-5)

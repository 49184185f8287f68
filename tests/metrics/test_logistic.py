import logging

import numpy as np
import pytest
import scipy.optimize
import torch
from sklearn.linear_model import LogisticRegression
from torch import Tensor

from contexture.metrics import logistic
from contexture.metrics.logistic import Design, fit, fit_path, log_probabilities

#: Options with which scikit-learn finds the minimum.
EXACT = {"tol": 1e-10, "max_iter": 20_000}


def examples(rows: int, features: int, classes: int, dtype: torch.dtype = torch.float64) -> tuple[Tensor, Tensor]:
    """Return correlated features with different scales and means, and labels that depend on them."""
    rng = np.random.default_rng(rows + features + classes)
    x = rng.standard_normal((rows, features)) @ rng.standard_normal((features, features))
    x = x * rng.uniform(0.01, 3, features) / features + rng.uniform(-2, 2, features)
    scores = (x - x.mean(0)) @ rng.standard_normal((features, classes)) * 3 + rng.gumbel(size=(rows, classes))
    return torch.from_numpy(x).to(dtype), torch.from_numpy(scores.argmax(1))


def one_hot(labels: Tensor, classes: int) -> Tensor:
    return torch.nn.functional.one_hot(labels, classes).double()


def fit_sklearn(x: Tensor, y: Tensor, weights: Tensor, strength: float) -> LogisticRegression:
    inside = weights > 0
    model = LogisticRegression(C=strength, **EXACT)
    return model.fit(x[inside].double().numpy(), y[inside].numpy(), weights[inside].double().numpy())


def coefficients(design: Design, parameters: Tensor) -> tuple[Tensor, Tensor]:
    """Return weights [columns, K, D] and intercepts for the features before the rotation."""
    weights = parameters[..., :-1] @ design.rotation.T
    return weights, parameters[..., -1] - weights @ design.mean


@pytest.mark.parametrize("classes", [2, 3, 6])
def test_problems_solved_together_equal_separate_fits(classes: int) -> None:
    x, y = examples(240, 7, classes)
    rng = np.random.default_rng(0)
    weights = torch.from_numpy(rng.integers(0, 3, (5, 240)).astype(np.float64))  # a third of the rows has weight 0
    strengths = torch.tensor([1e-4, 0.25, 1.0, 32.0, 1e4])
    design = Design.from_features(x)
    parameters = fit(design, one_hot(y, classes), weights, strengths, tolerance=1e-15)
    probabilities = log_probabilities(design.coordinates, parameters).exp()
    slopes, intercepts = coefficients(design, parameters)
    for k, strength in enumerate(strengths.tolist()):
        model = fit_sklearn(x, y, weights[k], strength)
        np.testing.assert_allclose(probabilities[k], model.predict_proba(x.numpy()), atol=2e-5)
        np.testing.assert_allclose(slopes[:, k], model.coef_, rtol=1e-3, atol=1e-4)
        # A constant added to all intercepts does not change a softmax.
        shift = (intercepts[:, k] - torch.from_numpy(model.intercept_)).numpy()
        np.testing.assert_allclose(shift - (shift.mean() if classes > 2 else 0), 0, atol=1e-2)


@pytest.mark.parametrize("strength", [0.25, 256.0])
def test_float32_is_enough_for_probabilities(strength: float) -> None:
    x, y = examples(400, 30, 3, torch.float32)
    design = Design.from_features(x)
    ones = torch.ones(1, 400)
    parameters = fit(design, one_hot(y, 3), ones, torch.tensor([strength]))
    assert parameters.dtype == torch.float32
    probabilities = log_probabilities(design.project(x), parameters)[0].exp().numpy()
    expected = fit_sklearn(x, y, ones[0], strength).predict_proba(x.double().numpy())
    np.testing.assert_allclose(probabilities, expected, atol=3e-3)


@pytest.mark.parametrize("classes", [2, 3])
def test_fewer_rows_than_features(classes: int) -> None:
    x, y = examples(40, 100, classes)
    design = Design.from_features(x)
    assert design.rotation.shape == (100, 39)  # the centred rows span one direction less than there are rows
    ones = torch.ones(1, 40)
    parameters = fit(design, one_hot(y, classes), ones, torch.tensor([2.0]), tolerance=1e-14)
    unseen = examples(60, 100, classes)[0]
    expected = fit_sklearn(x, y, ones[0], 2.0).predict_proba(unseen.numpy())
    np.testing.assert_allclose(log_probabilities(design.project(unseen), parameters)[0].exp(), expected, atol=1e-4)


def test_equal_features() -> None:
    design = Design.from_features(torch.full((8, 30), 3.0))
    targets = one_hot(torch.tensor([0, 0, 1, 1, 1, 1, 1, 1]), 2)
    parameters = fit(design, targets, torch.ones(1, 8), torch.tensor([1.0]))
    probabilities = log_probabilities(design.coordinates, parameters)
    np.testing.assert_allclose(probabilities[0].exp(), np.tile([0.25, 0.75], (8, 1)), atol=1e-3)


@pytest.mark.parametrize("classes", [2, 4])
def test_soft_targets_equal_a_slow_minimisation(classes: int) -> None:
    x, _ = examples(50, 3, classes)
    targets = torch.from_numpy(np.random.default_rng(1).dirichlet(np.ones(classes), 50))
    weights = torch.from_numpy(np.random.default_rng(2).uniform(0, 2, (1, 50)))
    design = Design.from_features(x)
    solution = log_probabilities(
        design.coordinates, fit(design, targets, weights, torch.tensor([3.0]), tolerance=1e-15)
    ).exp()[0]

    def probabilities(w: np.ndarray) -> np.ndarray:
        columns = w.reshape(4, -1)
        logits = x.numpy() @ columns[:3] + columns[3]
        logits = np.hstack([np.zeros((50, 1)), logits]) if classes == 2 else logits
        return np.exp(logits) / np.exp(logits).sum(1, keepdims=True)

    def objective(w: np.ndarray) -> float:
        losses = -(targets.numpy() * np.log(probabilities(w))).sum(1)
        return float(0.5 * (w.reshape(4, -1)[:3] ** 2).sum() + 3 * (weights[0].numpy() * losses).sum())

    start = np.zeros(4 * (1 if classes == 2 else classes))
    best = scipy.optimize.minimize(objective, start, method="BFGS", options={"gtol": 1e-6})
    np.testing.assert_allclose(solution, probabilities(best.x), atol=1e-5)


def test_blocks_and_warm_starts_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = examples(120, 5, 3)
    weights = torch.from_numpy(np.random.default_rng(3).integers(0, 2, (7, 120)))
    design, targets = Design.from_features(x), one_hot(y, 3)
    together = fit(design, targets, weights, torch.full((7,), 4.0), tolerance=1e-14)
    *_, last = fit_path(design, targets, weights, [0.5, 1.0, 2.0, 4.0])
    monkeypatch.setattr(logistic, "_MAX_LOGITS", 120 * 3 * 2)  # two problems at once
    blocks = fit(design, targets, weights, torch.full((7,), 4.0), tolerance=1e-14)
    rows = design.coordinates
    expected = log_probabilities(rows, together).exp()
    np.testing.assert_allclose(log_probabilities(rows, blocks).exp(), expected, atol=1e-6)
    np.testing.assert_allclose(log_probabilities(rows, last).exp(), expected, atol=1e-3)


def test_few_steps_for_every_strength(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    x, y = examples(600, 40, 2)
    design, targets = Design.from_features(x), one_hot(y, 2)
    monkeypatch.setattr(logistic, "_MAX_ITERATIONS", 40)
    with caplog.at_level(logging.WARNING):
        fit(design, targets, torch.ones(5, 600), 4.0 ** torch.arange(-3, 7, 2))
        assert not caplog.records
        monkeypatch.setattr(logistic, "_MAX_ITERATIONS", 1)
        fit(design, targets, torch.ones(1, 600), torch.ones(1))
    assert "1 of 1 logistic regressions stopped after 1 steps" in caplog.text


def test_invalid_problems_fail() -> None:
    design, targets = Design.from_features(torch.eye(3)), one_hot(torch.tensor([0, 1, 1]), 2)
    ones = torch.ones(1)
    with pytest.raises(ValueError, match="finite"):
        Design.from_features(torch.tensor([[1.0], [torch.nan]]))
    with pytest.raises(ValueError, match="there must be rows"):
        Design.from_features(torch.ones(0, 2))
    with pytest.raises(ValueError, match=r"expected \[N, classes\]"):
        fit(design, targets, torch.ones(3, 1), ones)
    with pytest.raises(ValueError, match="two classes or more"):
        fit(design, targets[:, :1], torch.ones(1, 3), ones)
    with pytest.raises(ValueError, match="strength above 0"):
        fit(design, targets, torch.ones(1, 3), 0 * ones)
    with pytest.raises(ValueError, match="a row with a weight"):
        fit(design, targets, torch.zeros(1, 3), ones)

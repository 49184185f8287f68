"""Solve many logistic regressions on one matrix of features together, as for a probe's folds and strengths.

Each of K problems has weights of rows and a strength C, and minimises ½‖w‖² + C · Σ weight · log-loss, without a
penalty on the intercept, as scikit-learn's `LogisticRegression`. Two classes have one column of parameters (a sigmoid),
more classes have one each (a softmax). Targets are distributions over the classes.

L-BFGS runs for all problems at once, with a history and step size for each: an iteration is two large matrix products
for any K. Iterations are few because

- features are rotated once into the eigenbasis of their scatter, in which every problem's Hessian is about diagonal;
  L-BFGS starts from its inverse;
- logits are linear in the parameters, so the line search needs no further matrix product;
- a problem may start from the solution of a similar one (`start`), and is removed when it is solved.
"""

import logging
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

_log = logging.getLogger(__name__)

#: Pairs of steps and gradient changes in the history of L-BFGS.
_NUM_HISTORY_PAIRS = 10
_MAX_ITERATIONS = 300
#: Rows that are rotated at once.
_BATCH_ROWS = 4096
#: Logits of problems that are solved together: 256 MiB in float32.
_MAX_LOGITS = 2**26
#: Solved problems are removed once they are this share, because that copies the others.
_MIN_SOLVED_SHARE = 0.2


@dataclass(frozen=True, eq=False)
class Design:
    """Features of N rows in the R directions of their scatter's eigenbasis, and a column of ones."""

    coordinates: Tensor
    """[N, R + 1] in the precision of the features; the last column is 1."""
    variances: Tensor
    """[R + 1] mean square of each column."""
    mean: Tensor
    """[D] mean of the features."""
    rotation: Tensor
    """[D, R] with orthonormal columns."""

    @classmethod
    def from_features(cls, features: Tensor) -> "Design":
        """Return the design of features [N, D], float32 or float64, rotated into their eigenbasis.

        Raises ValueError without rows or if a number is not finite.
        """
        if not len(features) or not torch.isfinite(features).all():
            raise ValueError(
                f"features of shape {tuple(features.shape)}: there must be rows, and all numbers must be finite"
            )
        mean = features.mean(0)
        rotation = _row_space(features - mean) if 2 * len(features) < features.shape[1] else _eigenbasis(features, mean)
        coordinates = _rotate(features, mean, rotation)
        return cls(coordinates, coordinates.square().mean(0), mean, rotation)

    def project(self, features: Tensor) -> Tensor:
        """Return the coordinates [M, R + 1] of other rows of features [M, D] in this design."""
        return _rotate(features, self.mean, self.rotation)


def _eigenbasis(features: Tensor, mean: Tensor) -> Tensor:
    """Return the eigenvectors [D, D] of the scatter of features around their mean."""
    scatter = features.new_zeros(features.shape[1], features.shape[1])
    for rows in torch.split(features, _BATCH_ROWS):
        centred = rows - mean
        scatter.addmm_(centred.T, centred)
    basis: Tensor = torch.linalg.eigh(scatter).eigenvectors
    return basis


def _row_space(centred: Tensor) -> Tensor:
    """Return orthonormal directions [D, R] that few centred rows [N, D] span; other directions have parameters 0."""
    wide = centred.double()
    squares, left = torch.linalg.eigh(wide @ wide.T)
    spanned = squares > 1e-12 * squares[-1].clamp_min(1e-300)
    rotation: Tensor = wide.T @ (left[:, spanned] / squares[spanned].sqrt())
    return rotation.to(centred.dtype)


def _rotate(features: Tensor, mean: Tensor, rotation: Tensor) -> Tensor:
    """Return the centred features in the directions of `rotation`, with a last column of ones: [N, R + 1]."""
    coordinates = features.new_ones(len(features), rotation.shape[1] + 1)
    for rows, out in zip(torch.split(features, _BATCH_ROWS), torch.split(coordinates, _BATCH_ROWS), strict=True):
        out[:, :-1] = (rows - mean) @ rotation
    return coordinates


def log_probabilities(coordinates: Tensor, parameters: Tensor) -> Tensor:
    """Return log-probabilities [K, N, classes] of N rows by K solutions `parameters` of `fit`."""
    logits = _logits(coordinates, parameters)
    if len(logits) == 1:
        return torch.nn.functional.logsigmoid(torch.cat([-logits, logits])).permute(1, 2, 0)
    return logits.log_softmax(0).permute(1, 2, 0)


def fit(
    design: Design,
    targets: Tensor,
    weights: Tensor,
    strengths: Tensor,
    start: Tensor | None = None,
    tolerance: float = 1e-8,
) -> Tensor:
    """Fit K weighted logistic regressions on the same features and return their parameters.

    Args:
        targets: [N, classes] probabilities; a label is a 1 in its column.
        weights: [K, N] weights of rows in each problem, of any dtype; 0 excludes a row.
        strengths: [K] C of each problem, above 0.
        start: [columns, K, R + 1] initial parameters; default zeros.
        tolerance: estimated distance of the objective from its minimum, in log-loss per unit of weight.

    Returns:
        [columns, K, R + 1] parameters of the design's columns, the intercept last: one column for two classes (the
        log-odds of the second), otherwise one per class.

    Raises:
        ValueError: for inconsistent shapes, fewer than two classes, a problem without rows, or a strength of 0 or less.
    """
    _check_problems(design, targets, weights, strengths)
    shape = (1 if targets.shape[1] == 2 else targets.shape[1], len(strengths), design.coordinates.shape[1])
    solution = design.coordinates.new_zeros(shape) if start is None else start.clone()
    block_size = max(1, _MAX_LOGITS // (len(targets) * shape[0]))
    unsolved = 0
    for block in torch.split(torch.arange(len(strengths), device=solution.device), block_size):
        solver = _Solver(design, targets, weights[block], strengths[block], solution[:, block], tolerance)
        unsolved += solver.run()
        solution[:, block] = solver.solution
    if unsolved:
        _log.warning("%d of %d logistic regressions stopped after %d steps", unsolved, len(strengths), _MAX_ITERATIONS)
    return solution


def fit_path(design: Design, targets: Tensor, weights: Tensor, strengths: Sequence[float]) -> Iterator[Tensor]:
    """Fit K regressions for each of the ascending strengths; yield the parameters as `fit` for each strength.

    Solutions are about linear in log C, so each search starts from the extrapolation of the previous two.
    """
    previous: list[tuple[float, Tensor]] = []
    for strength in strengths:
        position = math.log(strength)
        start = previous[-1][1] if previous else None
        if len(previous) == 2:
            (first, far), (last, near) = previous
            start = near + (position - last) / (last - first) * (near - far)
        solution = fit(design, targets, weights, torch.full((len(weights),), strength, device=weights.device), start)
        previous = [*previous[-1:], (position, solution)]
        yield solution


def _check_problems(design: Design, targets: Tensor, weights: Tensor, strengths: Tensor) -> None:
    """Raise ValueError for the arguments that `fit` rejects."""
    rows = len(design.coordinates)
    if targets.ndim != 2 or len(targets) != rows or weights.shape != (len(strengths), rows):
        raise ValueError(
            f"{rows} rows of features, targets of shape {tuple(targets.shape)}, weights of shape "
            f"{tuple(weights.shape)} and {len(strengths)} strengths: expected [N, classes], [K, N] and [K]"
        )
    if targets.shape[1] < 2:
        raise ValueError("a logistic regression needs two classes or more")
    if not bool((strengths > 0).all()) or not bool((weights.sum(1) > 0).all()):
        raise ValueError("every problem needs a strength above 0 and a row with a weight above 0")


def _logits(coordinates: Tensor, parameters: Tensor) -> Tensor:
    """Return logits [columns, K, N] of N rows by K problems' parameters."""
    return (parameters.flatten(0, 1) @ coordinates.T).view(*parameters.shape[:2], -1)


def _probabilities(logits: Tensor) -> Tensor:
    """Return probabilities [columns, K, N] of each class, or of the second of two classes."""
    return logits.sigmoid() if len(logits) == 1 else logits.softmax(0)


def _dot(left: Tensor, right: Tensor) -> Tensor:
    """Return the inner product [K, 1] of each problem's parameters [columns, K, R + 1]."""
    return (left * right).sum((0, 2))[:, None]


class _Solver:
    """Solves a block of problems; K counts those that are not yet solved."""

    def __init__(
        self, design: Design, targets: Tensor, weights: Tensor, strengths: Tensor, start: Tensor, tolerance: float
    ) -> None:
        x = self.x = design.coordinates
        self.targets = targets.to(x).T[-start.shape[0] :, None]
        self.solution = start
        self.active = torch.arange(start.shape[1], device=x.device)
        self.weights = weights.to(x) * strengths.to(x)[:, None]
        total = self.weights.sum(1, keepdim=True)
        # Twice the accepted distance to the minimum, as estimated by steps.
        self.max_decrement = 2 * tolerance * total
        self.penalty = x.new_ones(x.shape[1])
        self.penalty[-1] = 0
        self.w = start.clone()
        self.logits = _logits(x, start)
        self.p = _probabilities(self.logits)
        self.g = self._gradient(self.w, self.p)
        # The diagonal of the Hessian is estimated from the mean curvature of the log-loss at the start.
        curvature = (self.p * (1 - self.p) * self.weights).sum((0, 2))[:, None] / max(1, len(start) - 1)
        curvature = curvature.maximum(1e-6 * total)
        self.inverse = 1 / (self.penalty + curvature * design.variances).clamp_min(1e-12)
        self.scale = torch.ones_like(total)
        self.pairs: list[tuple[Tensor, Tensor, Tensor]] = []

    def run(self) -> int:
        """Iterate until all problems are solved and return the number of unsolved ones."""
        for _ in range(_MAX_ITERATIONS):
            direction = self._search_direction()
            slope = _dot(self.g, direction)
            solved = (-slope <= self.max_decrement).flatten()
            if bool(solved.all()):
                break
            if float(solved.float().mean()) > _MIN_SOLVED_SHARE:
                self._remove_solved(~solved)
                direction, slope = direction[:, ~solved], slope[~solved]
            self._move_along(direction, slope)
        else:
            solved = torch.zeros(len(self.active), dtype=torch.bool)
        self.solution[:, self.active] = self.w
        return int((~solved).sum())

    def _residuals(self, p: Tensor) -> Tensor:
        """Return the weighted differences [columns, K, N] of probabilities and targets."""
        return (p - self.targets).mul_(self.weights)

    def _gradient(self, w: Tensor, p: Tensor) -> Tensor:
        """Return the gradients [columns, K, R + 1] at parameters `w` with probabilities `p`."""
        return w * self.penalty + (self._residuals(p).flatten(0, 1) @ self.x).view_as(w)

    def _search_direction(self) -> Tensor:
        """Return each problem's search direction by the two loops of L-BFGS, from the scaled diagonal."""
        direction = -self.g
        shares = []
        for step, change, curvature in reversed(self.pairs):
            shares.append(curvature * _dot(step, direction))
            direction = torch.addcmul(direction, change, shares[-1], value=-1)
        direction = direction * self.inverse * self.scale
        for (step, change, curvature), share in zip(self.pairs, reversed(shares), strict=True):
            direction = torch.addcmul(direction, step, share - curvature * _dot(change, direction))
        return direction

    def _move_along(self, direction: Tensor, slope: Tensor) -> None:
        """Move to about the lowest point along the direction and record the change of the gradient."""
        change = _logits(self.x, direction)
        pull = _dot(self.w * self.penalty, direction)
        norm = _dot(direction * self.penalty, direction)
        length = -slope / (norm + self._curvature(change)).clamp_min(1e-30)
        for _ in range(20):
            p = _probabilities(torch.addcmul(self.logits, change, length))
            ahead = pull + length * norm + _dot(self._residuals(p), change)
            # The function is convex along the line: it rises only after its lowest point.
            over = ahead > -0.5 * slope
            if not bool(over.any()):
                break
            length = torch.where(over, length * slope / (slope - ahead), length)
        self.logits.addcmul_(change, length)
        step = length * direction
        w = self.w + step
        g = self._gradient(w, p)
        self._update_history(step, g - self.g)
        self.w, self.p, self.g = w, p, g

    def _curvature(self, change: Tensor) -> Tensor:
        """Return the second derivative [K, 1] of the summed log-loss along a change of the logits."""
        drawn = self.p * change
        if len(change) == 1:
            spread = (drawn * change * (1 - self.p))[0]
        else:
            spread = (drawn * change).sum(0) - drawn.sum(0).square()
        return (spread * self.weights).sum(1, keepdim=True)

    def _update_history(self, step: Tensor, change: Tensor) -> None:
        """Add a step and its change of the gradient to the history of L-BFGS, and update its scale."""
        product = _dot(step, change)
        usable = product > 0  # ignore a pair of tiny steps that is not convex due to rounding
        inverse = torch.where(usable, 1 / product.clamp_min(1e-30), 0)
        length = _dot(change * self.inverse, change).clamp_min(1e-30)
        self.scale = torch.where(usable, product / length, self.scale)
        self.pairs = [*self.pairs[1 - _NUM_HISTORY_PAIRS :], (step, change, inverse)]

    def _remove_solved(self, staying: Tensor) -> None:
        """Store the solutions of solved problems and go on with the problems in the mask `staying`."""
        self.solution[:, self.active[~staying]] = self.w[:, ~staying]
        for name in ("active", "max_decrement", "scale", "weights", "inverse"):
            setattr(self, name, getattr(self, name)[staying])
        for name in ("w", "g", "logits", "p"):
            setattr(self, name, getattr(self, name)[:, staying])
        self.pairs = [(step[:, staying], change[:, staying], inverse[staying]) for step, change, inverse in self.pairs]

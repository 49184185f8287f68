"""Optimizers, compared with slow loops of the published algorithms."""

from typing import Any

import pytest
import torch

from contexture.training.config import OptimizerConfig
from contexture.training.module import ScheduledObjectives
from contexture.training.optimizers import build_optimizer
from tests.encoders.toys import build
from tests.training.runs import Training, assert_same
from tests.training.toys import system

RATE, DECAY, BETA1, BETA2, EPSILON = 0.05, 0.1, 0.9, 0.95, 1e-12


def run_lamb(weights: list[torch.Tensor], gradients: list[list[torch.Tensor]], corrected: bool) -> list[torch.Tensor]:
    """Run algorithm 2 of You et al. (2020) with φ the identity and decay of matrices only."""
    trained = []
    for number, start in enumerate(weights):
        x, m, v = start.clone(), torch.zeros_like(start), torch.zeros_like(start)
        for step, gradient in enumerate(gradients, start=1):
            m = BETA1 * m + (1 - BETA1) * gradient[number]
            v = BETA2 * v + (1 - BETA2) * gradient[number] ** 2
            by = (1 - BETA1**step, 1 - BETA2**step) if corrected else (1, 1)
            r = (m / by[0]) / ((v / by[1]).sqrt() + EPSILON) + (DECAY * x if x.ndim > 1 else 0)
            x = x - RATE * x.norm() / r.norm() * r
        trained.append(x)
    return trained


def run_optimizer(kind: str, weights: list[torch.Tensor], gradients: list[list[torch.Tensor]]) -> list[torch.Tensor]:
    parameters = [torch.nn.Parameter(weight.clone()) for weight in weights]
    config = OptimizerConfig(RATE, kind=kind, weight_decay=DECAY, beta2=BETA2, epsilon=EPSILON)  # type: ignore[arg-type]
    optimizer = build_optimizer(parameters, config)
    for step in gradients:
        for parameter, gradient in zip(parameters, step, strict=True):
            parameter.grad = gradient.clone()
        optimizer.step()
    return [parameter.detach() for parameter in parameters]


def draw_parameters() -> tuple[list[torch.Tensor], list[list[torch.Tensor]]]:
    """Return a matrix with a norm above the bound of LAMB's first version, a smaller one, and a vector."""
    draw = torch.Generator().manual_seed(0)
    shapes = ((40, 30), (3, 2), (5,))
    weights = [torch.randn(shape, generator=draw) for shape in shapes]
    assert weights[0].norm() > 10
    return weights, [[torch.randn(shape, generator=draw) for shape in shapes] for _ in range(5)]


def test_lamb_equals_the_paper_without_correction_of_moments() -> None:
    weights, gradients = draw_parameters()
    for parameter, expected in zip(
        run_optimizer("lamb", weights, gradients), run_lamb(weights, gradients, False), strict=True
    ):
        torch.testing.assert_close(parameter, expected, rtol=1e-4, atol=1e-6)
    # Without decay the correction cancels.
    last = run_optimizer("lamb", weights, gradients)[-1]
    torch.testing.assert_close(last, run_lamb(weights, gradients, True)[-1], rtol=1e-4, atol=1e-6)


def test_adamw_decays_only_matrices() -> None:
    weights, _ = draw_parameters()
    still = [[torch.zeros_like(weight) for weight in weights]]
    for weight, parameter in zip(weights, run_optimizer("adamw", weights, still), strict=True):
        torch.testing.assert_close(parameter, weight * (1 - RATE * DECAY) if weight.ndim > 1 else weight)


def test_a_killed_run_with_lamb_resumes_bit_for_bit(training: Training) -> None:
    config = system(optimizer={"learning_rate": 1e-2, "kind": "lamb", "epsilon": 1e-6})
    whole = training.train(config, "mlm", "whole")
    training.kill(config, "mlm", "again", 4)
    assert_same(whole, training.train(config, "mlm", "again"))


@pytest.mark.parametrize(
    ("schedule", "expected"), [("linear", [0, 0.5, 1, 0.75, 0.5, 0.25]), ("constant", [0, 0.5, 1, 1, 1, 1])]
)
@pytest.mark.parametrize("first_step", [0, 1, 4])
def test_learning_rates_of_six_steps(schedule: Any, expected: list[float], first_step: int) -> None:
    """Two steps up to the peak, then down to 0 or level; a resumed run goes on where it was."""
    config = OptimizerConfig(0.1, warmup_steps=2, schedule=schedule)
    module = ScheduledObjectives(
        build("bag_of_words"), {}, {}, {}, lambda _: {}, steps=6, optimizer=config, seed=0, first_step=first_step
    )
    made: Any = module.configure_optimizers()
    optimizer, scheduler = made["optimizer"], made["lr_scheduler"]["scheduler"]
    assert made["lr_scheduler"]["interval"] == "step"
    rates = []
    for _ in range(first_step, 6):
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        scheduler.step()
    assert rates == pytest.approx([0.1 * share for share in expected[first_step:]])

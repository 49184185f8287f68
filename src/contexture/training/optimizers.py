"""The optimizers that a run can have."""

from collections.abc import Iterable
from typing import Any

import torch
from torch import nn

from contexture.training.config import OptimizerConfig

#: Decay of the first moments.
BETA1 = 0.9


def build_optimizer(parameters: Iterable[nn.Parameter], config: OptimizerConfig) -> torch.optim.Optimizer:
    """AdamW or LAMB, with decay on matrices only.

    LAMB (You et al., 2020, algorithm 2): a step of each parameter, biases and layer norms included, is as long as its
    weights times the learning rate. This is the paper's third version, without the correction of moments that start at
    0, which changes only the length of steps, except for decay.
    """
    trained = list(parameters)
    groups: list[dict[str, Any]] = [
        {"params": [p for p in trained if p.ndim >= 2], "weight_decay": config.weight_decay},
        {"params": [p for p in trained if p.ndim < 2], "weight_decay": 0.0},
    ]
    betas = (BETA1, config.beta2)
    if config.kind == "adamw":
        return torch.optim.AdamW(groups, lr=config.learning_rate, betas=betas, eps=config.epsilon, fused=True)

    from pytorch_optimizer import Lamb  # takes seconds to load

    lamb: torch.optim.Optimizer = Lamb(
        groups,
        lr=config.learning_rate,
        betas=betas,
        eps=config.epsilon,
        weight_decouple=False,  # decay is part of the step whose length is set
        adam_debias=True,  # the name misleads: without it the rate itself is divided by that correction
        max_grad_norm=0.0,  # gradients are clipped elsewhere
    )
    lamb.clamp = float("inf")  # type: ignore[attr-defined]  # the first version's bound on the length of weights
    return lamb

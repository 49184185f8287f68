"""The optimizers that a run can have."""

from collections.abc import Iterable
from typing import Any

import torch
from torch import nn

from contexture.training.config import OptimizerConfig


def build_optimizer(parameters: Iterable[nn.Parameter], config: OptimizerConfig) -> torch.optim.Optimizer:
    """AdamW or LAMB, with decay on matrices only.

    LAMB (You et al., 2020, algorithm 2) is version 3's: without the correction for the moments' start, which cancels in
    the length of a step; a step is as long as the weights times the learning rate, whatever their length.
    """
    every = list(parameters)
    groups: list[dict[str, Any]] = [
        {"params": [p for p in every if p.ndim >= 2], "weight_decay": config.weight_decay},
        {"params": [p for p in every if p.ndim < 2], "weight_decay": 0.0},
    ]
    betas = (config.beta1, config.beta2)
    if config.kind == "adamw":
        return torch.optim.AdamW(groups, lr=config.learning_rate, betas=betas, eps=config.epsilon, fused=True)

    from pytorch_optimizer import Lamb  # takes seconds to load

    lamb: torch.optim.Optimizer = Lamb(
        groups,
        lr=config.learning_rate,
        betas=betas,
        eps=config.epsilon,
        weight_decouple=False,  # decay is part of the step whose length is set
        adam_debias=True,  # else the first steps are ten times as long as the learning rate says
        max_grad_norm=0.0,  # gradients are clipped elsewhere
    )
    lamb.clamp = float("inf")  # type: ignore[attr-defined]  # the first version's bound on the length of weights
    return lamb

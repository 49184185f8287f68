"""Optimizers of runs."""

from collections.abc import Iterable
from typing import Any

import torch
from torch import nn

from contexture.training.config import OptimizerConfig

#: Decay of the first moments.
BETA1 = 0.9


def build_optimizer(parameters: Iterable[nn.Parameter], config: OptimizerConfig) -> torch.optim.Optimizer:
    """Return an AdamW or LAMB optimizer of the parameters; weight decay applies to matrices only.

    LAMB (You et al., 2020, algorithm 2, third version): each parameter's step, also of biases and layer norms, is as
    long as its weights times the learning rate. Moments are not corrected.
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
        weight_decouple=False,  # decay is part of the step before its length is set
        adam_debias=True,  # without it the learning rate is divided by the correction
        max_grad_norm=0.0,  # gradients are clipped elsewhere
    )
    lamb.clamp = float("inf")  # type: ignore[attr-defined]  # the bound on the norm of weights in the first version
    return lamb

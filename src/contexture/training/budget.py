"""Budgets → steps: what a step costs is told by the first batches of a run."""

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import torch

from contexture.encoders.layout import row_lengths
from contexture.training.config import Budget, PretrainRun, Stage
from contexture.training.prepare import Prepared

#: Batches whose mean cost is that of a step.
TRIED = 8


def resolved(recipe: PretrainRun, stream_of: Mapping[str, str], prepared: Prepared) -> PretrainRun:
    """The same schedule with the number of steps in place of budgets.

    In FLOPs and tokens it is a function of the examples and the seed alone; in seconds the first batches are timed.
    """
    stages = [
        stage if stage.budget is None else _stage(stage, stage.budget, stream_of, prepared) for stage in recipe.schedule
    ]
    return replace(recipe, schedule=stages)


def cost(batch: Mapping[str, Any], weights: Mapping[str, float], stream_of: Mapping[str, str], prepared: Any) -> Any:
    """Tokens that are read, and forward and backward FLOPs, of one pass over `{stream: batch}`: two tensors."""
    tokens = flops = torch.zeros((), dtype=torch.float64)
    for part in batch.values():
        tokens = tokens + row_lengths(part).sum().cpu()
        flops = flops + torch.as_tensor(prepared.encoder.flops(part)).cpu()
    for name in weights:
        if stream_of[name] in batch:
            flops = flops + torch.as_tensor(prepared.objectives[name].flops(batch[stream_of[name]])).cpu()
    return tokens, flops


def _stage(stage: Stage, budget: Budget, stream_of: Mapping[str, str], prepared: Prepared) -> Stage:
    names = list(dict.fromkeys(stream_of[name] for name in stage.weights))
    batches = [
        {name: prepared.streams[name].batch(step, part) for name in names if part == 0 or prepared.streams[name].splits}
        for step in range(TRIED)
        for part in range(prepared.passes)
    ]
    if budget.unit == "seconds":
        spent = _seconds(batches, stage, stream_of, prepared)
    else:
        costs = [cost(batch, stage.weights, stream_of, prepared) for batch in batches]
        spent = float(sum(one[0 if budget.unit == "tokens" else 1] for one in costs))
    if not spent:
        raise ValueError(f"a step of {sorted(stage.weights)} costs no {budget.unit}: give it steps")
    return replace(stage, steps=max(1, round(budget.amount / (spent / TRIED))), budget=None)


def _seconds(batches: list[Any], stage: Stage, stream_of: Mapping[str, str], prepared: Prepared) -> float:
    """Seconds of forward and backward passes over the batches; the first ones warm up."""
    began = time.perf_counter()
    for place, batch in enumerate(batches):
        if place == len(batches) // 2:
            began = time.perf_counter()
        losses = []
        for name in stage.weights:
            if stream_of[name] in batch:
                part = prepared.objectives[name].corrupt(batch[stream_of[name]], torch.Generator().manual_seed(place))
                states = prepared.streams[stream_of[name]].encode(prepared.encoder, part)
                losses.append(prepared.objectives[name](prepared.encoder, states, part).value)
        torch.stack(losses).sum().backward()
    spent = 2 * (time.perf_counter() - began)
    for module in (prepared.encoder, *prepared.objectives.values()):
        module.zero_grad(set_to_none=True)
    return spent

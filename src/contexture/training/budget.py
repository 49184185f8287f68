"""Budgets → steps: the first batches of a run tell the cost of a step."""

import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from contexture.encoders.base import to_device
from contexture.encoders.layout import row_lengths
from contexture.training.config import Pretraining, PretrainRun, Stage
from contexture.training.precision import allow_tf32, synchronize
from contexture.training.prepare import Prepared
from contexture.training.ranks import decided

#: Steps whose mean cost is that of a step.
TRIED_STEPS = 8
#: The steps of each stage, once they are known.
STEPS_FILE = "steps.json"


def resolved(config: Pretraining, prepared: Prepared, folder: Path, rank: int = 0) -> PretrainRun:
    """The schedule of a run with the number of steps instead of budgets.

    In FLOPs and tokens, of all devices, it is a function of the examples and the seed alone; in seconds the first
    batches are timed. The first process decides, see `decided`: all must take the same steps.
    """
    schedule = config.recipe.schedule
    if all(stage.budget is None for stage in schedule):
        return config.recipe

    known = decided(folder / STEPS_FILE, rank, lambda: [_steps(config, prepared, n) for n in range(len(schedule))])
    stages = [replace(stage, steps=steps, budget=None) for stage, steps in zip(schedule, known, strict=True)]
    return replace(config.recipe, schedule=stages)


def cost(batch: Mapping[str, Any], weights: Mapping[str, float], stream_of: Mapping[str, str], prepared: Any) -> Any:
    """Tokens, and forward and backward FLOPs, of one pass over `{stream: batch}`: two tensors, left on their device."""
    tokens = flops = torch.zeros((), dtype=torch.float64)
    for stream, part in batch.items():
        tokens = tokens + row_lengths(part).sum()
        # Objectives that want uncorrupted input need a second encoding.
        encodings = {prepared.objectives[name].needs_clean_input for name in weights if stream_of[name] == stream}
        flops = flops + len(encodings) * prepared.encoder.flops(part)
    for name in weights:
        if stream_of[name] in batch:
            flops = flops + prepared.objectives[name].flops(batch[stream_of[name]])
    return tokens, flops


def _steps(config: Pretraining, prepared: Prepared, number: int) -> int | None:
    stage, streams = config.recipe.schedule[number], prepared.stages[number]
    budget = stage.budget
    if budget is None:
        return stage.steps
    ranks = max(stream.batching.ranks for stream in streams.values())
    batches = [
        {name: stream.batch(step, part, rank) for name, stream in streams.items() if part == 0 or stream.can_split}
        for step in range(TRIED_STEPS)
        for part in range(prepared.passes)
        for rank in range(1 if budget.unit == "seconds" else ranks)
    ]
    if budget.unit == "seconds":
        total = _seconds(batches, stage, config, prepared)
    else:
        costs = [cost(batch, stage.weights, config.stream_of, prepared) for batch in batches]
        total = float(sum(tokens if budget.unit == "tokens" else flops for tokens, flops in costs))
    if not total:
        raise ValueError(f"a step of {sorted(stage.weights)} costs no {budget.unit}: give it steps")
    return max(1, round(budget.amount / (total / TRIED_STEPS)))


def _seconds(batches: list[Any], stage: Stage, config: Pretraining, prepared: Prepared) -> float:
    """Seconds of forward and backward passes over the batches; the first ones warm up."""
    allow_tf32()
    stream_of, rounded = config.stream_of, config.settings.precision == "bf16"
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    modules = (prepared.encoder, *prepared.objectives.values())
    for module in modules:
        module.to(device)
    began = time.perf_counter()
    for number, batch in enumerate(to_device(batches, device)):
        if number == len(batches) // 2:
            synchronize(device)
            began = time.perf_counter()
        losses = []
        with torch.autocast(device.type, torch.bfloat16, enabled=rounded):
            for name in stage.weights:
                if stream_of[name] in batch:
                    generator = torch.Generator(device).manual_seed(number)
                    part = prepared.objectives[name].corrupt(batch[stream_of[name]], generator)
                    states = prepared.streams[stream_of[name]].encode(prepared.encoder, part)
                    losses.append(prepared.objectives[name](prepared.encoder, states, part).value)
        if losses:
            torch.stack(losses).sum().backward()  # type: ignore[no-untyped-call]
    synchronize(device)
    seconds = (time.perf_counter() - began) * len(batches) / (len(batches) - len(batches) // 2)
    for module in modules:
        module.zero_grad(set_to_none=True)
    return seconds

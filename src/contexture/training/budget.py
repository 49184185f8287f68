"""Convert budgets to steps by the cost of the first batches of a run."""

import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from contexture.encoders.base import to_device
from contexture.encoders.layout import row_lengths
from contexture.objectives.base import mark_read_positions
from contexture.training.config import Budget, Pretraining, PretrainRun, Stage
from contexture.training.precision import allow_tf32, synchronize
from contexture.training.prepare import PreparedRun
from contexture.training.ranks import decide_once
from contexture.training.rest import RestOfRun

#: Steps whose mean cost is measured.
NUM_TRIAL_STEPS = 8
#: A backward pass takes about twice the time of a forward pass.
PASSES_PER_STEP = 3
#: File with the number of steps of each stage, and the seconds that they should take if the budget is in minutes.
STEPS_FILE = "steps.json"
#: A training with a budget in minutes stops after this many times its seconds, if its steps take longer than measured.
MAX_OVERRUN = 1.05


def resolve_budgets(
    config: Pretraining, prepared: PreparedRun, folder: Path, rank: int = 0, rest: RestOfRun | None = None
) -> tuple[PretrainRun, float | None]:
    """Return the recipe of a run with numbers of steps instead of budgets, and the seconds of budgets in minutes.

    For FLOPs and tokens, of all devices, the steps depend only on the examples and the seed; for seconds and minutes
    the first batches are timed. The first process decides for all, see `decide_once`. Budgets in minutes need `rest`;
    without them, the seconds are None.
    """
    schedule = config.recipe.schedule
    if all(stage.budget is None for stage in schedule):
        return config.recipe, None

    counted = decide_once(
        folder / STEPS_FILE, rank, lambda: [_count_steps(config, prepared, n, rest) for n in range(len(schedule))]
    )
    stages = [replace(stage, steps=steps, budget=None) for stage, (steps, _) in zip(schedule, counted, strict=True)]
    seconds = [seconds for _, seconds in counted]
    return replace(config.recipe, schedule=stages), None if None in seconds else sum(seconds)


def measure_cost(
    batch: Mapping[str, Any], weights: Mapping[str, float], stream_by_objective: Mapping[str, str], prepared: Any
) -> Any:
    """Return tokens, and forward and backward FLOPs, of one pass over `{stream: batch}`: tensors on its device."""
    tokens = flops = torch.zeros((), dtype=torch.float64)
    for stream, part in batch.items():
        tokens = tokens + row_lengths(part).sum()
        # Objectives on uncorrupted input need a second encoding.
        encodings = {
            prepared.objectives[name].needs_clean_input for name in weights if stream_by_objective[name] == stream
        }
        flops = flops + len(encodings) * prepared.encoder.flops(part)
    for name in weights:
        if stream_by_objective[name] in batch:
            flops = flops + prepared.objectives[name].flops(batch[stream_by_objective[name]])
    return tokens, flops


def _count_steps(
    config: Pretraining, prepared: PreparedRun, number: int, rest: RestOfRun | None
) -> tuple[int | None, float | None]:
    """Return the number of steps of a stage, and their seconds if its budget is in minutes.

    A budget is divided by the mean cost of the first steps.
    """
    stage, streams = config.recipe.schedule[number], prepared.stages[number]
    budget = stage.budget
    if budget is None:
        return stage.steps, None
    ranks = max(stream.batching.ranks for stream in streams.values())
    batches = [
        {name: stream.batch(step, part, rank) for name, stream in streams.items() if part == 0 or stream.can_split}
        for step in range(NUM_TRIAL_STEPS)
        for part in range(prepared.passes)
        for rank in range(1 if is_timed(budget) else ranks)
    ]
    amount = budget.amount
    if is_timed(budget):
        total = _measure_seconds(batches, stage, config, prepared)
        if budget.unit == "minutes":
            if rest is None:
                raise ValueError("a budget in minutes needs kedro run on one device: set seconds instead")
            tokens = sum(int(row_lengths(part).sum()) for batch in batches for part in batch.values())
            amount = rest.seconds_left(amount, total / tokens / PASSES_PER_STEP, time.time())
    else:
        costs = [measure_cost(batch, stage.weights, config.stream_by_objective, prepared) for batch in batches]
        total = float(sum(tokens if budget.unit == "tokens" else flops for tokens, flops in costs))
    if not total:
        raise ValueError(f"a step of {sorted(stage.weights)} costs no {budget.unit}: set steps instead of a budget")
    return max(1, round(amount / (total / NUM_TRIAL_STEPS))), amount if budget.unit == "minutes" else None


def is_timed(budget: Budget) -> bool:
    """Return whether a budget is a time, so that its number of steps depends on the machine."""
    return budget.unit in ("seconds", "minutes")


def _measure_seconds(batches: list[Any], stage: Stage, config: Pretraining, prepared: PreparedRun) -> float:
    """Return the seconds of forward and backward passes over the batches, estimated from their second half."""
    allow_tf32()
    stream_by_objective, is_bf16 = config.stream_by_objective, config.settings.precision == "bf16"
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    modules = (prepared.encoder, *prepared.objectives.values())
    for module in modules:
        module.to(device)
    started = time.perf_counter()
    for number, batch in enumerate(to_device(batches, device)):
        if number == len(batches) // 2:
            synchronize(device)
            started = time.perf_counter()
        losses = []
        with torch.autocast(device.type, torch.bfloat16, enabled=is_bf16):
            for name in stage.weights:
                if stream_by_objective[name] in batch:
                    generator = torch.Generator(device).manual_seed(number)
                    part = prepared.objectives[name].corrupt(batch[stream_by_objective[name]], generator)
                    part = mark_read_positions(part, [prepared.objectives[name]])
                    states = prepared.streams[stream_by_objective[name]].encode(prepared.encoder, part)
                    losses.append(prepared.objectives[name](prepared.encoder, states, part).value)
        if losses:
            torch.stack(losses).sum().backward()  # type: ignore[no-untyped-call]
    synchronize(device)
    seconds = (time.perf_counter() - started) * len(batches) / (len(batches) - len(batches) // 2)
    for module in modules:
        module.zero_grad(set_to_none=True)
    return seconds

"""Convert budgets to steps by the cost of some batches of a run."""

import math
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import mean
from typing import Any

import torch

from contexture.encoders.base import to_device
from contexture.encoders.layout import row_lengths
from contexture.streams.base import Stream
from contexture.training.config import Budget, Pretraining, PretrainRun, Stage
from contexture.training.module import ScheduledObjectives, synchronize
from contexture.training.precision import choose_precision
from contexture.training.prepare import PreparedRun
from contexture.training.ranks import decide_once
from contexture.training.rest import RestOfRun

#: First steps whose mean cost is measured.
NUM_TRIAL_STEPS = 8
#: Steps at equal distances, whose mean cost corrects the estimate in FLOPs or tokens: consecutive batches of sentences
#: are often from one document.
NUM_SPREAD_STEPS = 32
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

    counted = decide_once(folder / STEPS_FILE, rank, lambda: _count_all_steps(config, prepared, folder, rest))
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


def _count_all_steps(
    config: Pretraining, prepared: PreparedRun, folder: Path, rest: RestOfRun | None
) -> list[tuple[int, float | None]]:
    """Return the number of steps of each stage, and their seconds if its budget is in minutes."""
    counted: list[tuple[int, float | None]] = []
    for number in range(len(config.recipe.schedule)):
        stage = _StageSteps(config, prepared, folder, number, first=sum(steps for steps, _ in counted))
        counted.append(stage.count(rest))
    return counted


@dataclass(frozen=True)
class _StageSteps:
    """The steps of a stage, whose cost is measured to count them."""

    config: Pretraining
    prepared: PreparedRun
    # Of the run.
    folder: Path
    # Of the stage in the schedule.
    number: int
    # The step that the stage begins with.
    first: int

    @property
    def stage(self) -> Stage:
        return self.config.recipe.schedule[self.number]

    def count(self, rest: RestOfRun | None) -> tuple[int, float | None]:
        """Return the number of steps, and their seconds if the budget is in minutes: budget / mean cost of a step."""
        budget = self.stage.budget
        if budget is None:
            assert self.stage.steps is not None
            return self.stage.steps, None
        return self._count_timed(budget, rest) if is_timed(budget) else (self._count_affordable(budget), None)

    def _count_timed(self, budget: Budget, rest: RestOfRun | None) -> tuple[int, float | None]:
        trial = range(self.first, self.first + NUM_TRIAL_STEPS)
        # Only the first process measures, before it can gather the rows of others.
        streams = {name: stream.on_one_device() for name, stream in self.prepared.stages[self.number].items()}
        batches, amount = _list_batches(streams, self.prepared.passes, trial, ranks=1), budget.amount
        total = _measure_seconds(batches, self.stage, self.config, self.prepared, self.folder)
        if budget.unit == "minutes":
            if rest is None:
                raise ValueError("a budget in minutes needs kedro run on one device: set seconds instead")
            tokens = sum(int(row_lengths(part).sum()) for batch in batches for part in batch.values())
            amount = rest.seconds_left(amount, total / tokens / PASSES_PER_STEP, time.time())
        steps = max(1, round(amount * NUM_TRIAL_STEPS / total))
        return steps, amount if budget.unit == "minutes" else None

    def _count_affordable(self, budget: Budget) -> int:
        """Return the number of steps for a budget of FLOPs or tokens, of all devices."""
        streams = self.prepared.stages[self.number]
        ranks = max(stream.batching.ranks for stream in streams.values())

        def measure(step: int) -> float:
            costs = [
                self._measure_cost(batch)
                for batch in _list_batches(streams, self.prepared.passes, [self.first + step], ranks)
            ]
            return float(sum(tokens if budget.unit == "tokens" else flops for tokens, flops in costs))

        steps = _count_paid(budget.amount, [measure(step) for step in range(NUM_TRIAL_STEPS)], 1)
        if not math.isfinite(steps):
            raise ValueError(
                f"a step of {sorted(self.stage.weights)} costs no {budget.unit}: set steps instead of a budget"
            )
        for _ in range(2):  # the first correction may change the length of the training
            distance = max(1, steps / NUM_SPREAD_STEPS)
            spread = [round(k * distance) for k in range(min(NUM_SPREAD_STEPS, math.ceil(steps)))]
            steps = _count_paid(budget.amount, [measure(step) for step in spread], distance)
        return max(1, round(steps))

    def _measure_cost(self, batch: Mapping[str, Any]) -> Any:
        return measure_cost(batch, self.stage.weights, self.config.stream_by_objective, self.prepared)


def _list_batches(streams: Mapping[str, Stream], passes: int, steps: Iterable[int], ranks: int) -> list[dict[str, Any]]:
    """Return the batches `{stream: batch}` of all forward passes of steps, on `ranks` devices."""
    return [
        {name: stream.batch(step, part, rank) for name, stream in streams.items() if part == 0 or stream.can_split}
        for step in steps
        for part in range(passes)
        for rank in range(ranks)
    ]


def _count_paid(amount: float, costs: Sequence[float], distance: float) -> float:
    """Return how many steps an amount pays. `costs` are those of steps at this distance; later ones cost their mean."""
    steps = 0.0
    for cost in costs:
        if amount < cost * distance:
            return steps + amount / cost
        amount -= cost * distance
        steps += distance
    return steps + amount / mean(costs) if any(costs) else math.inf


def is_timed(budget: Budget) -> bool:
    """Return whether a budget is a time, so that its number of steps depends on the machine."""
    return budget.unit in ("seconds", "minutes")


def _measure_seconds(
    batches: list[Any], stage: Stage, config: Pretraining, prepared: PreparedRun, folder: Path
) -> float:
    """Return the seconds of forward and backward passes over the batches, estimated from their second half."""
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    module = ScheduledObjectives(
        prepared.encoder,
        prepared.objectives,
        prepared.streams,
        config.stream_by_objective,
        lambda _: stage.weights,
        len(batches),
        config.settings.optimizer,
        seed=0,
    )
    is_bf16 = choose_precision(config.settings.precision, module, batches[0], folder) == "bf16-mixed"
    module.to(device).train()  # loaded encoders are in evaluation mode
    started = time.perf_counter()
    for number, batch in enumerate(to_device(batches, device)):
        if number == len(batches) // 2:
            synchronize(device)
            started = time.perf_counter()
        with torch.autocast(device.type, torch.bfloat16, enabled=is_bf16):
            losses = module.losses(batch, torch.Generator(device).manual_seed(number), stage.weights)
        if losses:
            torch.stack([loss.value for loss in losses.values()]).sum().backward()  # type: ignore[no-untyped-call]
    synchronize(device)
    seconds = (time.perf_counter() - started) * len(batches) / (len(batches) - len(batches) // 2)
    module.zero_grad(set_to_none=True)
    return seconds

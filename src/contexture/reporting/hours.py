"""The cost of saved results: trainings, FLOPs, hours, and arithmetic for a GPU."""

from collections.abc import Mapping

from contexture.reporting.saved_results import SavedResults, TrainingCost
from contexture.reporting.tables import NOTHING, Column, Table, columns
from contexture.reporting.training_tables import format_count

#: Assumed FLOPs per second of one GPU in bf16 while it trains.
GPU_RATE = 1e14
CAPTION = (
    "FLOPs: counted in training, of forward and backward passes without padding. Hours: durations of the pre-trainings "
    "together, without fine-tuning and evaluation; several may have run at once. A training of several variants counts "
    "once; a variant that joins or continues other trainings counts them again. A training that several files have is "
    "in the sum once. The last column is arithmetic, not a measurement: FLOPs divided by the rate in its head, which "
    "is assumed. Small models and small batches reach less."
)


def hours_table(results: Mapping[str, SavedResults]) -> Table:
    """Return a row for each file and system, and their sum: what was trained, for how long, and GPU time by FLOPs."""
    costs = {(name, system): cost for name, saved in results.items() for system, cost in saved.training_costs.items()}
    rows = [(*names, *_format_cost(cost)) for names, cost in costs.items()]
    if len(costs) > 1:
        trainings = (record for saved in results.values() for record in saved.trainings.values())
        rows.append(("all", NOTHING, *_format_cost(TrainingCost.add(trainings))))
    heads = ["Trainings", "FLOPs", "Hours", "FLOP/s", f"GPU time at {GPU_RATE / 1e12:g} TFLOP/s (bf16, assumed)"]
    return Table("Hours", (Column("Name"), Column("System"), *columns(numbers=heads)), tuple(rows), CAPTION)


def _format_cost(cost: TrainingCost) -> tuple[str, ...]:
    """Return the cells of a cost."""
    speed = format_count(cost.flops / cost.seconds) if cost.seconds else NOTHING
    hours = f"{cost.seconds / 3600:.1f}"
    return (str(cost.trainings), format_count(cost.flops), hours, speed, _format_seconds(cost.flops / GPU_RATE))


def _format_seconds(seconds: float) -> str:
    """Format a duration: "2.5 s", "3.0 min" or "1.5 h"."""
    for unit, size in (("h", 3600), ("min", 60)):
        if seconds >= size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.1f} s"

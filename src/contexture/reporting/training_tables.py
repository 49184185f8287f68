"""Table of the size, cost and speed of trainings."""

from collections.abc import Mapping

from contexture.reporting.names import label_variant
from contexture.reporting.tables import NOTHING, Table, columns, order_by_label, require_keys

KEYS = ("parameters", "steps", "tokens", "flops", "seconds", "tokens_per_second")


def trainings_table(
    trainings: Mapping[str, Mapping[str, float]],
    labels: Mapping[str, str],
    examples: str = "Examples",
    slow: str = "",
    remark: str = "",
) -> Table:
    """Return a table with the size, cost and speed of each run.

    Args:
        trainings: run → values of KEYS and, if counted, `examples`.
        labels: run → label, in order.
        examples: noun for an example.
        slow: the run that examples per second are compared with.
        remark: the caption.

    Raises:
        ValueError: if a training lacks a key.
    """
    base = examples_per_second(trainings, slow)
    rows = []
    for name in order_by_label(trainings, labels):
        parameters, steps, tokens, flops, seconds, speed = require_keys(
            f"the training of {name}", trainings[name], KEYS
        )
        rate = examples_per_second(trainings, name)
        cells = [
            f"{parameters:,.0f}",
            f"{steps:,.0f}",
            f"{tokens:,.0f}",
            format_count(flops),
            f"{seconds / 60:,.1f}",
        ]
        cells += [f"{speed:,.0f}", f"{rate:,.0f}" if rate else NOTHING]
        cells += [f"{rate / base:.1f}" if rate and base else NOTHING] if base else []
        rows.append((label_variant(name, labels), *cells))
    heads = ["Parameters", "Steps", "Tokens", "FLOPs", "Minutes", "Tokens per second", f"{examples} per second"]
    heads += [f"× {label_variant(slow, labels)}"] if base else []
    return Table("Training: size and speed", columns("Model", numbers=heads), tuple(rows), remark)


def examples_per_second(trainings: Mapping[str, Mapping[str, float]], run: str) -> float:
    """Return the training examples per second of a run; 0 if unknown."""
    training = trainings.get(run, {})
    return training["examples"] / training["seconds"] if training.get("examples") and training["seconds"] else 0.0


def format_count(count: float) -> str:
    """Return a large number in short: 1,200,000 → "1.2M"."""
    for unit, size in (("E", 1e18), ("P", 1e15), ("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if count >= size:
            return f"{count / size:.1f}{unit}"
    return f"{count:.0f}"

"""What training took, as a table."""

from collections.abc import Mapping

from contexture.reporting.tables import NOTHING, Table, columns, order_by_label, require_keys

KEYS = ("parameters", "steps", "tokens", "flops", "seconds", "tokens_per_second")


def trainings_table(
    trainings: Mapping[str, Mapping[str, float]],
    labels: Mapping[str, str],
    examples: str = "Examples",
    slow: str = "",
    remark: str = "",
) -> Table:
    """Size, cost and speed of every run.

    Args:
        trainings: by run, with the keys KEYS and, if they were counted, `examples`.
        labels: of runs, in their order.
        examples: what an example is.
        slow: the run whose examples a second all others' are compared with.
        remark: the caption.

    Raises:
        ValueError: naming the run and what it lacks.
    """
    base = examples_per_second(trainings, slow)
    rows = []
    for name in order_by_label(trainings, labels):
        parameters, steps, tokens, flops, seconds, speed = require_keys(
            f"the training of {name}", trainings[name], KEYS
        )
        rate = examples_per_second(trainings, name)
        cells = [f"{parameters:,.0f}", f"{steps:,.0f}", format_count(tokens), f"{flops:.2g}", f"{seconds / 60:,.1f}"]
        cells += [f"{speed:,.0f}", f"{rate:,.0f}" if rate else NOTHING]
        cells += [f"{rate / base:.1f}" if rate and base else NOTHING] if base else []
        rows.append((labels.get(name, name), *cells))
    heads = ["Parameters", "Steps", "Tokens", "FLOPs", "Minutes", "Tokens a second", f"{examples} a second"]
    heads += [f"times {labels.get(slow, slow)}"] if base else []
    return Table("Training: size and speed", columns("Model", numbers=heads), tuple(rows), remark)


def examples_per_second(trainings: Mapping[str, Mapping[str, float]], run: str) -> float:
    """How many examples a run read a second; 0 if that is not known."""
    training = trainings.get(run, {})
    return training["examples"] / training["seconds"] if training.get("examples") and training["seconds"] else 0.0


def format_count(count: float) -> str:
    """ "1.2M"."""
    for unit, size in (("B", 1e9), ("M", 1e6), ("k", 1e3)):
        if count >= size:
            return f"{count / size:.1f}{unit}"
    return f"{count:.0f}"

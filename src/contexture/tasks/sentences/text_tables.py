"""An evaluation of sentences as plain text, to be read beside published tables: percentages, but for MSE."""

from collections import Counter
from collections.abc import Mapping, Sequence

import pandas as pd

from contexture.tasks.sentences.evaluation import Evaluation

_METRICS = {"accuracy": "accuracy", "f1": "F1", "pearson": "Pearson", "spearman": "Spearman", "mse": "MSE"}
_KINDS = {"pearson": "Pearson", "spearman": "Spearman"}
_WAYS = {"mean": "mean", "weighted_mean": "weighted", "pooled": "pooled"}


def evaluation_text(evaluation: Evaluation) -> str:
    """The tables: probes, relatedness, similarity by all six aggregates, and similarity by subsets."""
    parts = []
    if evaluation.probes:
        metrics = {task: result.metrics for task, result in evaluation.probes.items()}
        parts.append(f"Probes ({evaluation.protocol})\n{_trained(metrics, ('accuracy', 'f1'), evaluation)}")
    if evaluation.relatedness:
        metrics = {task: result.metrics for task, result in evaluation.relatedness.items()}
        table = _trained(metrics, ("pearson", "spearman", "mse"), evaluation)
        parts.append(f"Relatedness ({evaluation.protocol})\n{table}")
    if evaluation.similarity:
        parts += [
            f"Similarity (cosine), by the way to make one figure of all subsets\n{_aggregates(evaluation)}",
            f"Similarity (cosine), by subset\n{_subsets(evaluation)}",
        ]
    return "\n\n".join(parts) + "\n"


def aligned(header: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> str:
    """Columns of text, the first `left` of them flush left, the others flush right."""
    table = [list(header), *map(list, rows)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if place < left else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in table
    )


def _trained(results: Mapping[str, Mapping[str, float]], metrics: Sequence[str], evaluation: Evaluation) -> str:
    chosen = evaluation.chosen()
    rows = [
        [task, *(_figure(metric, found.get(metric)) for metric in metrics), _strengths(chosen[task])]
        for task, found in results.items()
    ]
    return aligned(["task", *(_METRICS[metric] for metric in metrics), "chosen C"], rows)


def _aggregates(evaluation: Evaluation) -> str:
    header = ["task", "pairs", *(f"{kind} {way}" for kind in _KINDS.values() for way in _WAYS.values())]
    keys = [f"{kind}_{way}" for kind in _KINDS for way in _WAYS]
    rows = [
        [task, str(found.subsets["pairs"].sum()), *(_figure(key, found.aggregates[key]) for key in keys)]
        for task, found in evaluation.similarity.items()
    ]
    return aligned(header, rows)


def _subsets(evaluation: Evaluation) -> str:
    table = pd.concat(found.subsets.assign(task=task) for task, found in evaluation.similarity.items())
    rows = [
        [row["task"], str(row["subset"]), str(row["pairs"]), *(_figure(kind, row[kind]) for kind in _KINDS)]
        for row in table.to_dict("records")
    ]
    return aligned(["task", "subset", "pairs", *_KINDS.values()], rows, left=2)


def _figure(metric: str, value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:.4f}" if metric == "mse" else f"{100 * value:.2f}"


def _strengths(chosen: Sequence[float]) -> str:
    """`0.5 ×7, 1 ×3`: the strengths that the outer folds chose, and how many did."""
    counts = sorted(Counter(chosen).items())
    return ", ".join(f"{c:g}" if len(chosen) == 1 else f"{c:g} ×{count}" for c, count in counts)

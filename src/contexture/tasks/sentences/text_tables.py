"""Plain-text tables of an evaluation, in percent except for MSE."""

from collections import Counter
from collections.abc import Mapping, Sequence

from contexture.tasks.sentences.evaluation import Evaluation
from contexture.tasks.sentences.probe import ProbeResult
from contexture.tasks.sentences.relatedness import RelatednessResult

_METRICS = {"accuracy": "accuracy", "f1": "F1", "pearson": "Pearson", "spearman": "Spearman", "mse": "MSE"}
_KINDS = {"pearson": "Pearson", "spearman": "Spearman"}
_AGGREGATES = {"mean": "mean", "weighted_mean": "weighted", "pooled": "pooled"}
#: Left-aligned columns.
_LEFT_ALIGNED = ("task", "subset")


def format_evaluation(evaluation: Evaluation) -> str:
    """Return the results as text tables: probes, relatedness, similarity by aggregate, and similarity by subset."""
    similarity = evaluation.similarity
    aggregates = {f"{kind}_{key}": f"{name} {way}" for kind, name in _KINDS.items() for key, way in _AGGREGATES.items()}
    by_aggregate = [
        [task, str(result.subsets["pairs"].sum()), *(_format_value(key, result.aggregates[key]) for key in aggregates)]
        for task, result in similarity.items()
    ]
    by_subset = [
        [task, str(row["subset"]), str(row["pairs"]), *(_format_value(kind, row[kind]) for kind in _KINDS)]
        for task, result in similarity.items()
        for row in result.subsets.to_dict("records")
    ]
    tables = {
        f"Probes ({evaluation.protocol})": _format_results(evaluation.probes, ("accuracy", "f1")),
        f"Relatedness ({evaluation.protocol})": _format_results(evaluation.relatedness, ("pearson", "spearman", "mse")),
        "Similarity (cosine), by aggregation of the subsets": [
            ["task", "pairs", *aggregates.values()],
            *by_aggregate,
        ],
        "Similarity (cosine), by subset": [["task", "subset", "pairs", *_KINDS.values()], *by_subset],
    }
    return "\n\n".join(f"{title}\n{align_columns(rows)}" for title, rows in tables.items() if len(rows) > 1) + "\n"


def align_columns(rows: Sequence[Sequence[str]]) -> str:
    """Return rows, the first of which is the header, as text with aligned columns: names left, numbers right."""
    columns = []
    for header, *cells in zip(*rows, strict=True):
        width = max(map(len, (header, *cells)))
        columns.append(
            [cell.ljust(width) if header in _LEFT_ALIGNED else cell.rjust(width) for cell in (header, *cells)]
        )
    return "\n".join("  ".join(cells).rstrip() for cells in zip(*columns, strict=True))


def _format_results(results: Mapping[str, ProbeResult | RelatednessResult], metrics: Sequence[str]) -> list[list[str]]:
    """Return a header and a row for each task: its metrics and the chosen strengths C."""
    rows = [
        [
            task,
            *(_format_value(metric, result.metrics.get(metric)) for metric in metrics),
            _format_strengths(result.chosen),
        ]
        for task, result in results.items()
    ]
    return [["task", *(_METRICS[metric] for metric in metrics), "chosen C"], *rows]


def _format_value(metric: str, value: float | None) -> str:
    """Return a value as text: in percent, MSE as it is, and – for None."""
    if value is None:
        return "–"
    return f"{value:.4f}" if metric == "mse" else f"{100 * value:.2f}"


def _format_strengths(chosen: Sequence[float]) -> str:
    """Return chosen strengths with the number of outer folds that chose them, as `0.5 ×7, 1 ×3`."""
    counts = sorted(Counter(chosen).items())
    return ", ".join(f"{c:g}" if len(chosen) == 1 else f"{c:g} ×{count}" for c, count in counts)

"""Names, ranges and display of metrics. Those that only one task has are defined in that task's `TaskSpec`."""

import math
from dataclasses import dataclass

#: Depths of R@k that are reported.
RECALL_DEPTHS = (1, 5, 10, 20, 50, 100)
#: How the correlations of a task's subsets are combined: their mean, their mean weighted by number of pairs, or one
#: correlation of all pairs.
AGGREGATES = {"mean": "mean", "weighted_mean": "weighted mean", "pooled": "pooled"}
CORRELATIONS = {"pearson": "Pearson", "spearman": "Spearman"}


@dataclass(frozen=True)
class Metric:
    """What a metric is called, which values it can have and how they are shown."""

    label: str  # as the papers write it
    low: float = 0.0
    high: float = 1.0
    scale: float = 100  # shown times this: percent
    decimals: int = 1  # as many are shown
    lower_is_better: bool = False


def correlation(label: str) -> Metric:
    """A correlation coefficient."""
    return Metric(label, low=-1.0, scale=1, decimals=3)


#: Metrics of several tasks, in the order of the columns.
METRICS = {
    "p_at_1": Metric("P@1"),
    "map": Metric("MAP"),
    "mrr": Metric("MRR"),
    "ndcg_at_10": Metric("nDCG@10"),
    **{f"recall_at_{k}": Metric(f"R@{k}") for k in RECALL_DEPTHS},
    "accuracy": Metric("accuracy"),
    "precision": Metric("precision"),
    "recall": Metric("recall"),
    "f1": Metric("F1"),
    "mse": Metric("MSE", high=math.inf, scale=1, decimals=3, lower_is_better=True),
    **{kind: correlation(name) for kind, name in CORRELATIONS.items()},
}

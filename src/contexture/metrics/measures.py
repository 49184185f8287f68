"""Names, ranges and display of metrics; those of only one task are in its `TaskSpec`."""

import math
from dataclasses import dataclass

#: Reported depths k of R@k.
RECALL_DEPTHS = (1, 5, 10, 20, 50, 100)
#: Ways to combine correlations of a task's subsets: mean, mean weighted by number of pairs, or one correlation of all
#: pairs.
AGGREGATES = {"mean": "mean", "weighted_mean": "weighted mean", "pooled": "pooled"}
CORRELATIONS = {"pearson": "Pearson", "spearman": "Spearman"}


@dataclass(frozen=True)
class Metric:
    """Label, range and display of a metric."""

    label: str  # as in the papers
    low: float = 0.0
    high: float = 1.0
    scale: float = 100  # displayed values are multiplied by it: percent
    decimals: int = 1
    lower_is_better: bool = False


def correlation_metric(label: str) -> Metric:
    """Return the `Metric` of a correlation coefficient: its label, range −1 to 1, and three decimals."""
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
    **{kind: correlation_metric(name) for kind, name in CORRELATIONS.items()},
}

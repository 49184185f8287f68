"""Nodes of the stage `evaluate`."""

from pathlib import Path
from typing import Any

import pandas as pd

from contexture.evaluation.ranking import average, question_metrics
from contexture.pipelines.examples.nodes import parameters_of

SPLITS = ("dev", "test")
#: The task's name in the records, by protocol.
TASKS = {"grouped": "wikiqa", "reranked": "wikiqa_rerank"}
SCORES = ["variant", "seed", "split", "protocol", "question_id", "candidate_id", "label", "score"]


def score_all_seeds(
    variant: str, answers: pd.DataFrame, models: Path, system: dict[str, Any], pairwise: pd.DataFrame | None = None
) -> pd.DataFrame:
    """Scores of every candidate of the development and test questions, for every seed.

    With the scores of the pairwise model, its top k are also ordered anew, each seed those of the same seed.
    """
    from contexture.evaluation.answer_selection import score_model

    tables = [pd.DataFrame(columns=SCORES)]
    for seed in range(parameters_of(system).seeds if not answers.empty else 0):
        for split in SPLITS:
            part = answers[answers["split"] == split].reset_index(drop=True)
            first = None
            if pairwise is not None:
                chosen = (pairwise["seed"] == seed) & (pairwise["split"] == split)
                first = pairwise.loc[chosen, "score"].to_numpy()
            scores = score_model(models / f"seed-{seed}", part, first)
            tables.append(scores.assign(variant=variant, seed=seed, split=split)[SCORES])
    return pd.concat(tables[1:] or tables, ignore_index=True)


def measure(*scores: pd.DataFrame) -> pd.DataFrame:
    """P@1, average precision and reciprocal rank of every question under every variant and seed."""
    return question_metrics(pd.concat(scores, ignore_index=True))


def records(system: str, measured: pd.DataFrame) -> list[dict[str, Any]]:
    """The means over questions, one record per variant, seed, split, protocol and metric."""
    found = []
    for protocol, part in measured.groupby("protocol"):
        found += average(part, system, TASKS[str(protocol)])
    return found


def log_metrics(metrics: list[dict[str, Any]]) -> None:
    """Send the means over seeds of the test metrics to the MLflow run."""
    import mlflow

    if mlflow.active_run() is None or not metrics:
        return
    test = pd.DataFrame(metrics).query("split == 'test'")
    means = test.groupby(["task", "variant", "metric"], as_index=False)["value"].mean()
    mlflow.log_metrics({f"{row.task}/{row.variant}/{row.metric}": float(row.value) for row in means.itertuples()})

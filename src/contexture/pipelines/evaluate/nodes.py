"""Nodes of the stage `evaluate`."""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from contexture.metrics.ranking import average, question_metrics
from contexture.pipelines.examples.nodes import parameters_of

SPLITS = ("dev", "test")
#: The task's name in the records, by protocol.
TASKS = {"grouped": "wikiqa", "reranked": "wikiqa_rerank"}
IDS = ["question_id", "candidate_id"]
SCORES = ["variant", "seed", "split", "protocol", "question_id", "candidate_id", "label", "score"]


def score_all_seeds(
    variant: str, answers: pd.DataFrame, models: Path, system: dict[str, Any], pairwise: pd.DataFrame | None = None
) -> pd.DataFrame:
    """Scores of every candidate of the development and test questions, for every seed.

    With the scores of the pairwise model, its top k are also ordered anew, each seed those of the same seed.
    """
    from contexture.tasks.answer_selection.scoring import score_model

    tables = [pd.DataFrame(columns=SCORES)]
    for seed in range(parameters_of(system).seeds if not answers.empty else 0):
        for split in SPLITS:
            part = answers[answers["split"] == split].reset_index(drop=True)
            first = None
            if pairwise is not None:
                chosen = (pairwise["seed"] == seed) & (pairwise["split"] == split)
                first = scores_of(part, pairwise[chosen])
            scores = score_model(models / f"seed-{seed}", part, first)
            tables.append(scores.assign(variant=variant, seed=seed, split=split)[SCORES])
    return pd.concat(tables[1:] or tables, ignore_index=True)


def scores_of(answers: pd.DataFrame, scores: pd.DataFrame) -> npt.NDArray[np.float64]:
    """The score of every row of `answers`; ValueError where `scores` is of other candidates."""
    found = answers[IDS].merge(scores[[*IDS, "score"]], on=IDS, how="left", validate="one_to_one")["score"]
    if len(scores) != len(answers) or found.isna().any():
        raise ValueError("the pairwise model's scores are of other candidates: run the node score_pairwise again")
    return found.to_numpy(np.float64)


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
    """Send the means over seeds of the metrics on test questions to the MLflow run."""
    import mlflow

    if mlflow.active_run() is None or not metrics:
        return
    tested = pd.DataFrame(metrics).query("split != 'dev'")
    means = tested.groupby(["task", "split", "variant", "metric"], as_index=False)["value"].mean()
    mlflow.log_metrics(
        {
            # MLflow's names know no %; a share of the questions tells the splits of a retrieval task apart.
            "/".join(
                [row.task]
                + ([] if row.split == "test" else [row.split.replace("%", "_percent")])
                + [row.variant.replace("=", "_"), row.metric]
            ): float(row.value)
            for row in means.itertuples()
        }
    )

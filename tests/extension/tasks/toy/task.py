"""Reading and evaluation of the toy task."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from contexture.tasks.base import EvaluatedEncoder, FrozenTask, ParallelMap, Results, serial_map
from contexture.tasks.task_folder import write_task

TEXTS = ["salt is traded", "the sea is deep", "who met Ash?"]


class ToyTask(FrozenTask):
    """For each of three sentences, the nearest sentence should be itself."""

    def prepare_data(self, source: Any, demo_dir: Path, output_dir: Path) -> None:
        """Write the task's data; there are no source files."""
        with write_task(output_dir, ["toy_box"]) as (_, report):
            report["counts"] = {"sentences": len(TEXTS)}

    def evaluate(
        self,
        settings: Any,
        encoders: Sequence[EvaluatedEncoder],
        data_dir: Path,
        vectors_dir: Path,
        parallel_map: ParallelMap = serial_map,
    ) -> Results:
        """Measure the share of sentences whose nearest sentence is itself."""
        scores = parallel_map(score, [(encoder.models,) for encoder in encoders])
        measured = {"task": "toy", "data": "toy_box", "protocol": "frozen", "split": "test", "metric": "toy_score"}
        rows = zip(encoders, scores, strict=True)
        return Results([measured | {"variant": row.variant, "seed": row.seed, "value": value} for row, value in rows])


def score(encoders: Sequence[str]) -> float:
    """Return the score of an encoder."""
    from contexture.encoders.models import load_models

    vectors = load_models(encoders).embed(TEXTS)
    return float(((vectors @ vectors.T).argmax(axis=1) == range(len(TEXTS))).mean())

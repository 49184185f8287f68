"""Reading and measuring."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from contexture.tasks.base import Contestant, Each, FrozenTask, Results, one_by_one
from contexture.tasks.task_folder import write_task

TEXTS = ["salt is traded", "the sea is deep", "who met Ash?"]


class ToyTask(FrozenTask):
    """Of three sentences, each should be nearest to itself."""

    def read(self, source: Any, demo: Path, place: Path) -> None:
        """There are no files."""
        with write_task(place, ["toy_box"]) as (_, report):
            report["counts"] = {"sentences": len(TEXTS)}

    def evaluate(
        self, settings: Any, contestants: Sequence[Contestant], data: Path, place: Path, each: Each = one_by_one
    ) -> Results:
        """The share of sentences whose nearest one is itself."""
        scores = each(score, [(encoder.encoders,) for encoder in contestants])
        measured = {"task": "toy", "data": "toy_box", "protocol": "frozen", "split": "test", "metric": "toy_score"}
        rows = zip(contestants, scores, strict=True)
        return Results([measured | {"variant": row.variant, "seed": row.seed, "value": value} for row, value in rows])


def score(encoders: Sequence[str]) -> float:
    """The score of an encoder."""
    from contexture.encoders.models import load_models

    vectors = load_models(encoders).embed(TEXTS)
    return float(((vectors @ vectors.T).argmax(axis=1) == range(len(TEXTS))).mean())

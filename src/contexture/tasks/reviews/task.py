"""Reviews in several languages as a task of frozen encoders."""

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from contexture.tasks.base import EvaluatedEncoder, FrozenTask, ParallelMap, Results, measure_rows, serial_map
from contexture.tasks.reviews.config import ReviewsConfig, ReviewSettings
from contexture.tasks.reviews.files import AMAZON, read_reviews
from contexture.tasks.task_folder import catch_missing, read_report, report_missing, write_task

LOG = logging.getLogger(__name__)
#: The table of the reviews.
TABLE = "reviews.parquet"


class ReviewsTask(FrozenTask):
    """Is a review praise or blame? Learned in English, tested in every language."""

    def prepare_data(self, source: ReviewsConfig, demo_dir: Path, output_dir: Path) -> None:
        """Write `TABLE`, see `files.read_reviews`, and count the reviews by part, language and category."""
        with write_task(output_dir, [AMAZON]) as (work, report):
            if source.input is None:
                report_missing(report, AMAZON, "reviews.input names no folder: see docs/reviews.md")
                return
            with catch_missing(report, AMAZON):
                rows, report["missing"] = read_reviews(Path(source.input))
                for reason in report["missing"].values():
                    LOG.warning("%s", reason)
                rows.to_parquet(work / TABLE)
                report["counts"] = _counts(rows)

    def evaluate(
        self,
        settings: ReviewSettings,
        encoders: Sequence[EvaluatedEncoder],
        data_dir: Path,
        vectors_dir: Path,
        parallel_map: ParallelMap = serial_map,
    ) -> Results:
        """See `evaluation.measure`; no records if the files were missing."""
        from contexture.tasks.reviews.evaluation import measure

        if not read_report(data_dir)["counts"].get("test"):
            return Results()
        return Results(measure_rows(measure, encoders, parallel_map, data_dir / TABLE, vectors_dir))


def _counts(rows: pd.DataFrame) -> dict[str, Any]:
    """Reviews by part, language and category."""
    counts: dict[str, Any] = {}
    sizes = rows.groupby(["part", "language", "category"]).size().reset_index()
    for part, language, category, count in sizes.itertuples(index=False):
        counts.setdefault(part, {}).setdefault(language, {})[category] = int(count)
    return counts

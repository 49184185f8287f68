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
REVIEWS_FILE = "reviews.parquet"


class ReviewsTask(FrozenTask):
    """Classify reviews as positive or negative: train in English, test in every language."""

    def prepare_data(self, source: ReviewsConfig, demo_dir: Path, output_dir: Path) -> None:
        """Write the table of reviews (`files.read_reviews`), and count reviews by part, language and category."""
        with write_task(output_dir, [AMAZON]) as (work, report):
            if source.input is None:
                report_missing(report, AMAZON, "reviews.input names no folder; see docs/reviews.md")
                return
            with catch_missing(report, AMAZON):
                rows, report["missing"] = read_reviews(Path(source.input))
                for reason in report["missing"].values():
                    LOG.warning("%s", reason)
                rows.to_parquet(work / REVIEWS_FILE)
                report["counts"] = _count_reviews(rows)

    def evaluate(
        self,
        settings: ReviewSettings,
        encoders: Sequence[EvaluatedEncoder],
        data_dir: Path,
        vectors_dir: Path,
        parallel_map: ParallelMap = serial_map,
    ) -> Results:
        """Return the accuracy of all encoders on reviews in each language. Without files there are no records."""
        from contexture.tasks.reviews.evaluation import measure_reviews

        if not read_report(data_dir)["counts"].get("test"):
            return Results()
        return Results(measure_rows(measure_reviews, encoders, parallel_map, data_dir / REVIEWS_FILE, vectors_dir))


def _count_reviews(rows: pd.DataFrame) -> dict[str, Any]:
    """Return part → language → category → number of reviews."""
    counts: dict[str, Any] = {}
    sizes = rows.groupby(["part", "language", "category"]).size().reset_index()
    for part, language, category, count in sizes.itertuples(index=False):
        counts.setdefault(part, {}).setdefault(language, {})[category] = int(count)
    return counts

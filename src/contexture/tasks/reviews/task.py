"""Reviews in several languages as a task."""

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from contexture.tasks.base import EvaluatedEncoder, ParallelMap, Results, measure_rows, serial_map
from contexture.tasks.reviews.config import ReviewsConfig, ReviewSettings
from contexture.tasks.reviews.files import AMAZON, read_reviews
from contexture.tasks.task_folder import catch_missing, read_report, report_missing, write_task

LOG = logging.getLogger(__name__)
REVIEWS_FILE = "reviews.parquet"


class ReviewsTask:
    """Classify reviews as positive or negative, frozen and fine-tuned: train in English, test in every language."""

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

    def check_settings(self, settings: ReviewSettings, data_dir: Path) -> None:
        """Accept all settings."""

    def list_options(self, settings: ReviewSettings, head: str | None) -> list[str]:
        """Return the name of the only set if encoders are fine-tuned."""
        return [AMAZON] if settings.finetune else []

    def finetune(
        self, settings: ReviewSettings, option: str, encoder: EvaluatedEncoder, data_dir: Path, model_dir: Path
    ) -> None:
        """Fine-tune the encoder on the English reviews; write nothing if they are missing."""
        from contexture.tasks.reviews.finetune import finetune_reviews

        if (file := data_dir / REVIEWS_FILE).exists():
            finetune_reviews(settings, encoder, pd.read_parquet(file), model_dir)

    def evaluate(
        self,
        settings: ReviewSettings,
        encoders: Sequence[EvaluatedEncoder],
        data_dir: Path,
        vectors_dir: Path,
        parallel_map: ParallelMap = serial_map,
    ) -> Results:
        """Return the accuracy of all encoders on reviews in each language. Without files there are no records."""
        from contexture.tasks.reviews.evaluation import measure_finetuned, measure_reviews

        if not read_report(data_dir)["counts"].get("test"):
            return Results()
        file = data_dir / REVIEWS_FILE
        records = measure_rows(measure_reviews, encoders, parallel_map, file, vectors_dir)
        folders = [(encoder, encoder.finetuned_dir / AMAZON) for encoder in encoders if encoder.finetuned_dir]
        tuned = [(encoder, folder) for encoder, folder in folders if folder.exists()]
        rows_by_model = parallel_map(measure_finetuned, [(folder, file) for _, folder in tuned])
        for (encoder, _), rows in zip(tuned, rows_by_model, strict=True):
            records += [{"variant": encoder.variant, "seed": encoder.seed, **row} for row in rows]
        return Results(records)


def _count_reviews(rows: pd.DataFrame) -> dict[str, Any]:
    """Return part → language → category → number of reviews."""
    counts: dict[str, Any] = {}
    sizes = rows.groupby(["part", "language", "category"]).size().reset_index()
    for part, language, category, count in sizes.itertuples(index=False):
        counts.setdefault(part, {}).setdefault(language, {})[category] = int(count)
    return counts

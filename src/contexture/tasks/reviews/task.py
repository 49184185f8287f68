"""Reviews in several languages as a task of frozen encoders."""

import json
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from contexture.folders import work_folder
from contexture.tasks.base import TASK_FILE, Contestant, Each, FrozenTask, Results, one_by_one
from contexture.tasks.missing import BenchmarkMissing
from contexture.tasks.reviews.config import ReviewsConfig, ReviewSettings
from contexture.tasks.reviews.files import AMAZON, read_reviews

LOG = logging.getLogger(__name__)
#: The table of the reviews.
TABLE = "reviews.parquet"


class ReviewsTask(FrozenTask):
    """Is a review praise or blame? Learned in English, asked in every language."""

    def read(self, source: ReviewsConfig, demo: Path, place: Path) -> None:
        """Write `TABLE`, see `files.read_reviews`, and count the reviews by part, language and category."""
        report: dict[str, Any] = {"name": AMAZON, "counts": {}, "missing": {}}
        with work_folder(place) as work:
            if source.input is None:
                report["missing"][AMAZON] = "reviews.input names no folder: see docs/reviews.md"
            else:
                try:
                    rows, report["missing"] = read_reviews(Path(source.input))
                    rows.to_parquet(work / TABLE)
                    report["counts"] = _counts(rows)
                except BenchmarkMissing as error:
                    report["missing"][AMAZON] = str(error)
                for why in report["missing"].values():
                    LOG.warning("%s", why)
            (work / TASK_FILE).write_text(json.dumps(report, indent=1), encoding="utf-8")

    def evaluate(
        self,
        settings: ReviewSettings,
        contestants: Sequence[Contestant],
        data: Path,
        place: Path,
        each: Each = one_by_one,
    ) -> Results:
        """See `evaluation.evaluate_reviews`; nothing where the files were missing."""
        from contexture.tasks.reviews.evaluation import evaluate_reviews

        counts = json.loads((data / TASK_FILE).read_text(encoding="utf-8"))["counts"]
        return evaluate_reviews(contestants, data / TABLE, place, each) if counts.get("test") else Results()


def _counts(rows: pd.DataFrame) -> dict[str, Any]:
    """Reviews by part, language and category."""
    found: dict[str, Any] = {}
    sizes = rows.groupby(["part", "language", "category"]).size().reset_index()
    for part, language, category, count in sizes.itertuples(index=False):
        found.setdefault(part, {}).setdefault(language, {})[category] = int(count)
    return found

"""Sets in BEIR's layout as a task of frozen encoders."""

import json
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from contexture.folders import work_folder
from contexture.tasks.base import TASK_FILE, Contestant, Each, FrozenTask, Results, one_by_one
from contexture.tasks.beir.config import BeirConfig, BeirSettings
from contexture.tasks.beir.files import write_set
from contexture.tasks.missing import BenchmarkMissing

LOG = logging.getLogger(__name__)


class BeirTask(FrozenTask):
    """Which documents are relevant to the query? Those with the best vectors, or the best words, or both."""

    def read(self, source: BeirConfig, demo: Path, place: Path) -> None:
        """Write a folder a set, see `files.write_set`. See `Task.read`."""
        report: dict[str, Any] = {
            "name": ", ".join(source.input), "counts": {}, "missing": {}, "notes": [], "split": source.split
        }  # fmt: skip
        if not source.input:
            report["missing"]["beir"] = "beir.input names no folder: see docs/beir.md"
        with work_folder(place) as work:
            for name, folder in source.input.items():
                try:
                    counts, notes = write_set(name, Path(folder).expanduser(), source.split, work / name)
                except BenchmarkMissing as error:
                    LOG.warning("%s", error)
                    report["missing"][name] = str(error)
                    continue
                for note in notes:
                    LOG.warning("%s: %s", name, note)
                report["counts"][name] = counts
                report["notes"] += notes
            (work / TASK_FILE).write_text(json.dumps(report, indent=1, ensure_ascii=False), encoding="utf-8")

    def evaluate(
        self,
        settings: BeirSettings,
        contestants: Sequence[Contestant],
        data: Path,
        place: Path,
        each: Each = one_by_one,
    ) -> Results:
        """See `evaluation.evaluate_beir`; sets that are missing are left out."""
        from contexture.tasks.beir.evaluation import BeirSet, evaluate_beir

        report = json.loads((data / TASK_FILE).read_text(encoding="utf-8"))
        sets = [BeirSet(name, data / name, place / name, report["split"]) for name in report["counts"]]
        return evaluate_beir(settings, contestants, sets, each)

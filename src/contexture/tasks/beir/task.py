"""The task of data sets in BEIR's layout."""

import logging
from collections.abc import Sequence
from pathlib import Path

from contexture.folders import expand_home
from contexture.tasks.base import EvaluatedEncoder, FrozenTask, ParallelMap, Results, serial_map
from contexture.tasks.beir.config import BeirConfig, BeirSettings
from contexture.tasks.beir.files import write_set
from contexture.tasks.task_folder import catch_missing, read_report, write_task

LOG = logging.getLogger(__name__)


class BeirTask(FrozenTask):
    """Rank documents for queries by frozen encoders, by BM25, and by both fused."""

    def prepare_data(self, source: BeirConfig, demo_dir: Path, output_dir: Path) -> None:
        """Write a folder for each set; see `files.write_set` and `Task.read`."""
        with write_task(output_dir, source.input, notes=[], split=source.split) as (work, report):
            if not source.input:
                report["missing"]["beir"] = "beir.input has no folders: see docs/beir.md"
            for name, folder in source.input.items():
                with catch_missing(report, name):
                    report["counts"][name], notes = write_set(name, expand_home(folder), source.split, work / name)
                    for note in notes:
                        LOG.warning("%s: %s", name, note)
                    report["notes"] += notes

    def evaluate(
        self,
        settings: BeirSettings,
        encoders: Sequence[EvaluatedEncoder],
        data_dir: Path,
        vectors_dir: Path,
        parallel_map: ParallelMap = serial_map,
    ) -> Results:
        """See `evaluation.evaluate_beir`; missing sets are left out."""
        from contexture.tasks.beir.evaluation import BeirSet, evaluate_beir

        report = read_report(data_dir)
        sets = [BeirSet(name, data_dir / name, vectors_dir / name, report["split"]) for name in report["counts"]]
        return evaluate_beir(settings, encoders, sets, parallel_map)

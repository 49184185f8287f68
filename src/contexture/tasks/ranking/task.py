"""Answer ranking as a task: which of a question's candidates is right, by vectors that can be kept."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pandas as pd

from contexture.demo.config import DEMO
from contexture.demo.write import SQUAD_FILE
from contexture.tasks.base import EvaluatedEncoder, ParallelMap, Results, serial_map
from contexture.tasks.ranking.config import RankingConfig, RankingSet, RankingSettings
from contexture.tasks.task_folder import check_sets, note_missing, read_report, write_task


class AnswerRankingTask:
    """Which candidate is right? By cross-sequence attention where an encoder has it, else by cosine or product."""

    def read(self, source: RankingConfig, demo: Path, output_dir: Path) -> None:
        """Write one folder for each set; see `Task.read` and `data.write_set`.

        Raises ValueError, naming the file, for files that are not in the format.
        """
        from contexture.tasks.ranking.data import write_set
        from contexture.tasks.ranking.files import ALL_NEEDED

        sets = {DEMO: RankingSet("squad", str(demo / SQUAD_FILE))} if isinstance(source.input, str) else source.input
        with write_task(output_dir, sets, notes=[], all_needed={}) as (work, report):
            for name, ranking_set in sets.items():
                with note_missing(report, name):
                    report["counts"][name], notes = write_set(ranking_set, work / name)
                    report["notes"] += [f"{name}: {note}" for note in notes]
                    report["all_needed"][name] = ranking_set.format in ALL_NEEDED

    def check(self, settings: RankingSettings, data: Path) -> None:
        """Raise ValueError for a set of `finetune` that does not exist or has too few questions."""
        from contexture.tasks.ranking.data import check_set

        report = read_report(data)
        check_sets("ranking", settings.finetune, report)
        for name in settings.finetune:
            if name in report["counts"]:
                check_set(data / name)

    def documents(self, data: Path) -> pd.DataFrame | None:
        """The candidates of dev and test questions; see `DocumentTask`."""
        from contexture.tasks.ranking.data import documents

        tables = [documents(data / name) for name in read_report(data)["counts"]]
        return pd.concat(tables, ignore_index=True) if tables else None

    def options(self, settings: RankingSettings, head: str | None) -> list[str]:
        """One model for each set."""
        return list(settings.finetune)

    def finetune(
        self, settings: RankingSettings, option: str, encoder: EvaluatedEncoder, data: Path, folder: Path
    ) -> None:
        """See `finetune.finetune_ranking`; nothing is written if the questions are missing."""
        from contexture.tasks.ranking.finetune import finetune_ranking

        if (data / option).exists():
            finetune_ranking(settings, encoder, data / option, folder)

    def evaluate(
        self,
        settings: RankingSettings,
        encoders: Sequence[EvaluatedEncoder],
        data: Path,
        vectors_dir: Path,
        parallel_map: ParallelMap = serial_map,
    ) -> Results:
        """See `evaluation.evaluate_ranking`; sets that are missing are left out."""
        from contexture.tasks.ranking.evaluation import RankedSet, evaluate_ranking

        report = read_report(data)
        sets = [RankedSet(name, data / name, needed) for name, needed in report["all_needed"].items()]
        results = evaluate_ranking(settings, encoders, sets, vectors_dir, parallel_map)
        return replace(results, details=results.details | {"notes": [*report["notes"], *results.details["notes"]]})

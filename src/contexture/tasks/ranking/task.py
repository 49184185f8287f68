"""Answer ranking as a task: rank each question's candidates by vectors."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pandas as pd

from contexture.demo.config import DEMO
from contexture.demo.write import SQUAD_FILE
from contexture.tasks.base import EvaluatedEncoder, ParallelMap, Results, serial_map
from contexture.tasks.ranking.config import RankingConfig, RankingSet, RankingSettings
from contexture.tasks.task_folder import catch_missing, check_sets, read_report, write_task


class AnswerRankingTask:
    """Rank candidates by cross-sequence attention, cosine or inner product."""

    def prepare_data(self, source: RankingConfig, demo_dir: Path, output_dir: Path) -> None:
        """Write questions, texts and BM25 index of each set to its folder (`data.write_set`); see `Task.prepare_data`.

        Raises ValueError, naming the file, for another format.
        """
        from contexture.tasks.ranking.data import write_set
        from contexture.tasks.ranking.files import ALL_NEEDED

        sets = (
            {DEMO: RankingSet("squad", str(demo_dir / SQUAD_FILE))} if isinstance(source.input, str) else source.input
        )
        with write_task(output_dir, sets, notes=[], all_needed={}) as (work, report):
            for name, ranking_set in sets.items():
                with catch_missing(report, name):
                    report["counts"][name], notes = write_set(ranking_set, work / name)
                    report["notes"] += [f"{name}: {note}" for note in notes]
                    report["all_needed"][name] = ranking_set.format in ALL_NEEDED

    def check_settings(self, settings: RankingSettings, data_dir: Path) -> None:
        """Raise ValueError for a set of `finetune` that is unknown or has too few questions."""
        from contexture.tasks.ranking.data import check_trainable

        report = read_report(data_dir)
        check_sets("ranking", settings.finetune, report)
        for name in settings.finetune:
            if name in report["counts"]:
                check_trainable(data_dir / name)

    def load_documents(self, data_dir: Path) -> pd.DataFrame | None:
        """Return title and text of the candidates of dev and test questions; see `DocumentTask`."""
        from contexture.tasks.ranking.data import candidate_documents

        tables = [candidate_documents(data_dir / name) for name in read_report(data_dir)["counts"]]
        return pd.concat(tables, ignore_index=True) if tables else None

    def list_options(self, settings: RankingSettings, head: str | None) -> list[str]:
        """Return the sets to fine-tune on; each has one model."""
        return list(settings.finetune)

    def finetune(
        self, settings: RankingSettings, option: str, encoder: EvaluatedEncoder, data_dir: Path, model_dir: Path
    ) -> None:
        """Fine-tune the encoder on the set `option` and write it; write nothing if the set is missing."""
        from contexture.tasks.ranking.finetune import finetune_ranking

        if (data_dir / option).exists():
            finetune_ranking(settings, encoder, data_dir / option, model_dir)

    def evaluate(
        self,
        settings: RankingSettings,
        encoders: Sequence[EvaluatedEncoder],
        data_dir: Path,
        vectors_dir: Path,
        parallel_map: ParallelMap = serial_map,
    ) -> Results:
        """Return the results of all encoders and baselines on all available sets; see `evaluation.evaluate_ranking`."""
        from contexture.tasks.ranking.evaluation import PreparedSet, evaluate_ranking

        report = read_report(data_dir)
        sets = [PreparedSet(name, data_dir / name, needed) for name, needed in report["all_needed"].items()]
        results = evaluate_ranking(settings, encoders, sets, vectors_dir, parallel_map)
        return replace(results, details=results.details | {"notes": [*report["notes"], *results.details["notes"]]})

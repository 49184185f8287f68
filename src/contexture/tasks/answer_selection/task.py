"""Answer selection as a task: sets of questions with candidate sentences."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from contexture.demo.config import DEMO
from contexture.tasks.answer_selection.config import AnswersConfig, AnswerSelectionSettings, set_of
from contexture.tasks.answer_selection.sets import PUBLISHED, checksums, tables, write_set
from contexture.tasks.base import EvaluatedEncoder, ParallelMap, Results, serial_map
from contexture.tasks.task_folder import check_sets, note_missing, read_report, write_task


class AnswerSelectionTask:
    """Which candidate answers the question? Frozen encoders rank by cosine, fine-tuned ones by a head."""

    def read(self, source: AnswersConfig, demo: Path, output_dir: Path) -> None:
        """Write `<set>/<split>.parquet` of every set, see `sets.write_set`; see `Task.read`.

        Raises ValueError, naming file and line, for files that are not in a form, and for sets that have the name of a
        published one but other counts.
        """
        sets = {DEMO: str(demo)} if isinstance(source.input, str) else source.input
        with write_task(output_dir, sets, files={}) as (work, report):
            for name, folder in sets.items():
                with note_missing(report, name):
                    report["counts"][name] = write_set(name, Path(folder), work / name)
                    report["files"] |= checksums(name, Path(folder))

    def check(self, settings: AnswerSelectionSettings, data: Path) -> None:
        """Raise ValueError if `finetune` names a set, or `sets` an unpublished one, that is not in the input."""
        report = read_report(data)
        check_sets("answer_selection", settings.finetune or (), report)
        known = [*report["counts"], *report["missing"]]
        if unknown := [name for name in settings.sets if name not in known and name not in PUBLISHED]:
            raise ValueError(
                f"answer_selection.sets: no set is called {', '.join(unknown)}; answer_selection.input has {known}, "
                f"and {', '.join(PUBLISHED)} are published"
            )

    def documents(self, data: Path) -> pd.DataFrame | None:
        """The candidates of dev and test questions and the titles of their documents; see `DocumentTask`."""
        files = [data / name / f"{split}.parquet" for name in read_report(data)["counts"] for split in ("dev", "test")]
        if not files:
            return None
        held_out = pd.concat([pd.read_parquet(file, columns=["title", "candidate"]) for file in files])
        return held_out.rename(columns={"candidate": "text"}).reset_index(drop=True)

    def options(self, settings: AnswerSelectionSettings, head: str | None) -> list[str]:
        """One model a set, and those that learned from another set before; none without a head."""
        return [] if head is None else settings.options

    def finetune(
        self, settings: AnswerSelectionSettings, option: str, encoder: EvaluatedEncoder, data: Path, folder: Path
    ) -> None:
        """See `finetune.finetune_answers`; writes nothing if the set is missing."""
        from contexture.tasks.answer_selection.finetune import finetune_answers

        set_dir = settings.data_of(option, data)
        if set_dir.exists():
            dev = pd.read_parquet(set_dir / "dev.parquet")
            finetune_answers(settings.of(option), encoder, tables(set_dir / "train.parquet"), dev, folder)

    def evaluate(
        self,
        settings: AnswerSelectionSettings,
        encoders: Sequence[EvaluatedEncoder],
        data: Path,
        vectors_dir: Path,
        parallel_map: ParallelMap = serial_map,
    ) -> Results:
        """See `evaluation.evaluate_answers`, for each set that is there."""
        from contexture.tasks.answer_selection.evaluation import evaluate_answers

        results = Results(details={"examples": [], "latency": {}, "rescued": {}})
        for name in read_report(data)["counts"]:
            options = [option for option in settings.options if set_of(option) == name]
            of_set = evaluate_answers(encoders, data / name, options, settings.latency_rounds, parallel_map)
            results.records.extend(of_set.records)
            results.details["examples"] += of_set.details.get("examples", [])
            for fact in ("latency", "rescued"):
                results.details[fact] |= of_set.details.get(fact, {})
            results.tables.update({f"{table}-{name}": rows for table, rows in of_set.tables.items()})
        return results

"""Answer selection as a task: sets of questions with candidate sentences."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from contexture.demo.config import DEMO
from contexture.tasks.answer_selection.config import AnswersConfig, AnswerSelectionSettings, get_set_name
from contexture.tasks.answer_selection.sets import PUBLISHED, hash_set_files, read_tables, write_set
from contexture.tasks.base import EvaluatedEncoder, ParallelMap, Results, serial_map
from contexture.tasks.task_folder import catch_missing, check_sets, read_report, write_task


class AnswerSelectionTask:
    """Rank the candidate sentences of a question: frozen encoders by cosine, fine-tuned ones by it or a head."""

    def prepare_data(self, source: AnswersConfig, demo_dir: Path, output_dir: Path) -> None:
        """Write `<set>/<split>.parquet` of each set (`sets.write_set`); see `Task.prepare_data`.

        Raise ValueError with file and line for an unknown format, or for a set with a published name but other counts.
        """
        sets = {DEMO: str(demo_dir)} if isinstance(source.input, str) else source.input
        with write_task(output_dir, sets, files={}) as (work, report):
            for name, folder in sets.items():
                with catch_missing(report, name):
                    report["counts"][name] = write_set(name, Path(folder), work / name)
                    report["files"] |= hash_set_files(name, Path(folder))

    def check_settings(self, settings: AnswerSelectionSettings, data_dir: Path) -> None:
        """Raise ValueError for unknown sets in `finetune` or `sets`."""
        report = read_report(data_dir)
        check_sets("answer_selection", settings.finetune or (), report)
        known = [*report["counts"], *report["missing"]]
        if unknown := [name for name in settings.sets if name not in known and name not in PUBLISHED]:
            raise ValueError(
                f"answer_selection.sets: unknown set {', '.join(unknown)}; answer_selection.input has {known}, "
                f"and {', '.join(PUBLISHED)} are published"
            )

    def load_documents(self, data_dir: Path) -> pd.DataFrame | None:
        """Return the candidates of dev and test questions with document titles; see `DocumentTask`."""
        files = [
            data_dir / name / f"{split}.parquet"
            for name in read_report(data_dir)["counts"]
            for split in ("dev", "test")
        ]
        if not files:
            return None
        held_out = pd.concat([pd.read_parquet(file, columns=["title", "candidate"]) for file in files])
        return held_out.rename(columns={"candidate": "text"}).reset_index(drop=True)

    def list_options(self, settings: AnswerSelectionSettings, head: str | None) -> list[str]:
        """Return the names of models, one per set and one per pair in `transfer`; none for encoders without a head."""
        return [] if head is None else settings.options

    def finetune(
        self, settings: AnswerSelectionSettings, option: str, encoder: EvaluatedEncoder, data_dir: Path, model_dir: Path
    ) -> None:
        """Fine-tune the encoder on the set of `option` and write the model; write nothing if the set is missing."""
        from contexture.tasks.answer_selection.finetune import finetune_answers

        set_dir = settings.get_data_dir(option, data_dir)
        if set_dir.exists():
            dev = pd.read_parquet(set_dir / "dev.parquet")
            finetune_answers(
                settings.get_option_settings(option), encoder, read_tables(set_dir / "train.parquet"), dev, model_dir
            )

    def evaluate(
        self,
        settings: AnswerSelectionSettings,
        encoders: Sequence[EvaluatedEncoder],
        data_dir: Path,
        vectors_dir: Path,
        parallel_map: ParallelMap = serial_map,
    ) -> Results:
        """Return the results of all encoders and baselines on all available sets; see `evaluation.evaluate_answers`."""
        from contexture.tasks.answer_selection.evaluation import evaluate_answers

        results = Results(details={"examples": [], "latency": {}, "rescued": {}})
        for name in read_report(data_dir)["counts"]:
            options = [option for option in settings.options if get_set_name(option) == name]
            of_set = evaluate_answers(encoders, data_dir / name, options, settings.latency_rounds, parallel_map)
            results.records.extend(of_set.records)
            results.details["examples"] += of_set.details.get("examples", [])
            for key in ("latency", "rescued"):
                results.details[key] |= of_set.details.get(key, {})
            results.tables.update({f"{table}-{name}": rows for table, rows in of_set.tables.items()})
        return results

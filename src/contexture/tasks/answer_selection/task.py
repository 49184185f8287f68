"""Answer selection as a task: sets of questions with candidate sentences."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from contexture.demo.config import DEMO
from contexture.tasks.answer_selection.config import AnswersConfig, AnswerSelectionSettings, set_of
from contexture.tasks.answer_selection.sets import PUBLISHED, checksums, tables, write_set
from contexture.tasks.base import Contestant, Each, Results, one_by_one
from contexture.tasks.task_folder import check_sets, note_missing, read_report, write_task


class AnswerSelectionTask:
    """Which candidate answers the question? Frozen encoders by cosine, fine-tuned ones by a head on their states."""

    def read(self, source: AnswersConfig, demo: Path, place: Path) -> None:
        """Write `<set>/<split>.parquet` of every set, see `sets.write_set`; see `Task.read`.

        Raises ValueError, naming file and line, for files that are not in a form, and for sets that are called like
        published ones and have other counts.
        """
        sets = {DEMO: str(demo)} if isinstance(source.input, str) else source.input
        with write_task(place, sets, files={}) as (work, report):
            for name, folder in sets.items():
                with note_missing(report, name):
                    report["counts"][name] = write_set(name, Path(folder), work / name)
                    report["files"] |= checksums(name, Path(folder))

    def check(self, settings: AnswerSelectionSettings, data: Path) -> None:
        """Raise ValueError where models shall be fine-tuned on a set that is none of the input, or one is told how.

        Of the published sets it may be told how, whether they are there or not.
        """
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
        """One model a set, and those that learned from another set before; none of those that have no head."""
        return [] if head is None else settings.options

    def finetune(
        self, settings: AnswerSelectionSettings, option: str, contestant: Contestant, data: Path, folder: Path
    ) -> None:
        """See `finetune.finetune_answers`; nothing is written where the set is missing."""
        from contexture.tasks.answer_selection.finetune import finetune_answers

        place = settings.data_of(option, data)
        if place.exists():
            dev = pd.read_parquet(place / "dev.parquet")
            finetune_answers(settings.of(option), contestant, tables(place / "train.parquet"), dev, folder)

    def evaluate(
        self,
        settings: AnswerSelectionSettings,
        contestants: Sequence[Contestant],
        data: Path,
        place: Path,
        each: Each = one_by_one,
    ) -> Results:
        """See `evaluation.evaluate_answers`; nothing of sets that are missing."""
        from contexture.tasks.answer_selection.evaluation import evaluate_answers

        records: list[dict[str, Any]] = []
        facts: dict[str, Any] = {"examples": [], "latency": {}, "rescued": {}}
        kept: dict[str, pd.DataFrame] = {}
        for name in read_report(data)["counts"]:
            options = [option for option in settings.options if set_of(option) == name]
            found = evaluate_answers(contestants, data / name, options, settings.latency_rounds, each)
            records += found.records
            facts["examples"] += found.facts.get("examples", [])
            for fact in ("latency", "rescued"):
                facts[fact] |= found.facts.get(fact, {})
            kept |= {f"{table}-{name}": rows for table, rows in found.tables.items()}
        return Results(records, facts, kept)

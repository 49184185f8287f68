"""Answer selection as a task: questions with candidate sentences, in the format of WikiQA."""

import hashlib
import json
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from contexture.demo.config import DEMO
from contexture.folders import work_folder
from contexture.tasks.answer_selection.config import AnswersConfig, AnswerSelectionSettings
from contexture.tasks.answer_selection.files import clean, read_wikiqa
from contexture.tasks.base import TASK_FILE, Contestant, Each, Results, one_by_one
from contexture.tasks.missing import BenchmarkMissing

LOG = logging.getLogger(__name__)

ANSWERS = "answers.parquet"


class AnswerSelectionTask:
    """Which candidate answers the question? Frozen encoders by cosine, fine-tuned ones by a head on their states."""

    name = "answer_selection"
    corpus = ()

    def read(self, source: AnswersConfig, demo: Path, place: Path) -> None:
        """Write the clean questions of all splits as `answers.parquet`; see `Task.read`.

        Raises ValueError, naming file and line, for files that are not in the format.
        """
        name, folder = (DEMO, demo) if source.input == DEMO else ("wikiqa", Path(source.input))
        report: dict[str, Any] = {"name": name, "counts": {}, "missing": {}}
        with work_folder(place) as work:
            try:
                answers = clean(read_wikiqa(folder))
            except BenchmarkMissing as error:
                LOG.warning("%s", error)
                report["missing"] = {name: str(error)}
            else:
                answers.to_parquet(work / ANSWERS)
                for split, part in answers.groupby("split", sort=False):
                    report["counts"] |= {
                        f"{split}_questions": part["question_id"].nunique(),
                        f"{split}_candidates": len(part),
                    }
                files = sorted(folder.glob("WikiQA-*.tsv*"))
                report["files"] = {str(file): hashlib.sha256(file.read_bytes()).hexdigest() for file in files}
            (work / TASK_FILE).write_text(json.dumps(report, indent=1), encoding="utf-8")

    def check(self, settings: Any, data: Path) -> None:
        """Nothing can be wrong with the data that `read` let pass."""

    def documents(self, data: Path) -> pd.DataFrame | None:
        """The candidates of dev and test questions and the titles of their documents; see `AboutDocuments`."""
        if (answers := _answers(data)) is None:
            return None
        held_out = answers.loc[answers["split"].ne("train"), ["title", "candidate"]]
        return held_out.rename(columns={"candidate": "text"})

    def options(self, settings: AnswerSelectionSettings, head: str | None) -> list[str]:
        """One model of those that have a head."""
        return [] if head is None else ["model"]

    def finetune(
        self, settings: AnswerSelectionSettings, option: str, contestant: Contestant, data: Path, folder: Path
    ) -> None:
        """See `finetune.finetune_answers`; nothing is written where the questions are missing."""
        from contexture.tasks.answer_selection.finetune import finetune_answers

        if (answers := _answers(data)) is None:
            return
        finetune_answers(settings, contestant, answers, folder)

    def evaluate(
        self,
        settings: AnswerSelectionSettings | None,
        contestants: Sequence[Contestant],
        data: Path,
        place: Path,
        each: Each = one_by_one,
    ) -> Results:
        """See `evaluation.evaluate_answers`; nothing where the questions are missing."""
        from contexture.tasks.answer_selection.evaluation import evaluate_answers

        if (answers := _answers(data)) is None:
            return Results()
        name = json.loads((data / TASK_FILE).read_text(encoding="utf-8"))["name"]
        return evaluate_answers(contestants, answers, name, each)


def _answers(data: Path) -> pd.DataFrame | None:
    """The questions of a folder that `read` wrote; None where they were missing."""
    return pd.read_parquet(data / ANSWERS) if (data / ANSWERS).exists() else None

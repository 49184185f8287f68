"""Held-out documents as a task, which needs no labels."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from contexture.tasks.base import EvaluatedEncoder, FrozenTask, ParallelMap, Results, serial_map
from contexture.tasks.held_out.config import HeldOutConfig, HeldOutSettings
from contexture.tasks.held_out.questions import COLUMNS, read_questions, told_unknown
from contexture.tasks.task_folder import write_task

QUESTIONS = "questions.parquet"


class HeldOutTask(FrozenTask):
    """Are questions that held-out documents give away answered by a search in the whole corpus?"""

    def prepare_data(self, source: HeldOutConfig, demo_dir: Path, output_dir: Path) -> None:
        """Write `questions.parquet`, the user's own; see `Task.prepare_data`.

        Raises ValueError, naming file and line, for a file that is not in the format.
        """
        questions = pd.DataFrame(columns=COLUMNS)
        if source.input is not None:
            questions = read_questions(Path(source.input).expanduser())
        with write_task(output_dir, ["own_text"]) as (work, report):
            questions.to_parquet(work / QUESTIONS)
            report["counts"] = {"questions": questions["question"].nunique()}

    def evaluate(
        self,
        settings: HeldOutSettings,
        encoders: Sequence[EvaluatedEncoder],
        data_dir: Path,
        vectors_dir: Path,
        parallel_map: ParallelMap = serial_map,
        *,
        passages: Path | None = None,
        paragraphs: Path | None = None,
    ) -> Results:
        """See `evaluation.evaluate_held_out`; `passages` and `paragraphs` are the folders of those tables.

        Raises ValueError if none of the user's questions names a document of the text.
        """
        from contexture.tasks.held_out.evaluation import evaluate_held_out
        from contexture.tasks.held_out.evidence import gather

        if passages is None or paragraphs is None:
            raise ValueError("held_out reads the table of passages: give the system a stream of pairs")
        user_rows = pd.read_parquet(data_dir / QUESTIONS)
        evidence = gather(passages, paragraphs, user_rows, settings, vectors_dir / "evidence")
        if len(user_rows) and not any(question.kind == "questions" for question in evidence.questions):
            raise ValueError(told_unknown(evidence.unknown, "held_out.input"))
        return evaluate_held_out(encoders, evidence, vectors_dir, parallel_map)

    def choose_encoder(self, details: Mapping[str, Any], variants: Sequence[str]) -> str:
        """See `EncoderChooser`; published models, which are measured besides, are no choice."""
        from contexture.tasks.held_out.evaluation import best_encoder

        return best_encoder(details["advice"]["means"], variants) if "advice" in details else variants[0]

    def render_card_section(self, records: Sequence[Mapping[str, Any]], variant: str) -> str:
        """See `evaluation.card_section`."""
        from contexture.tasks.held_out.evaluation import card_section

        return card_section(records, variant)

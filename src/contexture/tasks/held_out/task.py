"""The task of held-out documents, which needs no labels."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from contexture.folders import expand_home
from contexture.retrieval.config import SearchDefaults
from contexture.tasks.base import EvaluatedEncoder, FrozenTask, ParallelMap, Results, serial_map
from contexture.tasks.held_out.config import HeldOutConfig, HeldOutSettings
from contexture.tasks.held_out.questions import QUESTION_COLUMNS, describe_unknown, read_questions
from contexture.tasks.task_folder import write_task

if TYPE_CHECKING:
    from huggingface_hub import EvalResult

QUESTIONS_FILE = "questions.parquet"


class HeldOutTask(FrozenTask):
    """Search answers to questions from held-out documents in the whole corpus."""

    def prepare_data(self, source: HeldOutConfig, demo_dir: Path, output_dir: Path) -> None:
        """Write `questions.parquet` with the user's questions; see `Task.read` and `read_questions`."""
        questions = pd.DataFrame(columns=QUESTION_COLUMNS)
        if source.input is not None:
            questions = read_questions(expand_home(source.input))
        with write_task(output_dir, ["own_text"]) as (work_dir, report):
            questions.to_parquet(work_dir / QUESTIONS_FILE)
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
        """See `evaluation.evaluate_held_out`; `passages` and `paragraphs` are the folders of these tables.

        Raises ValueError if all answers of the user are unknown.
        """
        from contexture.tasks.held_out.evaluation import evaluate_held_out
        from contexture.tasks.held_out.evidence import gather_evidence

        if passages is None or paragraphs is None:
            raise ValueError(
                "held_out needs the tables of passages and paragraphs: add a stream of pairs to the system"
            )
        user_rows = pd.read_parquet(data_dir / QUESTIONS_FILE)
        evidence = gather_evidence(passages, paragraphs, user_rows, settings, vectors_dir / "evidence")
        if len(user_rows) and not any(question.kind == "questions" for question in evidence.questions):
            raise ValueError(
                describe_unknown(evidence.unknown, "the questions (held_out.input, or --questions of contexture adapt)")
            )
        return evaluate_held_out(encoders, evidence, vectors_dir, parallel_map)

    def choose_encoder(self, details: Mapping[str, Any], variants: Sequence[str]) -> str:
        """See `EncoderChooser`."""
        from contexture.tasks.held_out.recommendation import select_encoder

        return select_encoder(details["advice"], variants) if "advice" in details else variants[0]

    def choose_search(self, details: Mapping[str, Any], variant: str) -> SearchDefaults:
        """See `EncoderChooser` and `recommendation.choose_search`."""
        from contexture.tasks.held_out.recommendation import choose_search

        return choose_search(details, variant)

    def card_results(self, records: Sequence[Mapping[str, Any]], variant: str) -> "tuple[str, list[EvalResult]]":
        """See `card.card_results`."""
        from contexture.tasks.held_out.card import card_results

        return card_results(records, variant)

"""The passage retrieval task (ReQA)."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from contexture.demo.config import DEMO
from contexture.demo.write import SQUAD_FILE
from contexture.retrieval.parquet_rows import ROWS_PER_GROUP
from contexture.tasks.base import EvaluatedEncoder, ParallelMap, Results, serial_map
from contexture.tasks.retrieval.config import RetrievalConfig, RetrievalSettings, option_name
from contexture.tasks.retrieval.natural_questions import read_natural_questions
from contexture.tasks.retrieval.reqa import reqa_counts, reqa_tables, split_questions
from contexture.tasks.retrieval.squad import read_squad
from contexture.tasks.task_folder import catch_missing, read_report, write_task

READERS = {"squad": read_squad, "natural_questions": read_natural_questions}
QUESTIONS_FILE, CANDIDATES_FILE = "questions.parquet", "candidates.parquet"
#: Seed of the pairs that are drawn for the open domain.
OPEN_DOMAIN_SEED = 0


class RetrievalTask:
    """Retrieve the sentence and passage that answer a question, with frozen and fine-tuned encoders."""

    def prepare_data(self, source: RetrievalConfig, demo_dir: Path, output_dir: Path) -> None:
        """Write the tables of questions and candidates (see `reqa.reqa_tables`) and the report `task.json`.

        `task.json` also has `lang`, the language of the passages. Raises ValueError for files in another format.
        """
        name = DEMO if source.input == DEMO else source.name or source.format
        files: Path | list[Path] = demo_dir / SQUAD_FILE
        if source.input != DEMO:
            files = Path(source.input) if isinstance(source.input, str) else [Path(path) for path in source.input]
        with write_task(output_dir, [name], lang=source.lang) as (work_dir, report), catch_missing(report, name):
            questions, candidates = reqa_tables(READERS[source.format](files), source.lang)
            questions.to_parquet(work_dir / QUESTIONS_FILE)
            candidates.to_parquet(work_dir / CANDIDATES_FILE, row_group_size=ROWS_PER_GROUP)
            report["counts"] = reqa_counts(questions, candidates)

    def check_settings(self, settings: RetrievalSettings, data_dir: Path) -> None:
        """Raise ValueError if a share leaves no train, dev or test questions."""
        if not (data_dir / QUESTIONS_FILE).exists():
            return
        ids = pd.read_parquet(data_dir / QUESTIONS_FILE)["question_id"].tolist()
        for share in settings.shares:
            if set(split_questions(ids, share / 100, 0)) != {"train", "dev", "test"}:
                raise ValueError(
                    f"retrieval.shares: {share:g}% of {len(ids)} questions leaves no train, dev or test "
                    "questions; remove the share or add questions"
                )

    def load_documents(self, data_dir: Path) -> pd.DataFrame | None:
        """Return title and text of all passages; None if the files are missing."""
        if not (data_dir / CANDIDATES_FILE).exists():
            return None
        passages = pd.read_parquet(data_dir / CANDIDATES_FILE, columns=["passage_id", "title", "passage"])
        return passages.drop_duplicates("passage_id")[["title", "passage"]].rename(columns={"passage": "text"})

    def list_options(self, settings: RetrievalSettings, head: str | None) -> list[str]:
        """Return the names of the models to fine-tune from an encoder, one per share of the questions."""
        return [option_name(share) for share in settings.shares]

    def finetune(
        self, settings: RetrievalSettings, option: str, encoder: EvaluatedEncoder, data_dir: Path, model_dir: Path
    ) -> None:
        """Fine-tune the encoder on the share `option` of the questions; do nothing if the questions are missing."""
        from contexture.tasks.retrieval.finetune import finetune_retrieval

        if (data_dir / QUESTIONS_FILE).exists():
            questions, candidates = (
                pd.read_parquet(data_dir / QUESTIONS_FILE),
                pd.read_parquet(data_dir / CANDIDATES_FILE),
            )
            shares = {option_name(share): share for share in settings.shares}
            finetune_retrieval(settings, shares[option], encoder, questions, candidates, model_dir)

    def evaluate(
        self,
        settings: RetrievalSettings,
        encoders: Sequence[EvaluatedEncoder],
        data_dir: Path,
        vectors_dir: Path,
        parallel_map: ParallelMap = serial_map,
        *,
        passages: Path | None = None,
    ) -> Results:
        """Return the recall of all encoders and BM25 (`evaluate_retrieval`); nothing if the questions are missing.

        The open domain needs `passages`, the folder of the table of passages.
        """
        from contexture.tasks.retrieval.evaluation import CandidatePool, evaluate_retrieval
        from contexture.tasks.retrieval.open_domain import add_corpus_pairs

        if not (data_dir / QUESTIONS_FILE).exists():
            return Results()
        questions, report = pd.read_parquet(data_dir / QUESTIONS_FILE), read_report(data_dir)
        candidates = data_dir / CANDIDATES_FILE
        pools = [CandidatePool(candidates, vectors_dir / "closed")]
        if passages is not None and (count := settings.open_domain_pairs):
            open_candidates = add_corpus_pairs(
                candidates, passages, count, OPEN_DOMAIN_SEED, report["lang"], vectors_dir / "open_domain"
            )
            pools.append(CandidatePool(open_candidates, vectors_dir / "open", is_open=True))
        return evaluate_retrieval(settings, encoders, questions, pools, report["name"], parallel_map)

"""Multi-hop question answering as a task: the whole way from a question to its answer, on HotpotQA's files."""

import logging
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from contexture.encoders.saved import is_encoder, of_seed
from contexture.tasks.base import EvaluatedEncoder, ParallelMap, Results, serial_map
from contexture.tasks.multi_hop.config import DATA, READER, RERANKER, MultiHopConfig, MultiHopSettings
from contexture.tasks.task_folder import leave_out, note_missing, write_task

LOG = logging.getLogger(__name__)
NO_FILES_MESSAGE = "HotpotQA is not here: multi_hop.input names no files (https://hotpotqa.github.io/)"


class MultiHopTask:
    """What is the answer, and which sentences say so? By paragraphs that an encoder's vectors find."""

    def read(self, source: MultiHopConfig, demo: Path, output_dir: Path) -> None:
        """Write the questions as answer ranking does, with answers and sentences; see `Task.read`.

        Raises ValueError, naming the file, for files that are not in the format.
        """
        from contexture.tasks.multi_hop.data import write_answers
        from contexture.tasks.ranking.data import write_set

        questions = source.ranking_set
        with write_task(output_dir, [DATA], notes=[]) as (work, report), note_missing(report, "multi_hop"):
            if questions is None:
                leave_out(report, "multi_hop", NO_FILES_MESSAGE)
                return
            report["counts"], report["notes"] = write_set(questions, work / DATA)
            write_answers(questions, work / DATA)

    def check(self, settings: MultiHopSettings, data: Path) -> None:
        """Raise ValueError for a `reader` that does not exist, and for data without questions of some split."""
        if not (data / DATA).exists():
            return
        from contexture.encoders.named import model_places
        from contexture.tasks.ranking.data import read_split, trainable_questions

        if settings.reader is not None and not is_encoder(of_seed(Path(settings.reader), 0)):
            model_places(settings.reader)
        for split in ("train", "dev"):
            if not len(trainable_questions(read_split(data / DATA, split))):
                raise ValueError(
                    f"multi_hop.input has no {split} question with a right and a wrong paragraph, and re-ranker and "
                    "reader learn from them: give more questions"
                )
        if not len(read_split(data / DATA, "test")):
            raise ValueError("multi_hop.input has no test question with a gold paragraph: give more questions")

    def documents(self, data: Path) -> pd.DataFrame | None:
        """The candidates of dev and test questions; see `DocumentTask`."""
        from contexture.tasks.ranking.data import candidate_documents

        return candidate_documents(data / DATA) if (data / DATA).exists() else None

    def options(self, settings: MultiHopSettings, head: str | None) -> list[str]:
        """The encoder that finds, if it is fine-tuned; re-ranker and reader, if each variant has its own."""
        return [*settings.retrieval.finetune, *([] if settings.reader else [RERANKER, READER])]

    def finetune(
        self, settings: MultiHopSettings, option: str, encoder: EvaluatedEncoder, data: Path, folder: Path
    ) -> None:
        """See `finetune`; nothing is written if the questions are missing, or an encoder has no states to read."""
        from contexture.encoders.saved import saved
        from contexture.tasks.multi_hop.finetune import finetune_reader, finetune_reranker
        from contexture.tasks.ranking.finetune import finetune_ranking

        questions = data / DATA
        if not questions.exists():
            return
        if option == DATA:
            finetune_ranking(settings.retrieval, encoder, questions, folder)
        elif not saved(Path(encoder.models[0])).config.has_states:
            LOG.warning("%s has no states of tokens: it is no %s", encoder.variant, option)
        elif option == RERANKER:
            finetune_reranker(settings, encoder, questions, folder)
        else:
            finetune_reader(settings.reading, encoder, questions, folder)

    def evaluate(
        self,
        settings: MultiHopSettings,
        encoders: Sequence[EvaluatedEncoder],
        data: Path,
        vectors_dir: Path,
        parallel_map: ParallelMap = serial_map,
    ) -> Results:
        """See `evaluation.evaluate_multi_hop`; nothing if the questions are missing."""
        from contexture.tasks.multi_hop.evaluation import evaluate_multi_hop

        return evaluate_multi_hop(settings, encoders, data, vectors_dir, parallel_map)

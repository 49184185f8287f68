"""Multi-hop question answering on HotpotQA as a task."""

import logging
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from contexture.encoders.saved import is_encoder, seed_dir
from contexture.tasks.base import EvaluatedEncoder, ParallelMap, Results, serial_map
from contexture.tasks.multi_hop.config import DATA, READER, RERANKER, MultiHopConfig, MultiHopSettings
from contexture.tasks.task_folder import catch_missing, report_missing, write_task

LOG = logging.getLogger(__name__)
NO_FILES_MESSAGE = "HotpotQA is missing: multi_hop.input names no files (https://hotpotqa.github.io/)"


class MultiHopTask:
    """Answer questions, with supporting sentences, from paragraphs retrieved by an encoder."""

    def prepare_data(self, source: MultiHopConfig, demo_dir: Path, output_dir: Path) -> None:
        """Write questions and paragraphs as answer ranking does, plus answers and sentences; see `Task.prepare_data`.

        Raises ValueError, naming the file, for another format.
        """
        from contexture.tasks.multi_hop.data import write_answers
        from contexture.tasks.ranking.data import write_set

        questions = source.ranking_set
        with write_task(output_dir, [DATA], notes=[]) as (work, report), catch_missing(report, "multi_hop"):
            if questions is None:
                report_missing(report, "multi_hop", NO_FILES_MESSAGE)
                return
            report["counts"], report["notes"] = write_set(questions, work / DATA)
            write_answers(questions, work / DATA)

    def check_settings(self, settings: MultiHopSettings, data_dir: Path) -> None:
        """Raise ValueError if `reader` does not exist or a split has no usable question."""
        if not (data_dir / DATA).exists():
            return
        from contexture.encoders.named import find_models
        from contexture.tasks.ranking.data import read_split, trainable_questions

        if settings.reader is not None and not is_encoder(seed_dir(Path(settings.reader), 0)):
            find_models(settings.reader)
        for split in ("train", "dev"):
            if not len(trainable_questions(read_split(data_dir / DATA, split))):
                raise ValueError(
                    f"multi_hop.input has no {split} question with a right and a wrong paragraph, which re-ranker "
                    "and reader need: add questions"
                )
        if not len(read_split(data_dir / DATA, "test")):
            raise ValueError("multi_hop.input has no test question with a gold paragraph: add questions")

    def load_documents(self, data_dir: Path) -> pd.DataFrame | None:
        """Return title and text of the paragraphs of dev and test questions; see `DocumentTask`."""
        from contexture.tasks.ranking.data import candidate_documents

        return candidate_documents(data_dir / DATA) if (data_dir / DATA).exists() else None

    def list_options(self, settings: MultiHopSettings, head: str | None) -> list[str]:
        """Return the models to fine-tune from a variant.

        These are those of `retrieval.finetune`, and re-ranker and reader unless `settings.reader` names common ones.
        `head` makes no difference.
        """
        return [*settings.retrieval.finetune, *([] if settings.reader else [RERANKER, READER])]

    def finetune(
        self, settings: MultiHopSettings, option: str, encoder: EvaluatedEncoder, data_dir: Path, model_dir: Path
    ) -> None:
        """Fine-tune the retriever, the re-ranker or the reader (`option`) and write it.

        Nothing is written without questions, and no re-ranker or reader if the encoder has no token states.
        """
        from contexture.encoders.saved import read_settings
        from contexture.tasks.multi_hop.finetune import finetune_reader, finetune_reranker
        from contexture.tasks.ranking.finetune import finetune_ranking

        questions = data_dir / DATA
        if not questions.exists():
            return
        if option == DATA:
            finetune_ranking(settings.retrieval, encoder, questions, model_dir)
        elif not read_settings(Path(encoder.models[0])).config.has_states:
            LOG.warning("%s has no token states and cannot become a %s", encoder.variant, option)
        elif option == RERANKER:
            finetune_reranker(settings, encoder, questions, model_dir)
        else:
            finetune_reader(settings.reading, encoder, questions, model_dir)

    def evaluate(
        self,
        settings: MultiHopSettings,
        encoders: Sequence[EvaluatedEncoder],
        data_dir: Path,
        vectors_dir: Path,
        parallel_map: ParallelMap = serial_map,
    ) -> Results:
        """Return the results of all encoders and BM25 (`evaluation.evaluate_multi_hop`); none without questions."""
        from contexture.tasks.multi_hop.evaluation import evaluate_multi_hop

        return evaluate_multi_hop(settings, encoders, data_dir, vectors_dir, parallel_map)

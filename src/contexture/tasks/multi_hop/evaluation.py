"""Multi-hop evaluation: retrieve paragraphs by vectors, re-rank them, and read the answer in the best two."""

import logging
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from contexture.encoders.saved import encoder_checksum
from contexture.metrics.scores import to_records
from contexture.tasks.answer_selection.model import load_answer_model
from contexture.tasks.answer_selection.scoring import score_candidates as pair_scores
from contexture.tasks.base import EvaluatedEncoder, ParallelMap, Results, list_seeds
from contexture.tasks.examples import select_examples
from contexture.tasks.multi_hop.config import DATA, READER, RERANKER, MultiHopSettings
from contexture.tasks.multi_hop.data import MultiHopQuestions, Paragraphs, read_paragraphs, read_questions
from contexture.tasks.multi_hop.finetune import MAX_PARAGRAPHS, find_start_encoder, finetune_reader, finetune_reranker
from contexture.tasks.multi_hop.inputs import ReaderInputs
from contexture.tasks.multi_hop.measures import combine_scores, score_answer, score_facts
from contexture.tasks.multi_hop.reader import ReaderModel, load_reader
from contexture.tasks.ranking.evaluation import (
    FROZEN,
    SCORE_NAMES,
    PreparedSet,
    SetModel,
    list_models,
    score_candidates,
)
from contexture.tasks.ranking.ranks import BM25, order_by_score
from contexture.tasks.task_folder import read_report
from contexture.training.launcher import file_checksums, launch

LOG = logging.getLogger(__name__)
NAME = "multi_hop"
#: The metric of retrieval, and those of answers.
RECALL = "paragraph_recall"
ANSWER_METRICS = ["passage_em", "answer_em", "answer_f1", "support_em", "support_f1", "joint_em", "joint_f1"]


@dataclass(frozen=True)
class MultiHopResults:
    """Results of one retrieval."""

    variant: str
    protocol: str
    #: One row per question: `RECALL` and, with a reader, `ANSWER_METRICS`, the answer and the titles.
    table: pd.DataFrame
    #: Name of the vectors' score; "" for BM25.
    score: str = ""
    fallback_note: str = ""

    @property
    def is_read(self) -> bool:
        """Whether the table has answers."""
        return "joint_f1" in self.table


def evaluate_multi_hop(
    settings: MultiHopSettings,
    encoders: Sequence[EvaluatedEncoder],
    data: Path,
    vectors_dir: Path,
    parallel_map: ParallelMap,
) -> Results:
    """Return the metrics of retrieval and of answers for all variants and BM25.

    If the settings name a `reader`, it is trained first, once per seed, and used for all variants. The protocol is that
    of the retrieving encoder: frozen or fine-tuned. The table `answers` has one row per question.
    """
    folder = data / DATA
    if not folder.exists() or not encoders or not len(read_questions(folder, "test")):
        return Results()
    seeds = list_seeds(encoders)
    shared_readers: dict[int, Path] = {}
    if settings.reader is not None:
        shared_readers = {seed: vectors_dir / READER / f"seed-{seed}" for seed in seeds}
        jobs = [(settings, seed, data, reader_dir) for seed, reader_dir in shared_readers.items()]
        parallel_map(train_shared_reader, jobs)
    ranked = PreparedSet(DATA, folder, all_needed=True)
    models = [model for encoder in encoders for model in list_models(encoder, ranked, settings.retrieval)]
    readers = [shared_readers.get(model.evaluated.seed) or _find_readers_dir(model.evaluated) for model in models]
    arguments = [(model, settings, reader, vectors_dir) for model, reader in zip(models, readers, strict=True)]
    results: list[MultiHopResults] = parallel_map(_answer_by_vectors, arguments)
    bm25_jobs = [(seed, folder, settings.paragraphs, shared_readers.get(seed)) for seed in seeds]
    results += parallel_map(_answer_by_bm25, bm25_jobs)

    scores: dict[str, dict[str, str]] = {}
    for result in results:
        if result.score:
            scores.setdefault(result.protocol, {})[result.variant] = result.score
    notes = [*dict.fromkeys(result.fallback_note for result in results if result.fallback_note)]
    if settings.reader is not None:
        notes.append(f"re-ranker and reader start from {settings.reader} and are shared by all variants")
    unread = dict.fromkeys(result.variant for result in results if result.variant != BM25 and not result.is_read)
    if unread:
        notes.append(f"retrieval metrics only, without a Transformer fine-tuned to read: {', '.join(unread)}")
    for note in notes:
        LOG.warning("%s", note)
    records = [
        record
        for result in results
        for record in to_records(result.table, [RECALL, *(ANSWER_METRICS if result.is_read else [])], NAME, DATA)
    ]
    read = [result for result in results if result.is_read]
    best = max(read, key=lambda result: float(result.table["joint_f1"].mean()), default=None)
    examples = [_describe_examples(best)] if best else []
    details = {"scores": scores, "notes": [*read_report(data)["notes"], *notes], "examples": examples}
    return Results(records, details, {"answers": pd.concat([result.table for result in results], ignore_index=True)})


def train_shared_reader(settings: MultiHopSettings, seed: int, data: Path, folder: Path) -> None:
    """Fine-tune the re-ranker and reader that all variants share, on one device; finished models are reused."""
    assert settings.reader is not None
    start = find_start_encoder(settings.reader, seed, folder / "start")
    identity = {
        "settings": {name: asdict(settings.get_option_settings(name)) for name in (RERANKER, READER)},
        "paragraphs": settings.paragraphs,
        "seed": seed,
        "start": encoder_checksum(start),
        "data": file_checksums(data),
    }
    encoder, questions = EvaluatedEncoder(settings.reader, seed, (str(start),)), data / DATA
    reading = replace(settings.reading, devices=1)
    one_device = replace(settings, reranker=replace(settings.reranker, devices=1), reading=reading)
    for name, train in (
        (RERANKER, lambda work: finetune_reranker(one_device, encoder, questions, work)),
        (READER, lambda work: finetune_reader(reading, encoder, questions, work)),
    ):
        launch(folder / name, lambda: identity, 1, train, None)


def _find_readers_dir(encoder: EvaluatedEncoder) -> Path | None:
    """Return the folder of the re-ranker and reader fine-tuned from the variant's Transformer; None without them."""
    folder = encoder.finetuned_dir
    return folder if folder is not None and (folder / READER / ReaderModel.settings_file).exists() else None


def _answer_by_vectors(
    model: SetModel, settings: MultiHopSettings, readers_dir: Path | None, vectors_dir: Path
) -> MultiHopResults:
    """Return the results of answering from the paragraphs that the model's vectors retrieve."""
    scored = score_candidates(model, settings.retrieval, vectors_dir)
    questions = zip(scored.questions.candidates, scored.questions.right, scored.scores[scored.default], strict=True)
    retrieved = [
        rows[order_by_score(scores, np.isin(rows, right))[: settings.paragraphs]].tolist()
        for rows, right, scores in questions
    ]
    variant, seed = model.evaluated.variant, model.evaluated.seed
    table = answer_questions(retrieved, model.data.folder, readers_dir).assign(variant=variant, seed=seed)
    table = table.assign(split="test", protocol=model.protocol)
    return MultiHopResults(variant, model.protocol, table, SCORE_NAMES[scored.default], scored.fallback_note)


def _answer_by_bm25(seed: int, folder: Path, count: int, readers_dir: Path | None) -> MultiHopResults:
    """Return the results of answering from BM25's first `count` paragraphs, the first stored candidates."""
    retrieved = [rows[:count].tolist() for rows in read_questions(folder, "test").ranked.candidates]
    table = answer_questions(retrieved, folder, readers_dir)
    return MultiHopResults(BM25, FROZEN, table.assign(variant=BM25, seed=seed, split="test", protocol=FROZEN))


def answer_questions(retrieved: Sequence[list[int]], folder: Path, readers_dir: Path | None) -> pd.DataFrame:
    """Return a row per test question: recall of the retrieved paragraphs and, with readers, answer and its metrics."""
    questions, paragraphs = read_questions(folder, "test"), read_paragraphs(folder)
    ranked = questions.ranked
    table = pd.DataFrame({"question_id": ranked.ids, "question": ranked.texts})
    pairs = zip(ranked.right, retrieved, strict=True)
    table[RECALL] = [sum(row in rows for row in right) / len(right) for right, rows in pairs]
    if readers_dir is None:
        return table
    chosen = rerank(retrieved, questions, paragraphs, readers_dir / RERANKER)
    model = load_reader(readers_dir / READER)
    inputs = ReaderInputs(paragraphs, chosen, model.encoder, model.settings.tokens)
    readings = model.read(inputs, list(zip(ranked.texts, chosen, strict=True)))
    rows = []
    for reading, chosen_rows, right, gold, gold_facts in zip(
        readings, chosen, ranked.right, questions.answers, questions.facts, strict=True
    ):
        answer_scores = score_answer(reading.answer, gold)
        fact_scores = score_facts(reading.facts(model.settings.threshold), gold_facts)
        joint_scores = combine_scores(answer_scores, fact_scores)
        values = [value for measure in (answer_scores, fact_scores, joint_scores) for value in (measure.em, measure.f1)]
        titles = " and ".join(paragraphs.titles[row] for row in chosen_rows)
        right_titles = " and ".join(sorted({title for title, _ in gold_facts}))
        passage_em = float(set(chosen_rows) == set(right.tolist()))
        rows.append((passage_em, *values, reading.answer, gold, titles, right_titles))
    columns = [*ANSWER_METRICS, "answer", "right", "titles", "right_titles"]
    return table.join(pd.DataFrame(rows, columns=columns))


def rerank(
    retrieved: Sequence[list[int]], questions: MultiHopQuestions, paragraphs: Paragraphs, folder: Path
) -> list[list[int]]:
    """Return, for each question, the two paragraphs with the highest re-ranker scores, best first."""
    model, chosen = load_answer_model(folder), []
    for question, right, rows in zip(questions.ranked.texts, questions.ranked.right, retrieved, strict=True):
        scores = pair_scores(model, question, [paragraphs.texts[row] for row in rows]) if rows else np.empty(0)
        chosen.append([rows[position] for position in order_by_score(scores, np.isin(rows, right))[:MAX_PARAGRAPHS]])
    return chosen


def _describe_examples(result: MultiHopResults) -> dict[str, Any]:
    """Return example questions, answered and missed, with the predicted answer and the paragraphs that were read."""

    def describe_example(number: int) -> dict[str, str]:
        """Return a question with the predicted answer and the right one, each with its paragraphs' titles."""
        values = result.table.iloc[number]
        return {
            "question": str(values["question"]),
            "predicted": f"{values['answer'] or 'No answer'} (read in {values['titles'] or 'nothing'})",
            "right": f"{values['right']} (in {values['right_titles']})",
        }

    is_right = [em == 1 for em in result.table["answer_em"]]
    return select_examples(result.variant, result.protocol, is_right, describe_example)

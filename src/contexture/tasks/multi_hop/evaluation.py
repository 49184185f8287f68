"""Every variant on the test questions: its vectors find paragraphs, two of them are chosen, read and answered."""

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
from contexture.tasks.multi_hop.data import HopQuestions, Paragraphs, read_paragraphs, read_questions
from contexture.tasks.multi_hop.finetune import MAX_PARAGRAPHS, finetune_reader, finetune_reranker, start_of
from contexture.tasks.multi_hop.inputs import ReaderInputs
from contexture.tasks.multi_hop.measures import answer_measure, joint_measure, support_measure
from contexture.tasks.multi_hop.reader import ReaderModel, load_reader
from contexture.tasks.ranking.evaluation import FROZEN, SCORE_NAMES, RankedSet, SetModel, models_of, score_candidates
from contexture.tasks.ranking.ranks import BM25, ordered
from contexture.tasks.task_folder import read_report
from contexture.training.launcher import file_checksums, launch

LOG = logging.getLogger(__name__)
NAME = "multi_hop"
#: The measure of retrieval, and those of answers.
RECALL = "paragraph_recall"
ANSWER_METRICS = ["passage_em", "answer_em", "answer_f1", "support_em", "support_f1", "joint_em", "joint_f1"]


@dataclass(frozen=True)
class HopResults:
    """The results of one retrieval."""

    variant: str
    protocol: str
    #: A row a question: `RECALL` and, if there are models that read, `ANSWER_METRICS`, the answer and the titles.
    table: pd.DataFrame
    #: The name of the score of its vectors; "" for BM25.
    score: str = ""
    fell_back: str = ""

    @property
    def is_read(self) -> bool:
        """Whether the questions were answered."""
        return "joint_f1" in self.table


def evaluate_multi_hop(
    settings: MultiHopSettings, encoders: Sequence[EvaluatedEncoder], data: Path, place: Path, parallel_map: ParallelMap
) -> Results:
    """Measure all variants, and BM25, by the paragraphs that they find, and by the answers that are read in them.

    A `reader` of the settings is trained first, once for each seed, and reads for all variants. The protocol is that of
    the encoder that finds: frozen or fine-tuned. The table `answers` has every question.
    """
    folder = data / DATA
    if not folder.exists() or not encoders or not len(read_questions(folder, "test")):
        return Results()
    seeds = list_seeds(encoders)
    fixed: dict[int, Path] = {}
    if settings.reader is not None:
        fixed = {seed: place / READER / f"seed-{seed}" for seed in seeds}
        parallel_map(train_fixed, [(settings, seed, data, into) for seed, into in fixed.items()])
    ranked = RankedSet(DATA, folder, all_needed=True)
    models = [model for encoder in encoders for model in models_of(encoder, ranked, settings.retrieval)]
    readers = [fixed.get(model.evaluated.seed) or _reader_of(model.evaluated) for model in models]
    arguments = [(model, settings, reader, place) for model, reader in zip(models, readers, strict=True)]
    results: list[HopResults] = parallel_map(_by_vectors, arguments)
    results += parallel_map(_by_words, [(seed, folder, settings.paragraphs, fixed.get(seed)) for seed in seeds])

    scores: dict[str, dict[str, str]] = {}
    for result in results:
        if result.score:
            scores.setdefault(result.protocol, {})[result.variant] = result.score
    notes = [*dict.fromkeys(result.fell_back for result in results if result.fell_back)]
    if settings.reader is not None:
        notes.append(f"re-ranker and reader start from {settings.reader} and are the same for all")
    unread = dict.fromkeys(result.variant for result in results if result.variant != BM25 and not result.is_read)
    if unread:
        notes.append(f"by retrieval alone, as they have no Transformer fine-tuned to read: {', '.join(unread)}")
    for note in notes:
        LOG.warning("%s", note)
    records = [
        record
        for result in results
        for record in to_records(result.table, [RECALL, *(ANSWER_METRICS if result.is_read else [])], NAME, DATA)
    ]
    read = [result for result in results if result.is_read]
    examples = [_example(max(read, key=lambda result: float(result.table["joint_f1"].mean())))] if read else []
    details = {"scores": scores, "notes": [*read_report(data)["notes"], *notes], "examples": examples}
    return Results(records, details, {"answers": pd.concat([result.table for result in results], ignore_index=True)})


def train_fixed(settings: MultiHopSettings, seed: int, data: Path, folder: Path) -> None:
    """Fine-tune the re-ranker and the reader of all variants, on one device; those of the same settings are kept."""
    assert settings.reader is not None
    start = start_of(settings.reader, seed, folder / "start")
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


def _reader_of(encoder: EvaluatedEncoder) -> Path | None:
    """The folder of the models made of a variant's own Transformer; None without."""
    folder = encoder.finetuned_dir
    return folder if folder is not None and (folder / READER / ReaderModel.settings_file).exists() else None


def _by_vectors(model: SetModel, settings: MultiHopSettings, readers: Path | None, place: Path) -> HopResults:
    scored = score_candidates(model, settings.retrieval, place)
    questions = zip(scored.questions.candidates, scored.questions.right, scored.scores[scored.default], strict=True)
    first = [
        rows[ordered(scores, np.isin(rows, right))[: settings.paragraphs]].tolist() for rows, right, scores in questions
    ]
    variant, seed = model.evaluated.variant, model.evaluated.seed
    table = answer(first, model.data.folder, readers).assign(variant=variant, seed=seed)
    table = table.assign(split="test", protocol=model.protocol)
    return HopResults(variant, model.protocol, table, SCORE_NAMES[scored.default], scored.fell_back)


def _by_words(seed: int, folder: Path, count: int, readers: Path | None) -> HopResults:
    """Answer by the order of BM25, which is that of the candidates."""
    first = [rows[:count].tolist() for rows in read_questions(folder, "test").ranked.candidates]
    table = answer(first, folder, readers).assign(variant=BM25, seed=seed, split="test", protocol=FROZEN)
    return HopResults(BM25, FROZEN, table)


def answer(first: Sequence[list[int]], folder: Path, readers: Path | None) -> pd.DataFrame:
    """A row for each test question: the measures of its first paragraphs, and of the answer that is read in them."""
    questions, paragraphs = read_questions(folder, "test"), read_paragraphs(folder)
    ranked = questions.ranked
    table = pd.DataFrame({"question_id": ranked.ids, "question": ranked.texts})
    pairs = zip(ranked.right, first, strict=True)
    table[RECALL] = [sum(row in rows for row in right) / len(right) for right, rows in pairs]
    if readers is None:
        return table
    chosen = rerank(first, questions, paragraphs, readers / RERANKER)
    model = load_reader(readers / READER)
    inputs = ReaderInputs(paragraphs, chosen, model.encoder, model.settings.tokens)
    read = model.read(inputs, list(zip(ranked.texts, chosen, strict=True)))
    rows = []
    for reading, chosen_rows, right, gold, gold_facts in zip(
        read, chosen, ranked.right, questions.answers, questions.details, strict=True
    ):
        answered = answer_measure(reading.answer, gold)
        supported = support_measure(reading.details(model.settings.threshold), gold_facts)
        both = joint_measure(answered, supported)
        values = [value for measure in (answered, supported, both) for value in (measure.em, measure.f1)]
        titles = " and ".join(paragraphs.titles[row] for row in chosen_rows)
        right_titles = " and ".join(sorted({title for title, _ in gold_facts}))
        passage_em = float(set(chosen_rows) == set(right.tolist()))
        rows.append((passage_em, *values, reading.answer, gold, titles, right_titles))
    columns = [*ANSWER_METRICS, "answer", "right", "titles", "right_titles"]
    return table.join(pd.DataFrame(rows, columns=columns))


def rerank(
    first: Sequence[list[int]], questions: HopQuestions, paragraphs: Paragraphs, folder: Path
) -> list[list[int]]:
    """The two of each question's paragraphs that the re-ranker scores highest, the best one first."""
    model, chosen = load_answer_model(folder), []
    for question, right, rows in zip(questions.ranked.texts, questions.ranked.right, first, strict=True):
        scores = pair_scores(model, question, [paragraphs.texts[row] for row in rows]) if rows else np.empty(0)
        chosen.append([rows[position] for position in ordered(scores, np.isin(rows, right))[:MAX_PARAGRAPHS]])
    return chosen


def _example(result: HopResults) -> dict[str, Any]:
    """Questions that were answered and others, with the paragraphs that the answer was read in."""

    def row(number: int) -> dict[str, str]:
        values = result.table.iloc[number]
        return {
            "question": str(values["question"]),
            "found": f"{values['answer'] or 'No answer'} (read in {values['titles'] or 'nothing'})",
            "right": f"{values['right']} (in {values['right_titles']})",
        }

    return select_examples(result.variant, result.protocol, [em == 1 for em in result.table["answer_em"]], row)

"""Every contestant on the test questions: paragraphs found by its vectors, two of them chosen, read and answered."""

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
from contexture.tasks.base import Contestant, Each, Results, one_by_one, seeds_of
from contexture.tasks.examples import to_read
from contexture.tasks.multi_hop.config import DATA, READER, RERANKER, MultiHopSettings
from contexture.tasks.multi_hop.data import HopQuestions, Paragraphs, read_paragraphs, read_questions
from contexture.tasks.multi_hop.finetune import READ, finetune_reader, finetune_reranker, start_of
from contexture.tasks.multi_hop.inputs import ReaderInputs
from contexture.tasks.multi_hop.measures import answer_measure, joint_measure, support_measure
from contexture.tasks.multi_hop.reader import Read, ReaderModel, load_reader
from contexture.tasks.ranking.evaluation import (
    FROZEN,
    SAID,
    Measured,
    RankedSet,
    models_of,
    score_candidates,
)
from contexture.tasks.ranking.ranks import ordered
from contexture.training.launcher import file_checksums, launch

LOG = logging.getLogger(__name__)
NAME = "multi_hop"
BM25 = "bm25"
#: Of retrieval alone, and of the whole way.
FOUND = "paragraph_recall"
ANSWERED = ["passage_em", "answer_em", "answer_f1", "support_em", "support_f1", "joint_em", "joint_f1"]


@dataclass(frozen=True)
class Answered:
    """What came of one retrieval."""

    variant: str
    seed: int
    protocol: str
    #: A row a question: `FOUND` and, where there are models that read, `ANSWERED`, the answer and the titles.
    table: pd.DataFrame
    #: What its vectors were compared by; "" where there were none.
    score: str = ""
    fell_back: str = ""

    @property
    def metrics(self) -> list[str]:
        """The columns that are measures."""
        return [name for name in (FOUND, *ANSWERED) if name in self.table]


def evaluate_multi_hop(
    settings: MultiHopSettings,
    contestants: Sequence[Contestant],
    data: Path,
    place: Path,
    each: Each = one_by_one,
) -> Results:
    """All contestants, and BM25, by the paragraphs that they find; those that can be read are read.

    A `reader` of the settings is trained first, once a seed, and reads what every contestant found. The protocol says
    how the encoder that finds was measured: frozen or fine-tuned. The table `answers` has every question.
    """
    folder = data / DATA
    if not contestants or not len(read_questions(folder, "test")):
        return Results()
    seeds = seeds_of(contestants)
    fixed: dict[int, Path] = {}
    if settings.reader is not None:
        fixed = {seed: place / READER / f"seed-{seed}" for seed in seeds}
        each(train_fixed, [(settings, seed, data, into) for seed, into in fixed.items()])
    ranked = RankedSet(DATA, folder, all_needed=True)
    models = [one for contestant in contestants for one in models_of(contestant, ranked, settings.retrieval)]
    readers = [fixed.get(one.contestant.seed) or _own(one.contestant) for one in models]
    given = [(one, settings, reader, place) for one, reader in zip(models, readers, strict=True)]
    found: list[Answered] = each(_by_vectors, given)
    found += each(_by_words, [(seed, folder, settings.paragraphs, fixed.get(seed)) for seed in seeds])

    scores: dict[str, dict[str, str]] = {}
    for one in found:
        if one.score:
            scores.setdefault(one.protocol, {})[one.variant] = one.score
    unread = dict.fromkeys(one.variant for one in found if len(one.metrics) == 1 and one.variant != BM25)
    notes = [*dict.fromkeys(one.fell_back for one in found if one.fell_back)]
    if settings.reader is not None:
        notes.append(f"re-ranker and reader start from {settings.reader} and are the same for all")
    if unread:
        notes.append(f"by retrieval alone, as they have no Transformer fine-tuned to read: {', '.join(unread)}")
    for note in notes:
        LOG.warning("%s", note)
    records = [record for one in found for record in to_records(one.table, one.metrics, NAME, DATA)]
    read = [one for one in found if "joint_f1" in one.table]
    best = max(read, key=lambda one: float(one.table["joint_f1"].mean()), default=None)
    facts = {"scores": scores, "notes": notes, "examples": [_example(best)] if best else []}
    return Results(records, facts, {"answers": pd.concat([one.table for one in found], ignore_index=True)})


def train_fixed(settings: MultiHopSettings, seed: int, data: Path, folder: Path) -> None:
    """Fine-tune the re-ranker and the reader of all contestants, on one device; those of the same settings are kept."""
    assert settings.reader is not None
    start = start_of(settings.reader, seed, folder / "start")
    identity = {
        "settings": {name: asdict(settings.of(name)) for name in (RERANKER, READER)},
        "paragraphs": settings.paragraphs,
        "seed": seed,
        "start": encoder_checksum(start),
        "data": file_checksums(data),
    }
    contestant, place = Contestant(settings.reader, seed, (str(start),)), data / DATA
    reading = replace(settings.reading, devices=1)
    alone = replace(settings, reranker=replace(settings.reranker, devices=1), reading=reading)
    for name, train in (
        (RERANKER, lambda work: finetune_reranker(alone, contestant, place, work)),
        (READER, lambda work: finetune_reader(reading, contestant, place, work)),
    ):
        launch(folder / name, lambda: identity, 1, train, None)


def _own(contestant: Contestant) -> Path | None:
    """Where the models lie that were made of a contestant's own Transformer; None without."""
    place = contestant.finetuned
    return place if place is not None and (place / READER / ReaderModel.settings_file).exists() else None


def _by_vectors(model: Measured, settings: MultiHopSettings, readers: Path | None, place: Path) -> Answered:
    found = score_candidates(model, settings.retrieval, place)
    each = zip(found.questions.candidates, found.questions.right, found.scores, strict=True)
    first = [
        rows[ordered(scores, np.isin(rows, right))[: settings.paragraphs]].tolist() for rows, right, scores in each
    ]
    one = model.contestant
    table = answer(first, model.data.folder, readers).assign(variant=one.variant, seed=one.seed)
    table = table.assign(split="test", protocol=model.protocol)
    return Answered(one.variant, one.seed, model.protocol, table, SAID[found.score], found.fell_back)


def _by_words(seed: int, folder: Path, count: int, readers: Path | None) -> Answered:
    """By BM25's own order, in which the candidates stand."""
    first = [rows[:count].tolist() for rows in read_questions(folder, "test").asked.candidates]
    table = answer(first, folder, readers).assign(variant=BM25, seed=seed, split="test", protocol=FROZEN)
    return Answered(BM25, seed, FROZEN, table)


def answer(first: Sequence[list[int]], folder: Path, readers: Path | None) -> pd.DataFrame:
    """A row a test question: what is measured of the paragraphs that came first, and of the answer read there."""
    questions, paragraphs = read_questions(folder, "test"), read_paragraphs(folder)
    gold = [set(map(int, rows)) for rows in questions.asked.right]
    table = pd.DataFrame({"question_id": questions.asked.ids, "question": questions.asked.texts})
    table[FOUND] = [
        sum(row in rows for row in right) / len(right) for right, rows in zip(questions.asked.right, first, strict=True)
    ]
    if readers is None:
        return table
    chosen = rerank(first, questions, paragraphs, readers / RERANKER)
    model = load_reader(readers / READER)
    inputs = ReaderInputs(paragraphs, chosen, model.encoder, model.settings.tokens)
    read = model.read(inputs, list(zip(questions.asked.texts, chosen, strict=True)))
    table["passage_em"] = [float(set(rows) == right) for rows, right in zip(chosen, gold, strict=True)]
    measured = [
        _measures(one, told, facts, model.settings.threshold)
        for one, told, facts in zip(read, questions.answers, questions.facts, strict=True)
    ]
    for place, name in enumerate(ANSWERED[1:]):
        table[name] = [values[place] for values in measured]
    table["answer"], table["right"] = [one.answer for one in read], questions.answers
    titles = ([paragraphs.titles[row] for row in rows] for rows in chosen)
    table["titles"] = [" and ".join(one) for one in titles]
    table["right_titles"] = [" and ".join(sorted({title for title, _ in one})) for one in questions.facts]
    return table


def rerank(
    first: Sequence[list[int]], questions: HopQuestions, paragraphs: Paragraphs, folder: Path
) -> list[list[int]]:
    """The two of each question's paragraphs that the re-ranker takes for the best, the best one first."""
    model = load_answer_model(folder)
    chosen = []
    for question, right, rows in zip(questions.asked.texts, questions.asked.right, first, strict=True):
        scores = pair_scores(model, question, [paragraphs.texts[row] for row in rows]) if rows else np.empty(0)
        chosen.append([rows[place] for place in ordered(scores, np.isin(rows, right))[:READ]])
    return chosen


def _measures(found: Read, right: str, facts: set[Any], threshold: float) -> list[float]:
    """`ANSWERED` without the first."""
    answered, supported = answer_measure(found.answer, right), support_measure(found.facts(threshold), facts)
    both = joint_measure(answered, supported)
    return [value for one in (answered, supported, both) for value in (one.em, one.f1)]


def _example(found: Answered) -> dict[str, Any]:
    """Questions that were answered and others, with the paragraphs that the answer was read in."""
    table = found.table

    def row(number: int) -> dict[str, str]:
        one = table.iloc[number]
        return {
            "question": str(one["question"]),
            "found": f"{one['answer'] or 'No answer'} (read in {one['titles'] or 'nothing'})",
            "right": f"{one['right']} (in {one['right_titles']})",
        }

    return to_read(found.variant, found.protocol, [em == 1 for em in table["answer_em"]], row)

"""Fine-tune the re-ranker and the reader on multi-hop questions."""

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from contexture.encoders.base import Encoder, build_encoder
from contexture.encoders.config import Lengths, TransformerConfig
from contexture.encoders.files import load_encoder, save_encoder
from contexture.encoders.named import model_places
from contexture.encoders.saved import is_encoder, of_seed
from contexture.seeding import mix
from contexture.tasks.answer_selection.finetune import finetune_answers
from contexture.tasks.answer_selection.model import make_room
from contexture.tasks.base import Contestant
from contexture.tasks.multi_hop.config import MultiHopSettings, ReaderSettings
from contexture.tasks.multi_hop.data import HopQuestions, Paragraphs, read_paragraphs, read_questions
from contexture.tasks.multi_hop.inputs import Input, ReaderInputs, labels
from contexture.tasks.multi_hop.measures import answer_measure, joint_measure, support_measure
from contexture.tasks.multi_hop.reader import Read, ReaderModel
from contexture.tasks.ranking.config import Split
from contexture.tasks.ranking.data import read_split, read_texts, trainable
from contexture.training.finetune import finetune
from contexture.training.ranks import own_rank
from contexture.vocabulary.tokenizers import VocabularyConfig, train_tokenizer
from contexture.vocabulary.vocabulary import Vocabulary

LOG = logging.getLogger(__name__)
RERANKED = "re-ranker"
SPLITS: tuple[Split, ...] = ("train", "dev")
#: Paragraphs that the reader reads.
READ = 2
#: From how probable a sentence is taken for a fact: what is chosen from.
THRESHOLDS = tuple(step / 20 for step in range(1, 20))


def finetune_reranker(settings: MultiHopSettings, start: Path, seed: int, data: Path, folder: Path) -> None:
    """Fine-tune a pairwise model that tells gold paragraphs from those that BM25 finds beside them; see `candidates`.

    It is a model of answer selection; deterministic in settings, encoder, seed and data.
    """
    train, dev = (candidates(data, split, settings.paragraphs) for split in SPLITS)
    contestant = Contestant(RERANKED, seed, (str(start),), None, "ie_1")
    finetune_answers(settings.reranker, contestant, [train], dev, folder)


def candidates(data: Path, split: Split, count: int) -> pd.DataFrame:
    """Of each question the gold paragraphs, and as many of the first wrong ones as make up `count`."""
    questions, texts, rows = read_split(data, split), read_texts(data), []
    for number in trainable(questions):
        right = questions.right[number][questions.right[number] >= 0]
        wrong = questions.candidates[number]
        wrong = wrong[~np.isin(wrong, right)][: max(1, count - len(right))]
        for label, some in ((1, right), (0, wrong)):
            rows += [(questions.ids[number], questions.texts[number], texts[row], label) for row in some]
    return pd.DataFrame(rows, columns=["question_id", "question", "candidate", "label"])


class ReaderBatches:
    """Batches of questions with their gold paragraphs, both shuffled anew for every epoch."""

    def __init__(
        self, questions: HopQuestions, inputs: ReaderInputs, settings: ReaderSettings, seed: int, rank: int = 0
    ) -> None:
        """Raises ValueError for fewer questions than devices."""
        self.questions, self.inputs, self.seed = questions, inputs, seed
        self.rank, self.ranks = rank, settings.devices
        self.chosen = [number for number, rows in enumerate(gold_rows(questions)) if rows]
        if len(self.chosen) < self.ranks:
            raise ValueError(f"{len(self.chosen)} questions to learn from are too few for {self.ranks} devices")
        self.batch_size = min(settings.batch_size, len(self.chosen) - len(self.chosen) % self.ranks)
        self.per_epoch = len(self.chosen) // self.batch_size
        self.rows = gold_rows(questions)
        answers = zip(questions.answers, self.rows, questions.facts, strict=True)
        self.spans = [inputs.span(answer, rows, facts) for answer, rows, facts in answers]

    def batch(self, step: int) -> dict[str, Any]:
        """This device's part of the batch of an optimizer step, from 0."""
        epoch, part = divmod(step, self.per_epoch)
        order = np.random.default_rng(mix(self.seed, epoch)).permutation(self.chosen)
        numbers = order[part * self.batch_size : (part + 1) * self.batch_size][self.rank :: self.ranks]
        given = [self._input(number, epoch) for number in numbers]
        batch = self.inputs.batch(given)
        titles, questions = self.inputs.paragraphs.titles, self.questions
        right = [
            labels(one, questions.answers[number], self.spans[number], questions.facts[number], titles)
            for one, number in zip(given, numbers, strict=True)
        ]
        support = torch.zeros(batch["there"].shape)
        for line, told in zip(support, right, strict=True):
            line[: len(told.support)] = torch.tensor(told.support)
        columns = {name: torch.tensor([getattr(told, name) for told in right]) for name in ("kind", "first", "last")}
        return batch | columns | {"support": support}

    def encode(self, encoder: Encoder, batch: Mapping[str, Any]) -> Tensor:
        """States (B, T, H)."""
        return encoder.states(dict(batch))

    def _input(self, number: int, epoch: int) -> Input:
        rows = np.random.default_rng(mix(self.seed, epoch, int(number))).permutation(self.rows[number])
        return self.inputs.input(self.questions.asked.texts[number], rows.tolist())


def finetune_reader(settings: ReaderSettings, start: Path, seed: int, data: Path, folder: Path) -> None:
    """Fine-tune an encoder to read gold paragraphs, and write the reader with the best joint F1 on dev to `folder`.

    How probable a sentence must be to be a fact is chosen on dev, too. Deterministic in settings, encoder, seed and
    data.

    Raises ValueError for an encoder without states of tokens, or without questions to train or to develop on.
    """
    torch.manual_seed(mix(seed, 3))
    encoder = load_encoder(start, head=False)
    make_room(encoder, settings.tokens, 2)
    model = ReaderModel(encoder, settings.tokens, settings.answer_tokens)
    paragraphs = read_paragraphs(data)
    train, dev = (read_questions(data, split) for split in SPLITS)
    dev_rows = gold_rows(dev)
    inputs, dev_inputs = (_inputs(part, paragraphs, encoder, settings.tokens) for part in (train, dev))
    batches = ReaderBatches(train, inputs, settings, mix(seed, 4), own_rank())

    def read() -> list[Read]:
        return model.read(dev_inputs, list(zip(dev.asked.texts, dev_rows, strict=True)))

    def dev_f1() -> float:
        found = read()
        return joint_f1(dev, found, best_threshold(dev, found))

    best = finetune(
        encoder,
        model.task,
        batches,
        steps=batches.per_epoch * settings.epochs,
        evaluate_every=batches.per_epoch,
        patience=settings.patience,
        measure=dev_f1,
        better="higher",
        metric="dev/joint_f1",
        from_start=False,
        optimizer=settings.optimizer,
        precision=settings.precision,
        folder=folder,
        seed=mix(seed, 5),
        label="reader",
        devices=settings.devices,
    )
    if own_rank() == 0:
        model.threshold = best_threshold(dev, read())
        LOG.info("reader, seed %d: joint F1 on dev %.4f after %d steps", seed, best.value, best.step)
        model.save(folder)


def gold_rows(questions: HopQuestions) -> list[list[int]]:
    """The gold paragraphs that are there."""
    return [[int(row) for row in rows if row >= 0][:READ] for rows in questions.asked.right]


def best_threshold(questions: HopQuestions, found: Sequence[Read]) -> float:
    """The one with the best F1 of supporting facts; of equal ones the smallest."""

    def f1(threshold: float) -> float:
        pairs = zip(found, questions.facts, strict=True)
        return fmean(support_measure(one.facts(threshold), facts).f1 for one, facts in pairs)

    return max(THRESHOLDS, key=f1)


def joint_f1(questions: HopQuestions, found: Sequence[Read], threshold: float) -> float:
    """The mean over the questions."""
    return fmean(
        joint_measure(answer_measure(one.answer, answer), support_measure(one.facts(threshold), facts)).f1
        for one, answer, facts in zip(found, questions.answers, questions.facts, strict=True)
    )


def start_of(name: str, seed: int, folder: Path) -> Path:
    """The encoder that a name or folder stands for; a published one is written to `folder`, as ours are.

    Raises ValueError, naming it, where there is none, or several.
    """
    if is_encoder(place := of_seed(Path(name), seed)):
        return place
    found = model_places(name)
    if len(found) != 1:
        raise ValueError(f"{name}: re-ranker and reader start from one model")
    if is_encoder(place := Path(found[0])):
        return place
    train_tokenizer([], VocabularyConfig(published=found[0]), folder)
    config = TransformerConfig(init_from=found[0])
    save_encoder(build_encoder(config, Lengths(query=64, document=64), Vocabulary.load(folder)), folder)
    return folder


def _inputs(questions: HopQuestions, paragraphs: Paragraphs, encoder: Encoder, tokens: int) -> ReaderInputs:
    return ReaderInputs(paragraphs, [row for rows in gold_rows(questions) for row in rows], encoder, tokens)

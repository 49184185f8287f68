"""Fine-tune an encoder on questions, each with a right candidate among wrong ones (Cross-Thought, section 3.3)."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from contexture.encoders.base import Encoder, tokenized
from contexture.encoders.files import save_encoder
from contexture.encoders.layout import select
from contexture.seeding import mix
from contexture.tasks.base import Contestant
from contexture.tasks.finetuned import Examples, Step
from contexture.tasks.finetuning import Finetuning, finetune, load_start
from contexture.tasks.ranking.candidates import Rows
from contexture.tasks.ranking.config import RankingSettings
from contexture.tasks.ranking.data import Questions, check_set, read_split, read_texts, trainable
from contexture.tasks.ranking.loss import EMPTY, AnswerRanking, log_probabilities

#: Questions of dev that are measured, at most.
DEV_QUESTIONS = 1000
#: Questions whose candidates' vectors are brought together at a time.
AT_ONCE = 64


def drawn(questions: Questions, number: int, negatives: int, rng: np.random.Generator) -> Rows:
    """A right candidate of a question, then wrong ones, all of them if they are no more than `negatives`."""
    right = questions.right[number][questions.right[number] >= 0]
    wrong = questions.candidates[number]
    wrong = wrong[~np.isin(wrong, right)]
    chosen = rng.choice(wrong, min(negatives, len(wrong)), replace=False)
    return np.concatenate([rng.choice(right, 1), chosen])


def in_columns(candidates: list[Rows]) -> tuple[Rows, Rows]:
    """The different rows (U,) of several questions' candidates, and (Q, C) the places of each question's among them."""
    distinct, places = np.unique(np.concatenate(candidates), return_inverse=True)
    sizes = np.array([len(rows) for rows in candidates])
    columns = np.full((len(candidates), sizes.max()), EMPTY, np.int64)
    columns[np.arange(sizes.max()) < sizes[:, None]] = places
    return distinct, columns


class RankedQuestions(Examples):
    """Questions whose wrong candidates are drawn anew for each epoch; each text is encoded once a batch."""

    noun = "questions"

    def __init__(self, questions: Questions, texts: Sequence[str], encoder: Encoder, settings: RankingSettings) -> None:
        self.chosen = trainable(questions)
        self.questions, self.encoder, self.settings = questions, encoder, settings
        self.asked = tokenized(questions.texts, encoder.vocabulary)
        used = np.unique(np.concatenate([*questions.candidates, *questions.right]))
        self.used = used[used >= 0]
        self.texts = tokenized([texts[row] for row in self.used], encoder.vocabulary)

    def __len__(self) -> int:
        return len(self.chosen)

    def training_batch(self, step: Step) -> dict[str, Any]:
        """What `AnswerRanking` reads."""
        numbers, negatives = self.chosen[step.own_rows], self.settings.negatives
        rows, columns = in_columns([drawn(self.questions, n, negatives, step.generator(n)) for n in numbers])
        texts = select(self.texts, np.searchsorted(self.used, rows))
        tokens_at_once = self.settings.tokens_at_once
        return {
            "query": self.encoder.batch(select(self.asked, numbers), "query", tokens_at_once),
            "document": self.encoder.batch(texts, "document", tokens_at_once),
            "columns": torch.from_numpy(columns),
        }


class HeldOut:
    """Questions of dev, each with candidates that are drawn once."""

    def __init__(self, questions: Questions, texts: Sequence[str], negatives: int, seed: int) -> None:
        chosen = np.random.default_rng(seed).permutation(trainable(questions))[:DEV_QUESTIONS]
        generators = [np.random.default_rng(mix(seed, 0, number)) for number in chosen]
        candidates = [drawn(questions, n, negatives, rng) for n, rng in zip(chosen, generators, strict=True)]
        rows, columns = in_columns(candidates)
        self.questions, self.texts = [questions.texts[number] for number in chosen], [texts[row] for row in rows]
        self.columns = torch.from_numpy(columns)

    @torch.inference_mode()
    def loss(self, encoder: Encoder) -> float:
        """Mean of −log p(right candidate | question)."""
        device = next(encoder.parameters()).device
        vectors = encoder.embed(self.questions, "query"), encoder.embed(self.texts, "document")
        queries, documents = (torch.from_numpy(array).to(device) for array in vectors)
        columns = self.columns.to(device)
        total = 0.0
        for start in range(0, len(queries), AT_ONCE):
            part = slice(start, start + AT_ONCE)
            total -= float(log_probabilities(encoder.cross, queries[part], documents, columns[part])[:, 0].sum())
        return total / len(queries)


def finetune_ranking(settings: RankingSettings, contestant: Contestant, data: Path, folder: Path) -> float:
    """Fine-tune an encoder on the training questions of the set `data`; return the lowest loss on dev. See `finetune`.

    ValueError for a set without questions to train or to develop on.
    """
    check_set(data)
    texts, encoder = read_texts(data), load_start(contestant)
    encoder.recompute = settings.recompute
    held_out = HeldOut(read_split(data, "dev", "finetuned"), texts, settings.negatives, mix(contestant.seed, 6))
    examples = RankedQuestions(read_split(data, "train", "finetuned"), texts, encoder, settings)
    task = Finetuning(
        "ranking",
        encoder,
        AnswerRanking(encoder),
        examples,
        "loss",
        partial(held_out.loss, encoder),
        partial(save_encoder, encoder),
        lower_is_better=True,
        from_start=True,
    )
    return finetune(task, settings, contestant, folder)

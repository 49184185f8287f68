"""Fine-tune an encoder on questions, each with a right candidate among wrong ones (Cross-Thought, section 3.3)."""

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from contexture.encoders.base import Encoder, tokenized
from contexture.encoders.config import ROLES
from contexture.encoders.files import load_encoder, save_encoder
from contexture.encoders.layout import select
from contexture.seeding import mix
from contexture.tasks.base import Contestant
from contexture.tasks.ranking.candidates import Rows
from contexture.tasks.ranking.config import RankingSettings
from contexture.tasks.ranking.data import Questions, check_set, read_split, read_texts, trainable
from contexture.tasks.ranking.loss import EMPTY, AnswerRanking, log_probabilities
from contexture.training.finetune import finetune
from contexture.training.ranks import own_rank

LOG = logging.getLogger(__name__)
#: Questions of dev that are looked at, at most.
DEV_QUESTIONS = 1000
#: Questions whose candidates' vectors are brought together at a time.
AT_ONCE = 64


def drawn(questions: Questions, number: int, negatives: int, seed: int, epoch: int) -> Rows:
    """A question's candidates for an epoch: a right one, then wrong ones, all of them where they are no more.

    A function of the arguments alone; a right candidate is never among the wrong ones.
    """
    rng = np.random.default_rng(mix(seed, epoch, number))
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


class RankingBatches:
    """Batches of questions, shuffled anew for every epoch, whose candidates are drawn anew, too.

    Every text is tokenized once, and encoded once a batch. Questions are dealt out to the devices.
    """

    def __init__(
        self,
        questions: Questions,
        texts: list[str],
        encoder: Encoder,
        settings: RankingSettings,
        seed: int,
        rank: int = 0,
    ) -> None:
        """ValueError for fewer questions than devices."""
        self.chosen = trainable(questions)
        self.questions, self.encoder, self.settings, self.seed = questions, encoder, settings, seed
        self.rank, self.ranks = rank, settings.devices
        if len(self.chosen) < self.ranks:
            raise ValueError(f"{len(self.chosen)} questions to learn from are too few for {self.ranks} devices")
        self.batch_size = min(settings.batch_size, len(self.chosen) - len(self.chosen) % self.ranks)
        self.asked = tokenized(questions.texts, encoder.vocabulary)
        used = np.unique(np.concatenate([*questions.candidates, *questions.right]))
        self.used = used[used >= 0]
        self.texts = tokenized([texts[row] for row in self.used], encoder.vocabulary)

    def batch(self, step: int) -> dict[str, Any]:
        """This device's part of the batch of an optimizer step, from 0: what `AnswerRanking` reads."""
        epoch, part = divmod(step, len(self.chosen) // self.batch_size)
        order = np.random.default_rng(mix(self.seed, epoch)).permutation(self.chosen)
        numbers = order[part * self.batch_size : (part + 1) * self.batch_size][self.rank :: self.ranks]
        negatives = self.settings.negatives
        rows, columns = in_columns([drawn(self.questions, one, negatives, self.seed, epoch) for one in numbers])
        texts = select(self.texts, np.searchsorted(self.used, rows))
        tokens_at_once = self.settings.tokens_at_once
        return {
            "query": self.encoder.batch(select(self.asked, numbers), "query", tokens_at_once),
            "document": self.encoder.batch(texts, "document", tokens_at_once),
            "columns": torch.from_numpy(columns),
        }

    def encode(self, encoder: Encoder, batch: Mapping[str, Any]) -> dict[str, Tensor]:
        """Vectors (B, D) of each role."""
        return {role: encoder(batch[role], role) for role in ROLES}


class HeldOut:
    """Questions of dev, each with candidates that are drawn once."""

    def __init__(self, questions: Questions, texts: list[str], negatives: int, seed: int) -> None:
        chosen = np.random.default_rng(seed).permutation(trainable(questions))[:DEV_QUESTIONS]
        rows, columns = in_columns([drawn(questions, one, negatives, seed, 0) for one in chosen])
        self.questions, self.texts = [questions.texts[one] for one in chosen], [texts[row] for row in rows]
        self.columns = torch.from_numpy(columns)

    @torch.inference_mode()
    def loss(self, encoder: Encoder) -> float:
        """Mean of −log p(right candidate | question)."""
        device = next(encoder.parameters()).device
        vectors = encoder.embed(self.questions, "query"), encoder.embed(self.texts, "document")
        queries, documents = (torch.from_numpy(one).to(device) for one in vectors)
        columns = self.columns.to(device)
        total = 0.0
        for start in range(0, len(queries), AT_ONCE):
            part = slice(start, start + AT_ONCE)
            total -= float(log_probabilities(encoder.cross, queries[part], documents, columns[part])[:, 0].sum())
        return total / len(queries)


def finetune_ranking(settings: RankingSettings, contestant: Contestant, data: Path, folder: Path) -> None:
    """Fine-tune a contestant's encoder on the training questions of a set and write the best one to `folder`.

    The weights under which the right candidates of dev are most probable are kept, those that were pre-trained where
    training makes none better. Deterministic in settings, contestant and data, the folder of the set.

    Raises:
        ValueError: there is not one encoder of this project, or no question to train or to develop on.
    """
    if len(contestant.encoders) != 1:
        raise ValueError(f"{contestant.variant}: several encoders side by side are not fine-tuned")
    check_set(data)
    seed, texts = contestant.seed, read_texts(data)
    torch.manual_seed(mix(seed, 3))
    encoder = load_encoder(Path(contestant.encoders[0]), head=False)
    encoder.recompute = settings.recompute
    held_out = HeldOut(read_split(data, "dev", "finetuned"), texts, settings.negatives, mix(seed, 6))
    best = finetune(
        encoder,
        AnswerRanking(encoder),
        RankingBatches(read_split(data, "train", "finetuned"), texts, encoder, settings, mix(seed, 4), own_rank()),
        steps=settings.steps,
        evaluate_every=settings.evaluate_every,
        patience=settings.patience,
        measure=lambda: held_out.loss(encoder),
        better="lower",
        metric="dev/loss",
        from_start=True,
        optimizer=settings.optimizer,
        precision=settings.precision,
        folder=folder,
        seed=mix(seed, 5),
        label="ranking",
        devices=settings.devices,
    )
    if own_rank() == 0:
        LOG.info(
            "%s, %s, seed %d: loss %.3f after %d steps", contestant.variant, data.name, seed, best.value, best.step
        )
        save_encoder(encoder, folder)

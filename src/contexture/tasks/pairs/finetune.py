"""Fine-tune an encoder and a linear layer on labelled pairs of sentences (Cross-Thought, sections 3.3 and 4.2)."""

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from contexture.encoders.base import Encoder
from contexture.encoders.files import load_encoder
from contexture.encoders.layout import select
from contexture.seeding import mix
from contexture.tasks.base import Contestant
from contexture.tasks.pairs.config import PairSettings
from contexture.tasks.pairs.features import Labels, coded
from contexture.tasks.pairs.model import PairModel, PairTexts
from contexture.tasks.pairs.splits import first_rows
from contexture.training.finetune import finetune
from contexture.training.ranks import own_rank

LOG = logging.getLogger(__name__)


class PairBatches:
    """Batches of labelled pairs, shuffled anew for every epoch and dealt out to the devices."""

    def __init__(
        self, texts: PairTexts, labels: Labels, encoder: Encoder, settings: PairSettings, seed: int, rank: int = 0
    ) -> None:
        """Pairs of which a sentence has no token are left out; ValueError for fewer than devices."""
        self.texts, self.labels, self.encoder, self.seed = texts, labels, encoder, seed
        self.rank, self.ranks, self.tokens_at_once = rank, settings.devices, settings.tokens_at_once
        self.rows = np.flatnonzero(texts.there[texts.first] & texts.there[texts.second])
        if len(self.rows) < self.ranks:
            raise ValueError(f"{len(self.rows)} pairs are too few for {self.ranks} devices")
        self.batch_size = min(settings.batch_size, len(self.rows) - len(self.rows) % self.ranks)

    def batch(self, step: int) -> dict[str, Any]:
        """This device's part of the batch of an optimizer step, from 0: first, then second sentences, and `labels`."""
        epoch, part = divmod(step, len(self.rows) // self.batch_size)
        order = np.random.default_rng(mix(self.seed, epoch)).permutation(len(self.rows))
        chosen = self.rows[order[part * self.batch_size : (part + 1) * self.batch_size]][self.rank :: self.ranks]
        both = select(self.texts.parts, np.concatenate([self.texts.first[chosen], self.texts.second[chosen]]))
        found: dict[str, Any] = {"labels": torch.from_numpy(self.labels[chosen])}
        for role in self.encoder.plain_roles:
            found[role] = self.encoder.batch(both, role, self.tokens_at_once)
        return found

    def encode(self, encoder: Encoder, batch: Mapping[str, Any]) -> Tensor:
        """Vectors (2B, D) of no role."""
        return encoder.plain({role: batch[role] for role in encoder.plain_roles})


def finetune_pairs(settings: PairSettings, contestant: Contestant, rows: pd.DataFrame, folder: Path) -> float:
    """Fine-tune a contestant's encoder with a new linear layer and write the best model to `folder`.

    The weights with the best accuracy on the rows of part `dev` are kept. Deterministic in settings, contestant and
    rows.

    Returns:
        That accuracy.

    Raises:
        ValueError: there is not one encoder, or there are fewer pairs than devices.
    """
    if len(contestant.encoders) != 1:
        raise ValueError(f"{contestant.variant}: several encoders side by side are not fine-tuned")
    seed = contestant.seed
    torch.manual_seed(mix(seed, 3))
    encoder = load_encoder(Path(contestant.encoders[0]), head=False)
    train, dev = (rows[rows["part"] == part] for part in ("train", "dev"))
    classes = sorted(train["label"].unique())
    train = first_rows(train, settings.train_rows)
    model = PairModel(encoder, classes, settings.dropout, settings.features)
    texts, dev_texts = (PairTexts(part["first"].tolist(), part["second"].tolist(), encoder) for part in (train, dev))
    labels, dev_labels = (coded(part["label"].tolist(), classes) for part in (train, dev))
    batches = PairBatches(texts, labels, encoder, settings, mix(seed, 4), own_rank())
    best = finetune(
        encoder,
        model.task,
        batches,
        steps=settings.steps,
        evaluate_every=settings.evaluate_every,
        patience=settings.patience,
        measure=lambda: float((dev_texts.predicted(encoder, model.task) == dev_labels).mean()),
        better="higher",
        metric="dev/accuracy",
        from_start=False,
        optimizer=settings.optimizer,
        precision=settings.precision,
        folder=folder,
        seed=mix(seed, 5),
        label="pairs",
        devices=settings.devices,
    )
    if own_rank() == 0:
        LOG.info("%s, seed %d: accuracy on dev %.4f after %d steps", contestant.variant, seed, best.value, best.step)
        model.save(folder)
    return best.value

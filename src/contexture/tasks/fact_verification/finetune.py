"""Fine-tune a pre-trained encoder on claims and their evidence (MSPP paper, section 4.2 and appendix B.1)."""

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from pydantic import TypeAdapter
from torch import Tensor

from contexture.encoders.base import Encoder
from contexture.encoders.files import load_encoder
from contexture.encoders.layout import Batch
from contexture.seeding import mix
from contexture.tasks.answer_selection.model import make_room
from contexture.tasks.base import Contestant
from contexture.tasks.fact_verification.config import PAIRWISE, FactVerificationSettings
from contexture.tasks.fact_verification.inputs import ClaimInputs
from contexture.tasks.fact_verification.model import Verifier, VerifierSettings
from contexture.tasks.fact_verification.splits import labels_of
from contexture.training.finetune import finetune
from contexture.training.ranks import own_rank

LOG = logging.getLogger(__name__)


class ClaimBatches:
    """Batches of training claims, shuffled anew for every epoch and dealt out to the devices, all alike many."""

    def __init__(self, inputs: ClaimInputs, batch_size: int, seed: int, rank: int = 0, ranks: int = 1) -> None:
        """The claims that are left over at the end of an epoch are left out; ValueError for fewer than devices."""
        self.inputs, self.seed, self.rank, self.ranks = inputs, seed, rank, ranks
        count = len(inputs.labels)
        if count < ranks:
            raise ValueError(f"{count} claims are too few for {ranks} devices")
        self.batch_size = min(batch_size, count - count % ranks)
        self.per_epoch = count // self.batch_size

    def batch(self, step: int) -> Batch:
        """This device's part of the batch of an optimizer step, from 0."""
        epoch, part = divmod(step, self.per_epoch)
        order = np.random.default_rng(mix(self.seed, epoch)).permutation(len(self.inputs.labels))
        return self.inputs.batch(order[part * self.batch_size : (part + 1) * self.batch_size][self.rank :: self.ranks])

    def encode(self, encoder: Encoder, batch: Mapping[str, Any]) -> Tensor:
        """States (B, T, H) of joint inputs, (P, T, H) of pairs."""
        return encoder.states(dict(batch))


def finetune_claims(
    settings: FactVerificationSettings, option: str, contestant: Contestant, claims: pd.DataFrame, folder: Path
) -> float:
    """Fine-tune a contestant's encoder with a new head, `option`, and write the model of the best epoch to `folder`.

    Deterministic in settings, contestant and claims.

    Returns:
        Its accuracy on the development set.

    Raises:
        ValueError: there is not one encoder with states of tokens, or no layout.
    """
    if len(contestant.encoders) != 1:
        raise ValueError(f"{contestant.variant}: several encoders side by side are not fine-tuned")
    if settings.layout is None:
        raise ValueError("models of claims are fine-tuned on a joint input: set fact_verification.layout")
    seed = contestant.seed
    torch.manual_seed(mix(seed, 3))
    encoder = load_encoder(Path(contestant.encoders[0]), head=False)
    chosen = TypeAdapter(VerifierSettings).validate_python(
        {
            "head": option,
            "head_style": settings.head_style,
            "layout": settings.layout,
            "classes": labels_of(claims),
        }
    )
    layout = chosen.layout
    make_room(encoder, layout.width, 2 if option in PAIRWISE else layout.candidates + 1)
    model = Verifier(encoder, chosen)
    train, dev = (model.inputs(claims[claims["split"] == split]) for split in ("train", "dev"))
    batches = ClaimBatches(train, settings.batch_size, mix(seed, 4), own_rank(), settings.devices)

    def accuracy() -> float:
        return float((model.probabilities(dev).argmax(1).numpy() == dev.labels).mean())

    best = finetune(
        encoder,
        model.task,
        batches,
        steps=batches.per_epoch * settings.epochs,
        evaluate_every=batches.per_epoch,
        patience=settings.patience,
        measure=accuracy,
        better="higher",
        metric="dev/accuracy",
        from_start=False,
        optimizer=settings.optimizer,
        precision=settings.precision,
        folder=folder,
        seed=mix(seed, 5),
        label="fact_verification",
        devices=settings.devices,
    )
    if own_rank() == 0:
        said = f"{contestant.variant}, {option}, seed {seed}"
        LOG.info("%s: accuracy on dev %.4f after %d steps", said, best.value, best.step)
        model.save(folder)
    return best.value

"""Fine-tune an encoder on questions and the pairs of sentence and passage that answer them.

Two-tower paper, section 4.1.
"""

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import torch
from torch import Tensor, nn

from contexture.encoders.base import Encoder, tokenized
from contexture.encoders.config import ROLES
from contexture.encoders.files import load_encoder, save_encoder
from contexture.encoders.layout import Ints, select
from contexture.objectives.config import InBatchNegativesConfig
from contexture.objectives.in_batch_negatives import InBatchNegatives
from contexture.retrieval.candidates import texts_of
from contexture.seeding import mix
from contexture.streams.base import dealt
from contexture.tasks.base import Contestant
from contexture.tasks.retrieval.config import RetrievalSettings
from contexture.tasks.retrieval.reqa import split_questions
from contexture.training.finetune import finetune
from contexture.training.ranks import own_rank

LOG = logging.getLogger(__name__)
#: Candidates that the questions held out are ranked against, beside their own.
DEV_CANDIDATES = 1000


class QuestionBatches:
    """Batches of (question, answer) pairs, shuffled anew for every epoch.

    Other right answers of a question are none of its negatives, nor are other sentences of its answer's passage.
    Pairs are dealt out to the devices; the negatives of a question are those of all of them.
    """

    def __init__(
        self,
        pairs: Ints,
        questions: pd.DataFrame,
        candidates: pd.DataFrame,
        encoder: Encoder,
        settings: RetrievalSettings,
        seed: int,
        rank: int = 0,
    ) -> None:
        """`pairs`: rows of questions and candidates, (N, 2); ValueError for fewer than devices."""
        self.pairs, self.encoder, self.seed = pairs, encoder, seed
        self.rank, self.ranks = rank, settings.devices
        if len(pairs) < self.ranks:
            raise ValueError(f"{len(pairs)} pairs of a question and its answer are too few for {self.ranks} devices")
        self.tokens_at_once = settings.tokens_at_once
        self.batch_size = min(settings.batch_size, len(pairs) - len(pairs) % self.ranks)
        self.right = pairs[:, 0] * len(candidates) + pairs[:, 1]
        self.passages = candidates["passage_id"].factorize()[0]
        self.questions = tokenized(questions["question"].tolist(), encoder.vocabulary)
        self.candidates = tokenized(texts_of(candidates), encoder.vocabulary)

    def batch(self, step: int) -> dict[str, Any]:
        """This device's part of the batch of an optimizer step, from 0: what `InBatchNegatives` reads."""
        epoch, part = divmod(step, len(self.pairs) // self.batch_size)
        order = np.random.default_rng(mix(self.seed, epoch)).permutation(len(self.pairs))
        question, candidate = self.pairs[order[part * self.batch_size : (part + 1) * self.batch_size]].T
        lengths = self.candidates.lengths[candidate].sum(axis=1)
        parts = [dealt(lengths, rank, self.ranks) for rank in range(self.ranks)]
        everyone = candidate[np.concatenate(parts)]
        question, candidate = question[parts[self.rank]], candidate[parts[self.rank]]
        right = np.isin(question[:, None] * len(self.passages) + everyone, self.right)
        same_passage = self.passages[candidate][:, None] == self.passages[everyone]
        return {
            "query": self.encoder.batch(select(self.questions, question), "query", self.tokens_at_once),
            "document": self.encoder.batch(select(self.candidates, candidate), "document", self.tokens_at_once),
            "document_ids": torch.from_numpy(candidate),
            "no_negatives": torch.from_numpy(right | same_passage),
            "log_q": torch.zeros(len(candidate)),
        }

    def encode(self, encoder: Encoder, batch: Mapping[str, Any]) -> dict[str, Tensor]:
        """Vectors (B, D) of each role."""
        return {role: encoder(batch[role], role) for role in ROLES}


class HeldOut:
    """The questions held out, and the candidates that their answers are told from."""

    def __init__(self, pairs: Ints, questions: pd.DataFrame, candidates: pd.DataFrame, seed: int) -> None:
        """`pairs`: rows of questions and candidates, (N, 2)."""
        others = np.random.default_rng(seed).permutation(len(candidates))[:DEV_CANDIDATES]
        pool = np.unique(np.concatenate([pairs[:, 1], others]))
        asked, question = np.unique(pairs[:, 0], return_inverse=True)
        self.question, self.answer = torch.from_numpy(question), torch.from_numpy(np.searchsorted(pool, pairs[:, 1]))
        self.questions = questions["question"].iloc[asked].tolist()
        self.candidates = texts_of(candidates.iloc[pool])

    def loss(self, encoder: Encoder) -> float:
        """Mean over the questions' answers of −log p(answer | question), among the candidates drawn."""
        queries, documents = encoder.embed(self.questions, "query"), encoder.embed(self.candidates, "document")
        scores = torch.from_numpy(queries @ documents.T)[self.question]
        return float(nn.functional.cross_entropy(scores, self.answer))


def finetune_retrieval(
    settings: RetrievalSettings,
    share: float,
    contestant: Contestant,
    questions: pd.DataFrame,
    candidates: pd.DataFrame,
    folder: Path,
) -> None:
    """Fine-tune a contestant's encoder on `share` percent of the questions and write the best one to `folder`.

    A tenth of these questions is held out: the weights under which their answers are most probable are kept, those
    that were pre-trained where training makes none better.
    Deterministic in settings, share, contestant and tables.

    Raises:
        ValueError: there is not one encoder of this project, or the questions are too few for the share.
    """
    if len(contestant.encoders) != 1:
        raise ValueError(f"{contestant.variant}: several encoders side by side are not fine-tuned")
    seed = contestant.seed
    splits = split_questions(questions["question_id"].tolist(), share / 100, seed).to_numpy()
    train, dev = (answered(questions, candidates, splits == split) for split in ("train", "dev"))
    if not len(train) or not len(dev):
        raise ValueError(f"{share:g} % of {len(questions)} questions are too few to train on and hold some out")
    torch.manual_seed(mix(seed, 3))
    encoder = load_encoder(Path(contestant.encoders[0]), head=False)
    encoder.recompute = settings.recompute
    held_out = HeldOut(dev, questions, candidates, mix(seed, 6))
    best = finetune(
        encoder,
        InBatchNegatives(InBatchNegativesConfig(), encoder),
        QuestionBatches(train, questions, candidates, encoder, settings, mix(seed, 4), own_rank()),
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
        label="in_batch_negatives",
        devices=settings.devices,
    )
    if own_rank() == 0:
        LOG.info("%s, %g %%, seed %d: loss %.3f after %d steps", contestant.variant, share, seed, best.value, best.step)
        save_encoder(encoder, folder)


def answered(questions: pd.DataFrame, candidates: pd.DataFrame, chosen: npt.NDArray[np.bool_]) -> Ints:
    """(question, candidate) rows of every right answer of the chosen questions, (N, 2)."""
    rows = dict(zip(candidates["candidate_id"], range(len(candidates)), strict=True))
    pairs = [
        (question, rows[answer])
        for question in np.flatnonzero(chosen)
        for answer in questions["answers"].iloc[question]
    ]
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)

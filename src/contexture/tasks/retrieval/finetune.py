"""Fine-tune towers on questions and the (sentence, passage) pairs that answer them (two-tower paper, section 4.1)."""

import logging
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytorch_lightning as pl
import torch
from torch import Tensor, nn
from torch.utils.data import Dataset

from contexture.encoders.embedding import embed
from contexture.encoders.layout import Ints, Specials, select
from contexture.encoders.tower_files import is_towers, load_towers, save_towers
from contexture.encoders.towers import TwoTowers, build_towers
from contexture.objectives.config import InBatchNegativesConfig
from contexture.objectives.in_batch_negatives import InBatchNegatives
from contexture.systems.two_tower.batches import pair_batch
from contexture.systems.two_tower.config import TwoTowerSystem
from contexture.tasks.retrieval.data import CANDIDATE, QUESTION, texts_of
from contexture.tasks.retrieval.reqa import split_questions
from contexture.training.module import ScheduledObjectives
from contexture.training.precision import choose_precision
from contexture.training.recorder import Recorder
from contexture.training.seeding import mix
from contexture.training.trainer import Tracking, fit
from contexture.vocabulary.tokenizers import load_tokenizer

LOG = logging.getLogger(__name__)
OBJECTIVE = "in_batch_negatives"
#: Candidates that the questions held out are ranked against, beside their own.
DEV_CANDIDATES = 1000


class QuestionBatches(Dataset[dict[str, Any]]):
    """Batches of (question, answer) pairs, shuffled anew for every epoch; item i is optimizer step i."""

    def __init__(
        self,
        pairs: Ints,
        questions: pd.DataFrame,
        candidates: pd.DataFrame,
        specials: Specials,
        config: TwoTowerSystem,
        seed: int,
    ) -> None:
        self.pairs, self.specials, self.config, self.seed = pairs, specials, config, seed
        self.questions, self.candidates = texts_of(questions, QUESTION), texts_of(candidates, CANDIDATE)
        self.batch_size = min(config.finetune.batch_size, len(pairs))

    def __len__(self) -> int:
        return self.config.finetune.steps

    def __getitem__(self, index: int) -> dict[str, Any]:
        if not 0 <= index < len(self):
            raise IndexError(index)
        epoch, part = divmod(index, len(self.pairs) // self.batch_size)
        order = np.random.default_rng(mix(self.seed, epoch)).permutation(len(self.pairs))
        question, candidate = self.pairs[order[part * self.batch_size : (part + 1) * self.batch_size]].T
        return pair_batch(
            select(self.questions, question),
            select(self.candidates, candidate),
            self.specials,
            self.config.layout,
            self.config.pretrain.tokens_at_once,
        ) | {"document_ids": torch.from_numpy(candidate), "log_q": torch.zeros(len(candidate))}


class HeldOutQuestions(pl.Callback):
    """Every few steps rank the answers of the questions held out; keep the best weights, stop without progress."""

    def __init__(
        self,
        pairs: Ints,
        questions: pd.DataFrame,
        candidates: pd.DataFrame,
        specials: Specials,
        config: TwoTowerSystem,
        seed: int,
    ) -> None:
        self.specials, self.config = specials, config
        others = np.random.default_rng(seed).permutation(len(candidates))[:DEV_CANDIDATES]
        pool = np.unique(np.concatenate([pairs[:, 1], others]))
        self.question, self.answer = np.unique(pairs[:, 0], return_inverse=True)[1], np.searchsorted(pool, pairs[:, 1])
        self.questions = texts_of(questions.iloc[np.unique(pairs[:, 0])], QUESTION)
        self.candidates = texts_of(candidates.iloc[pool], CANDIDATE)
        self.best, self.best_step = float("inf"), 0
        self.weights: dict[str, Tensor] = {}

    def loss(self, towers: TwoTowers) -> float:
        """Mean over the questions' answers of −log p(answer | question), among the candidates drawn."""
        layout = self.config.layout
        queries = embed(towers.query, self.questions, self.specials, layout.query_tokens)
        documents = embed(towers.document, self.candidates, self.specials, layout.document_tokens)
        scores = torch.from_numpy(queries @ documents.T)[self.question]
        return float(nn.functional.cross_entropy(scores, torch.from_numpy(self.answer)))

    def on_train_batch_end(self, trainer: pl.Trainer, module: pl.LightningModule, *_: Any) -> None:
        """After every `evaluate_every` steps, and after the last."""
        assert isinstance(module, ScheduledObjectives)
        settings = self.config.finetune
        if module.step % settings.evaluate_every and module.step != settings.steps:
            return
        assert isinstance(module.encoder, TwoTowers)
        value = self.loss(module.encoder)
        for logger in trainer.loggers:
            logger.log_metrics({"dev/loss": value}, step=module.step)
        if value < self.best:
            self.best, self.best_step = value, module.step
            self.weights = {name: tensor.detach().clone() for name, tensor in module.state_dict().items()}
        trainer.should_stop = module.step - self.best_step >= settings.patience * settings.evaluate_every


def finetune_retrieval(
    config: TwoTowerSystem,
    variant: str,
    share: float,
    seed: int,
    questions_file: Path,
    candidates_file: Path,
    pretrained: Path,
    folder: Path,
    tracking: Tracking | None = None,
) -> None:
    """Fine-tune the run `variant` on `share` percent of the questions and write the best towers to `folder`.

    A tenth of these questions is held out: the weights under which their answers are most probable are kept.
    Deterministic in (config, share, seed, files, pretrained).
    """
    questions, candidates = pd.read_parquet(questions_file), pd.read_parquet(candidates_file)
    tokens = load_tokenizer(pretrained)[1]
    torch.manual_seed(mix(seed, 3))
    towers = start_towers(config, variant, pretrained)
    towers.recompute = config.pretrain.recompute
    specials = towers.specials(tokens)
    splits = split_questions(questions["question_id"].tolist(), share / 100, seed).to_numpy()
    train, dev = (answered(questions, candidates, splits == split) for split in ("train", "dev"))
    if not len(train) or not len(dev):
        raise ValueError(f"{share:g} % of {len(questions)} questions are too few to train on and hold some out")
    batches = QuestionBatches(train, questions, candidates, specials, config, mix(seed, 4))
    held_out = HeldOutQuestions(dev, questions, candidates, specials, config, mix(seed, 6))
    settings = config.finetune
    module = ScheduledObjectives(
        towers,
        {OBJECTIVE: InBatchNegatives(InBatchNegativesConfig())},
        lambda step: {OBJECTIVE: 1.0},
        settings.steps,
        settings.optimizer,
        mix(seed, 5),
    )
    every = min(settings.evaluate_every, 20)
    fit(
        module,
        batches,
        folder,
        precision=choose_precision(settings.precision, towers, batches[0]),
        log_every=every,
        callbacks=[Recorder(towers, every), held_out],
        tracking=tracking,
    )
    if not held_out.weights:
        raise ValueError(
            f"{variant}, {share:g} %: the loss was never finite: lower finetune.optimizer.learning_rate, or use fp32"
        )
    module.load_state_dict(held_out.weights)
    LOG.info(
        "%s, %g %%, seed %d: best after %d steps, loss %.3f", variant, share, seed, held_out.best_step, held_out.best
    )
    save_towers(towers, pretrained, folder)


def start_towers(config: TwoTowerSystem, variant: str, pretrained: Path) -> TwoTowers:
    """The towers of a pre-training run, or new ones around the encoder of a masked language model."""
    if is_towers(pretrained):
        return load_towers(pretrained)
    towers = config.encoders[config.pretrain.runs[variant].encoder]
    return build_towers(towers, config.layout, load_tokenizer(pretrained)[1], str(pretrained))


def answered(questions: pd.DataFrame, candidates: pd.DataFrame, chosen: np.ndarray) -> Ints:
    """(question, candidate) rows of every right answer of the chosen questions, (N, 2)."""
    rows = dict(zip(candidates["candidate_id"], range(len(candidates)), strict=True))
    pairs = [
        (question, rows[answer])
        for question in np.flatnonzero(chosen)
        for answer in questions["answers"].iloc[question]
    ]
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)

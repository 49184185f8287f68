"""Fine-tune a pre-trained encoder on answer selection."""

import logging
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytorch_lightning as pl
import torch
from safetensors.torch import load_file
from torch import Tensor
from torch.utils.data import Dataset

from contexture.encoders.layout import Batch
from contexture.encoders.transformer import TransformerEncoder, load_encoder
from contexture.metrics.ranking import mean_average_precision
from contexture.systems.mspp.batches import OBJECTIVE_WEIGHTS
from contexture.tasks.answer_selection.data import AnswerInputs, read_answers
from contexture.tasks.answer_selection.head import AnswerSelection, AnswerSettings
from contexture.tasks.answer_selection.model import AnswerModel
from contexture.tasks.answer_selection.scoring import consecutive_groups, score
from contexture.training.config import MsppSystem
from contexture.training.module import ScheduledObjectives
from contexture.training.precision import choose_precision
from contexture.training.recorder import Recorder
from contexture.training.seeding import mix
from contexture.training.trainer import Tracking, fit
from contexture.vocabulary.tokenizers import load_tokenizer

LOG = logging.getLogger(__name__)
TASK = "answer_selection"


class AnswerBatches(Dataset[Batch]):
    """Batches of training groups, shuffled anew for every epoch; item i is optimizer step i."""

    def __init__(self, inputs: AnswerInputs, answers: pd.DataFrame, batch_size: int, epochs: int, seed: int) -> None:
        self.inputs, self.batch_size, self.seed = inputs, batch_size, seed
        self.groups = consecutive_groups(answers, inputs.group_size)
        self.per_epoch = -(-len(self.groups) // batch_size)
        self.epochs = epochs

    def __len__(self) -> int:
        return self.per_epoch * self.epochs

    def __getitem__(self, index: int) -> Batch:
        if not 0 <= index < len(self):
            raise IndexError(index)
        epoch, part = divmod(index, self.per_epoch)
        order = np.random.default_rng(mix(self.seed, epoch)).permutation(len(self.groups))
        chosen = order[part * self.batch_size : (part + 1) * self.batch_size]
        return self.inputs.batch([self.groups[i] for i in chosen])


class DevelopmentRanking(pl.Callback):
    """After every epoch rank the development questions; keep the best weights and stop without progress."""

    def __init__(self, inputs: AnswerInputs, answers: pd.DataFrame, per_epoch: int, patience: int) -> None:
        self.inputs, self.per_epoch, self.patience = inputs, per_epoch, patience
        self.groups = consecutive_groups(answers, inputs.group_size)
        self.questions = answers["question_id"].factorize()[0]
        self.best, self.best_epoch = -1.0, 0
        self.weights: dict[str, Tensor] = {}

    def on_train_batch_end(self, trainer: pl.Trainer, module: pl.LightningModule, *_: Any) -> None:
        """At the end of an epoch."""
        assert isinstance(module, ScheduledObjectives)
        epoch, rest = divmod(module.step, self.per_epoch)
        if rest:
            return
        task = module.objectives[TASK]
        assert isinstance(task, AnswerSelection)
        assert isinstance(module.encoder, TransformerEncoder)
        scores = score(module.encoder, task, self.inputs, self.groups)
        value = mean_average_precision(scores, self.inputs.labels, self.questions)
        for logger in trainer.loggers:
            logger.log_metrics({"dev/map": value}, step=module.step)
        if value > self.best:
            self.best, self.best_epoch = value, epoch
            self.weights = {name: tensor.detach().clone() for name, tensor in module.state_dict().items()}
        trainer.should_stop = epoch - self.best_epoch >= self.patience


def finetune(
    config: MsppSystem,
    variant: str,
    seed: int,
    answers: Path,
    pretrained: Path,
    folder: Path,
    tracking: Tracking | None = None,
) -> float:
    """Fine-tune `variant` and write the model of the best epoch to `folder`. Returns its MAP on the development set.

    The head starts from the pre-training head of the same kind, where the encoder was trained with one (the paper uses
    "the same prediction heads exploited in pre-training"). Deterministic in (config, seed, answers, pretrained).
    """
    settings = config.finetune
    head = settings.variants[variant].head
    tokens = load_tokenizer(pretrained)[1]
    torch.manual_seed(mix(seed, 3))
    encoder = load_encoder(pretrained)
    model = AnswerModel(encoder, AnswerSettings(head, settings.head_style, config.layout), tokens)
    start_head(model.task, pretrained)
    specials = encoder.specials(tokens)

    train, dev = (read_answers(answers, split) for split in ("train", "dev"))
    inputs = {
        name: AnswerInputs(part, head, specials, config.layout) for name, part in (("train", train), ("dev", dev))
    }
    batches = AnswerBatches(inputs["train"], train, settings.batch_size, settings.epochs, mix(seed, 4))
    ranking = DevelopmentRanking(inputs["dev"], dev, batches.per_epoch, settings.patience)
    module = ScheduledObjectives(
        encoder, {TASK: model.task}, lambda step: {TASK: 1.0}, len(batches), settings.optimizer, mix(seed, 5)
    )
    every = min(batches.per_epoch, 20)
    fit(
        module,
        batches,
        folder,
        precision=choose_precision(settings.precision, encoder, batches[0]),
        log_every=every,
        callbacks=[Recorder(encoder, every), ranking],
        tracking=tracking,
    )
    module.load_state_dict(ranking.weights)
    LOG.info("%s, seed %d: best epoch %d, MAP on dev %.4f", variant, seed, ranking.best_epoch, ranking.best)
    model.save(folder, pretrained)
    return ranking.best


def start_head(task: AnswerSelection, pretrained: Path) -> bool:
    """Copy the pre-training head into `task` where it is of the same kind; say whether it was.

    The shapes tell `ie_k` from `ae_k`; a pairwise head judges another state than either.
    """
    if task.head.kind == "ie_1":
        return False
    weights = load_file(pretrained / OBJECTIVE_WEIGHTS)
    prefix = "mspp."
    found = {key.removeprefix(prefix): value for key, value in weights.items() if key.startswith(prefix)}
    own = task.state_dict()
    fits = found.keys() == own.keys() and all(found[key].shape == own[key].shape for key in own)
    if fits:
        task.load_state_dict(found)
    elif found:
        LOG.warning("%s: its head is of another kind than this one, which starts anew", pretrained)
    return fits

"""The fine-tuning loop of all tasks. A task supplies examples, a head and a dev score (`Finetuning`)."""

import logging
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Self

import numpy as np
import pytorch_lightning as pl
import torch
from torch.utils.data import Dataset

from contexture.encoders.base import Encoder
from contexture.encoders.config import LayoutConfig
from contexture.encoders.files import load_encoder, save_encoder
from contexture.encoders.layout import Ints
from contexture.folders import UNFINISHED
from contexture.objectives.base import Objective
from contexture.seeding import mix
from contexture.tasks.base import EvaluatedEncoder
from contexture.tasks.finetuned import Examples, FinetunedModel, Step
from contexture.tasks.settings import FinetuneSettings, JointSettings
from contexture.training.keep_best import KeepBest
from contexture.training.module import ScheduledObjectives
from contexture.training.precision import choose_precision
from contexture.training.ranks import get_rank
from contexture.training.recorder import Recorder
from contexture.training.trainer import fit

LOG = logging.getLogger(__name__)
STREAM = "examples"


class Batches(Dataset[dict[str, Any]]):
    """The batches of a run, reshuffled each epoch; seed, step and device determine each batch."""

    def __init__(self, examples: Examples, settings: FinetuneSettings, seed: int, rank: int = 0) -> None:
        """Raise ValueError if there are no examples, or fewer than devices."""
        self.examples, self.seed, self.rank, self.ranks = examples, seed, rank, settings.devices
        count, devices = len(examples), 1 if examples.small_last_batch else self.ranks
        if count < devices:
            raise ValueError(f"{count} {examples.noun} to train on are too few for {self.ranks} devices")
        self.batch_size = min(settings.batch_size, count - count % devices)
        rest = examples.small_last_batch and count % self.batch_size > 0
        self.per_epoch = count // self.batch_size + rest
        self.steps, self.evaluate_every = settings.training_steps(self.per_epoch)
        self._order: tuple[int, Ints] | None = None  # cached for one epoch: ASNQ has millions of examples

    def __len__(self) -> int:
        return self.steps

    def __getitem__(self, index: int) -> dict[str, Any]:
        epoch, part = divmod(index, self.per_epoch)
        if self._order is None or self._order[0] != epoch:
            generator = np.random.default_rng(mix(self.seed, epoch))
            self._order = epoch, generator.permutation(len(self.examples))
        rows = self._order[1][part * self.batch_size : (part + 1) * self.batch_size]
        return {STREAM: self.examples.training_batch(Step(rows, epoch, self.seed, self.rank, self.ranks))}


@dataclass(frozen=True)
class Finetuning:
    """The parts of a task that the loop needs to fine-tune one model."""

    #: Name of the head in the curves.
    label: str
    encoder: Encoder
    head: Objective
    examples: Examples
    #: Name of the dev score, `dev/<metric>` in the curves, and the function that computes it.
    metric: str
    score: Callable[[], float]
    #: Writes the model to a folder.
    save: Callable[[Path], None]
    lower_is_better: bool = False
    #: Whether to measure the initial weights, too, and keep them if training does not improve them.
    from_start: bool = False

    @classmethod
    def from_model(
        cls,
        model: FinetunedModel,
        label: str,
        examples: Examples,
        metric: str,
        score: Callable[[], float],
        **flags: Any,
    ) -> Self:
        """Return the parts to fine-tune a model's encoder and head to a high dev score, and to save both."""
        return cls(label, model.encoder, model.task, examples, metric, score, model.save, **flags)

    @classmethod
    def from_loss(
        cls, label: str, encoder: Encoder, head: Objective, examples: Examples, loss: Callable[[Encoder], float]
    ) -> Self:
        """Return the parts to fine-tune an encoder to a low dev loss, and to save it without the head.

        The loss is also measured before training.
        """
        score, save = partial(loss, encoder), partial(save_encoder, encoder)
        return cls(label, encoder, head, examples, "loss", score, save, lower_is_better=True, from_start=True)


class _KeepBestDev(KeepBest):
    """Keeps the weights with the best dev score."""

    def __init__(self, task: Finetuning, evaluate_every: int, patience: int) -> None:
        super().__init__(evaluate_every, patience, task.lower_is_better)
        self.task = task

    def on_train_start(self, trainer: pl.Trainer, module: pl.LightningModule) -> None:
        """Measure the dev score of the initial weights if the task wants it."""
        assert isinstance(module, ScheduledObjectives)
        if self.task.from_start:
            self.keep(self.measure_and_log(trainer, module), module)

    def measure(self, trainer: pl.Trainer, module: ScheduledObjectives) -> dict[str, float]:
        """Return the dev score, which the first device computes."""
        score = trainer.strategy.broadcast(self.task.score() if trainer.is_global_zero else math.nan)
        return {f"dev/{self.task.metric}": score}


def load_start_encoder(encoder: EvaluatedEncoder) -> Encoder:
    """Return the encoder of a variant, without its pre-training head, and seed PyTorch for a new head.

    Raise ValueError if the variant concatenates several encoders, or its encoder is damaged.
    """
    if len(encoder.models) != 1:
        raise ValueError(f"{encoder.variant}: concatenated encoders cannot be fine-tuned")
    torch.manual_seed(mix(encoder.seed, 3))
    return load_encoder(Path(encoder.models[0]), head=False)


def load_joint_encoder(
    task: str, settings: JointSettings, evaluated: EvaluatedEncoder, pairwise: bool
) -> tuple[Encoder, LayoutConfig]:
    """Return the encoder of `load_start_encoder`, resized for joint inputs or pairs, and the layout of these inputs.

    Raise ValueError if no layout is set.
    """
    layout = settings.require_layout(task)
    encoder = load_start_encoder(evaluated)
    encoder.transformer.resize_tables(layout.width, 2 if pairwise else layout.candidates + 1)
    return encoder, layout


def finetune(task: Finetuning, settings: FinetuneSettings, encoder: EvaluatedEncoder, model_dir: Path) -> float:
    """Fine-tune encoder and head, write the model with the best dev score to `model_dir`, and return this score.

    Encoder and head end with the best weights on every device. The arguments determine the result.

    Raises:
        ValueError: too few examples, or no finite dev score.
    """
    batches = Batches(task.examples, settings, mix(encoder.seed, 4), get_rank())
    module = ScheduledObjectives(
        task.encoder,
        {task.label: task.head},
        {STREAM: task.examples},
        {task.label: STREAM},
        lambda _: {task.label: 1.0},
        batches.steps,
        settings.optimizer,
        mix(encoder.seed, 5),
    )
    kept = _KeepBestDev(task, batches.evaluate_every, settings.patience)
    record_every = min(batches.evaluate_every, 20)
    fit(
        module,
        batches,
        model_dir,
        precision=choose_precision(settings.precision, module, batches[0], model_dir, get_rank()),
        callbacks=[Recorder(model_dir, record_every), kept],
        devices=settings.devices,
    )
    if math.isnan(kept.trained):
        raise ValueError(f"{task.label}: the loss was never finite: lower the learning rate, or use fp32")
    module.load_state_dict(kept.weights)
    if get_rank() == 0:
        name = f"{encoder.variant}, {model_dir.name.removesuffix(UNFINISHED)}, seed {encoder.seed}"
        LOG.info("%s: dev/%s %.4f after %d steps", name, task.metric, kept.best, kept.best_step)
        task.save(model_dir)
    return kept.best

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
from torch import Tensor
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


class _KeepBest(pl.Callback):
    """Measures every few steps and after the last, keeps the best weights, stops when patience runs out."""

    def __init__(self, task: Finetuning, evaluate_every: int, patience: int) -> None:
        self.task, self.evaluate_every, self.patience = task, evaluate_every, patience
        self.sign = -1.0 if task.lower_is_better else 1.0
        self.best, self.best_step, self.weights = math.nan, 0, dict[str, Tensor]()
        #: Best after a training step. Patience counts from it, as the first steps may be worse than the start.
        self.trained, self.trained_step = math.nan, 0

    def on_train_start(self, trainer: pl.Trainer, module: pl.LightningModule) -> None:
        """Measure the dev score of the initial weights if the task wants it."""
        if self.task.from_start:
            self._measure(trainer, module)

    def on_train_batch_end(self, trainer: pl.Trainer, module: pl.LightningModule, *_: Any) -> None:
        """Measure the dev score if it is due, and stop the training if patience has run out."""
        assert isinstance(module, ScheduledObjectives)
        if module.step % self.evaluate_every and module.step != module.steps:
            return
        score = self._measure(trainer, module)
        if self._is_better(score, self.trained):
            self.trained, self.trained_step = score, module.step
        trainer.should_stop = module.step - self.trained_step >= self.patience * self.evaluate_every

    def _measure(self, trainer: pl.Trainer, module: pl.LightningModule) -> float:
        """Compute, log and return the dev score; copy the weights if it is the best so far."""
        assert isinstance(module, ScheduledObjectives)
        # The first device measures, so that all devices stop together with the same weights.
        score: float = trainer.strategy.broadcast(self.task.score() if trainer.is_global_zero else math.nan)
        for logger in trainer.loggers:
            logger.log_metrics({f"dev/{self.task.metric}": score}, step=module.step)
        if self._is_better(score, self.best):
            self.best, self.best_step = score, module.step
            self.weights = {name: tensor.detach().clone() for name, tensor in module.state_dict().items()}
        return score

    def _is_better(self, score: float, best: float) -> bool:
        """Return whether a score is finite and better than the best so far; NaN: there is none yet."""
        return math.isfinite(score) and not self.sign * score <= self.sign * best


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
    kept = _KeepBest(task, batches.evaluate_every, settings.patience)
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

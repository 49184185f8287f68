"""The one loop of fine-tuning: an objective on an encoder, looked at every few steps, the best weights kept."""

import logging
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

import pytorch_lightning as pl
from torch import Tensor
from torch.utils.data import Dataset

from contexture.encoders.base import Encoder
from contexture.objectives.base import Objective
from contexture.training.config import OptimizerConfig, Precision
from contexture.training.module import ScheduledObjectives
from contexture.training.precision import choose_precision
from contexture.training.ranks import own_rank
from contexture.training.recorder import Recorder
from contexture.training.trainer import fit

LOG = logging.getLogger(__name__)
STREAM = "examples"


class FinetuneStream(Protocol):
    """Batches of a task's examples, each a function of the step and the device."""

    def batch(self, step: int) -> Mapping[str, Any]:
        """The part of this device in the batch of an optimizer step."""

    def encode(self, encoder: Encoder, batch: Mapping[str, Any]) -> Any:
        """What the objective judges."""


@dataclass(frozen=True)
class Best:
    """The best look at a model: what was measured, and after which step; 0: before the first."""

    value: float
    step: int


class _Batches(Dataset[dict[str, Any]]):
    def __init__(self, stream: FinetuneStream, steps: int) -> None:
        self.stream, self.steps = stream, steps

    def __len__(self) -> int:
        return self.steps

    def __getitem__(self, index: int) -> dict[str, Any]:
        if not 0 <= index < self.steps:
            raise IndexError(index)
        return {STREAM: self.stream.batch(index)}


class _Looks(pl.Callback):
    """Measure every few steps and after the last, if asked also before the first; keep the best weights."""

    def __init__(
        self,
        measure: Callable[[], float],
        better: Literal["higher", "lower"],
        metric: str,
        every: int,
        patience: int,
        from_start: bool,
    ) -> None:
        self.measure, self.sign, self.metric = measure, 1.0 if better == "higher" else -1.0, metric
        self.every, self.patience, self.from_start = every, patience, from_start
        self.best: Best | None = None
        self.weights: dict[str, Tensor] = {}
        #: The best that training itself gave: patience counts from it, as the first steps may be worse than the start.
        self.trained: Best | None = None

    def on_train_start(self, trainer: pl.Trainer, module: pl.LightningModule) -> None:
        if self.from_start:
            self._look(trainer, module)

    def on_train_batch_end(self, trainer: pl.Trainer, module: pl.LightningModule, *_: Any) -> None:
        assert isinstance(module, ScheduledObjectives)
        if module.step % self.every and module.step != module.steps:
            return
        found = self._look(trainer, module)
        if self._better(found, self.trained):
            self.trained = found
        best_step = self.trained.step if self.trained else 0
        trainer.should_stop = module.step - best_step >= self.patience * self.every

    def _look(self, trainer: pl.Trainer, module: pl.LightningModule) -> Best:
        assert isinstance(module, ScheduledObjectives)
        # The first device measures for all, so that all stop together, with the same weights.
        value: float = trainer.strategy.broadcast(self.measure() if trainer.is_global_zero else math.nan)
        found = Best(value, module.step)
        for logger in trainer.loggers:
            logger.log_metrics({self.metric: found.value}, step=found.step)
        if self._better(found, self.best):
            self.best = found
            self.weights = {name: tensor.detach().clone() for name, tensor in module.state_dict().items()}
        return found

    def _better(self, found: Best, known: Best | None) -> bool:
        return math.isfinite(found.value) and (known is None or self.sign * found.value > self.sign * known.value)


def finetune(
    encoder: Encoder,
    objective: Objective,
    stream: FinetuneStream,
    *,
    steps: int,
    evaluate_every: int,
    patience: int,
    measure: Callable[[], float],
    better: Literal["higher", "lower"],
    metric: str,
    from_start: bool,
    optimizer: OptimizerConfig,
    precision: Precision,
    folder: Path,
    seed: int,
    label: str,
    devices: int = 1,
) -> Best:
    """Train `encoder` and `objective` for at most `steps`; both hold the best weights afterwards, on every device.

    Args:
        encoder: what is fine-tuned.
        objective: judges what `stream.encode` makes of a batch.
        stream: the batches.
        steps: optimizer steps at most.
        evaluate_every: steps between two looks; the last step is looked at, too.
        patience: looks without a better value in training before it stops.
        measure: the value of encoder and objective as they are, on data held out; the first device's process alone
            is asked.
        better: whether a higher or a lower value is the better one.
        metric: what the value is called in the curves, such as `dev/map`.
        from_start: whether the weights that training starts from are looked at, too, and kept where none is better;
            a head that is new says nothing yet.
        optimizer: and its schedule over all `steps`.
        precision: of the forward passes.
        folder: where curves go.
        seed: of masks and dropout.
        label: the model's name in the objective's curve, `train/<label>`.
        devices: processes that train together; see `launcher.launch`.

    Raises:
        ValueError: where no value that was measured in training is a number.
    """
    module = ScheduledObjectives(
        encoder, {label: objective}, {STREAM: stream}, {label: STREAM}, lambda _: {label: 1.0}, steps, optimizer, seed
    )
    looks = _Looks(measure, better, metric, evaluate_every, patience, from_start)
    batches = _Batches(stream, steps)
    every = min(evaluate_every, 20)
    fit(
        module,
        batches,
        folder,
        precision=choose_precision(precision, module, batches[0], folder, own_rank()),
        log_every=every,
        callbacks=[Recorder(folder, every), looks],
        devices=devices,
    )
    if looks.best is None or looks.trained is None:
        raise ValueError(f"{label}: the loss was never finite: lower the learning rate, or use fp32")
    module.load_state_dict(looks.weights)
    return looks.best

"""Keep the weights with the best score of a training, and stop the training when the score no longer improves."""

import math
from abc import abstractmethod
from typing import Any

import pytorch_lightning as pl
from torch import Tensor

from contexture.training.module import ScheduledObjectives, is_step_end


class KeepBest(pl.Callback):
    """Measures every few steps and after the last, keeps the best weights, stops when patience runs out.

    All devices must measure the same score, so that they stop together with the same weights.
    """

    def __init__(self, evaluate_every: int, patience: int | None, lower_is_better: bool) -> None:
        """`patience`: measurements without a better score; None: training is not stopped, no weights are kept."""
        self.evaluate_every, self.patience = evaluate_every, patience
        self.sign = -1.0 if lower_is_better else 1.0
        self.best, self.best_step, self.weights = math.nan, 0, dict[str, Tensor]()
        #: Best after a training step. Patience counts from it, as the first steps may be worse than the start.
        self.trained, self.trained_step = math.nan, 0

    @abstractmethod
    def measure(self, trainer: pl.Trainer, module: ScheduledObjectives) -> dict[str, float]:
        """Return the scores of the present weights by their names in the curves; the first one is compared."""

    def on_train_batch_end(self, trainer: pl.Trainer, module: pl.LightningModule, *_: Any) -> None:
        """Measure the score if it is due, and stop the training if patience has run out."""
        assert isinstance(module, ScheduledObjectives)
        if is_step_end(trainer) and (module.step % self.evaluate_every == 0 or module.step == module.steps):
            self.compare(self.measure_and_log(trainer, module), module)
            trainer.should_stop |= self.is_out_of_patience(module.step)

    def measure_and_log(self, trainer: pl.Trainer, module: ScheduledObjectives) -> float:
        """Measure the scores, add them to the curves, and return the one that is compared."""
        scores = self.measure(trainer, module)
        for logger in trainer.loggers:
            logger.log_metrics(scores, step=module.step)
        return next(iter(scores.values()))

    def compare(self, score: float, module: ScheduledObjectives) -> None:
        """Remember the score after a training step if it is the best one so far."""
        self.keep(score, module)
        if self.is_better(score, self.trained):
            self.trained, self.trained_step = score, module.step

    def keep(self, score: float, module: ScheduledObjectives) -> None:
        """Copy the weights if their score is the best so far."""
        if self.is_better(score, self.best):
            self.best, self.best_step = score, module.step
            if self.patience is not None:
                self.weights = {name: tensor.detach().clone() for name, tensor in module.state_dict().items()}

    def is_better(self, score: float, best: float) -> bool:
        """Return whether a score is finite and better than the best so far; NaN: there is none yet."""
        return math.isfinite(score) and not self.sign * score <= self.sign * best

    def is_out_of_patience(self, step: int) -> bool:
        """Return whether the last `patience` measurements up to a step have not improved the score."""
        return self.patience is not None and step - self.trained_step >= self.patience * self.evaluate_every

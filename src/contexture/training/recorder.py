"""The curves of a run: losses, tokens and floating-point operations a second."""

import time
from typing import Any

import pytorch_lightning as pl
import torch

from contexture.encoders.layout import row_lengths
from contexture.training.module import ScheduledObjectives


class Recorder(pl.Callback):
    """Every few steps log the losses, `train/tokens_per_second` and `train/tflops` of this rank (real tokens only)."""

    def __init__(self, encoder: Any, every: int) -> None:
        self.encoder, self.every = encoder, every
        self.tokens = self.flops = torch.zeros(())

    def on_train_start(self, trainer: pl.Trainer, module: pl.LightningModule) -> None:
        """Start the clock."""
        self._reset()

    def on_train_batch_start(self, trainer: pl.Trainer, module: pl.LightningModule, batch: Any, batch_idx: int) -> None:
        """Count, on the device, without waiting for it."""
        assert isinstance(module, ScheduledObjectives)
        lengths = row_lengths(batch)
        self.tokens = self.tokens + lengths.sum()
        own = sum(module.objectives[name].flops(lengths) for name in module.weights_at(module.step))  # type: ignore[operator]
        self.flops = self.flops + self.encoder.flops(lengths) + own

    def on_train_batch_end(
        self, trainer: pl.Trainer, module: pl.LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Log and start anew."""
        if (batch_idx + 1) % (self.every * trainer.accumulate_grad_batches):
            return
        assert isinstance(module, ScheduledObjectives)
        tokens, flops = float(self.tokens), float(self.flops)  # waits for the device
        seconds = time.perf_counter() - self.since
        values = {name: float(value) for name, value in module.latest.items()}
        values |= {"train/tokens_per_second": tokens / seconds, "train/tflops": flops / seconds / 1e12}
        for logger in trainer.loggers:  # by the step of the run: Lightning's own starts anew when a run is resumed
            logger.log_metrics(values, step=module.step)
        module.log("tokens/s", tokens / seconds, prog_bar=True, logger=False)
        self._reset()

    def _reset(self) -> None:
        self.tokens = self.flops = torch.zeros(())
        self.since = time.perf_counter()

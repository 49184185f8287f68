"""The curves of a run: losses, tokens and floating-point operations a second."""

import time
from typing import Any

import pytorch_lightning as pl
import torch

from contexture.encoders.transformer import TransformerEncoder
from contexture.training.module import ScheduledObjectives


def layer_flops(encoder: TransformerEncoder, lengths: torch.Tensor) -> torch.Tensor:
    """Forward and backward FLOPs of the Transformer layers for rows of `lengths` (B,) real tokens.

    6 per parameter and token, and 12·H per layer for each pair of tokens in attention. Embeddings and logits are left
    out, so the figure is a lower bound of the work done.
    """
    lengths = lengths.double()
    attention = 12 * encoder.config.num_hidden_layers * encoder.config.hidden_size
    flops: torch.Tensor = 6 * encoder.parameters_in_layers() * lengths.sum() + attention * lengths.square().sum()
    return flops


class Recorder(pl.Callback):
    """Every few steps log the losses, `train/tokens_per_second` and `train/tflops` of this rank (real tokens only)."""

    def __init__(self, encoder: TransformerEncoder, every: int) -> None:
        self.encoder, self.every = encoder, every
        self.tokens = self.flops = torch.zeros(())

    def on_train_start(self, trainer: pl.Trainer, module: pl.LightningModule) -> None:
        """Start the clock."""
        self._reset()

    def on_train_batch_start(self, trainer: pl.Trainer, module: pl.LightningModule, batch: Any, batch_idx: int) -> None:
        """Count, on the device, without waiting for it."""
        lengths = batch["attention_mask"].sum(dim=1)
        self.tokens = self.tokens + lengths.sum()
        self.flops = self.flops + layer_flops(self.encoder, lengths)

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

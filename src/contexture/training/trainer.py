"""The Lightning trainer of every run."""

import logging
import time
import warnings
from pathlib import Path
from typing import Any

import pytorch_lightning as pl
import torch
from pytorch_lightning.loggers import CSVLogger
from torch.utils.data import DataLoader, Dataset

from contexture import progress as bars
from contexture.training import progress
from contexture.training.curves import CURVES_PREFIX
from contexture.training.module import ScheduledObjectives, is_step_end
from contexture.training.precision import LightningPrecision, allow_tf32
from contexture.training.ranks import count_local_ranks

LOG = logging.getLogger(__name__)
logging.getLogger("pytorch_lightning.utilities.rank_zero").setLevel(logging.WARNING)

#: Default number of processes that prepare batches for a GPU.
NUM_GPU_WORKERS = 4


class ProgressBar(pl.Callback):
    """Progress bar of the first process, with the last losses."""

    def on_train_start(self, trainer: pl.Trainer, module: pl.LightningModule) -> None:
        """Open the bar; only the first process shows it."""
        batches = trainer.num_training_batches
        self.bar = bars.progress(int(batches) if batches != float("inf") else None, "train", "batch")
        self.bar.disable |= not trainer.is_global_zero

    def on_train_batch_end(self, trainer: pl.Trainer, module: pl.LightningModule, *_: Any) -> None:
        """Advance the bar; losses are shown every 20 batches, because reading them waits for the device."""
        if self.bar.n % 20 == 0 and not self.bar.disable:
            self.bar.set_postfix(trainer.progress_bar_metrics, refresh=False)
        self.bar.update()

    def teardown(self, trainer: pl.Trainer, module: pl.LightningModule, stage: str) -> None:
        """Close the bar, also after an error."""
        if hasattr(self, "bar"):
            self.bar.close()


class ProgressReporter(pl.Callback):
    """Reports the progress after every pass."""

    def on_train_batch_end(self, trainer: pl.Trainer, module: pl.LightningModule, *_: Any) -> None:
        """Report the completed share of the steps; those before a resumption took no time now and are left out."""
        assert isinstance(module, ScheduledObjectives)
        progress.report((module.step - module.first_step) / (module.steps - module.first_step))


class TimeLimit(pl.Callback):
    """Ends the training after the first step that is complete after `seconds`."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def on_train_start(self, trainer: pl.Trainer, module: pl.LightningModule) -> None:
        """Start the clock."""
        self.end = time.monotonic() + self.seconds

    def on_train_batch_end(self, trainer: pl.Trainer, module: pl.LightningModule, *_: Any) -> None:
        """End the training if the time is up."""
        assert isinstance(module, ScheduledObjectives)
        if time.monotonic() > self.end and is_step_end(trainer) and module.step < module.steps:
            LOG.warning("the time is up: training ends at step %d of %d", module.step, module.steps)
            trainer.should_stop = True


def fit(
    module: ScheduledObjectives,
    batches: Dataset[Any],
    folder: Path,
    *,
    precision: LightningPrecision,
    callbacks: list[pl.Callback],
    accumulated: int = 1,
    devices: int = 1,
    workers: int | None = None,
) -> None:
    """Train `module` on `batches` and write curves to `folder/curves-<first step>/metrics.csv`.

    `workers`: processes that prepare batches; None: `NUM_GPU_WORKERS` for a GPU, none for a CPU.
    """
    allow_tf32()
    trainer = pl.Trainer(
        max_epochs=1,
        accelerator="auto",
        devices=count_local_ranks(devices),
        num_nodes=devices // count_local_ranks(devices),
        # A stage need not use every head.
        strategy="ddp_find_unused_parameters_true" if devices > 1 else "auto",
        precision=precision,
        accumulate_grad_batches=accumulated,
        log_every_n_steps=1,
        logger=CSVLogger(folder, "", f"{CURVES_PREFIX}{module.first_step}", flush_logs_every_n_steps=1),
        callbacks=[ProgressReporter() if progress.has_listener() else ProgressBar(), *callbacks],
        enable_progress_bar=False,
        enable_checkpointing=False,
        enable_model_summary=False,
        use_distributed_sampler=False,
    )
    gpu = torch.cuda.is_available()
    if workers is None:
        workers = NUM_GPU_WORKERS if gpu else 0
    loader = DataLoader(batches, batch_size=None, num_workers=workers, pin_memory=gpu, shuffle=False)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*does not have many workers.*")
        trainer.fit(module.train(), loader)  # loaded encoders are in evaluation mode
    if trainer.interrupted:
        raise KeyboardInterrupt(f"training was interrupted at step {module.step}")

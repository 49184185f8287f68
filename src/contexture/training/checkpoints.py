"""Checkpoints to resume from: weights as safetensors, optimizer state as plain tensors, nothing unpickled."""

import shutil
from pathlib import Path
from typing import Any

import pytorch_lightning as pl
import torch
from safetensors.torch import load_model, save_model

from contexture.training.module import ScheduledObjectives

NAME = "checkpoint"


class Checkpoints(pl.Callback):
    """Write a checkpoint every few steps, beside the last one, which goes only when the new one is whole."""

    def __init__(self, folder: Path, every: int) -> None:
        self.folder, self.every = folder, every

    def on_train_batch_end(self, trainer: pl.Trainer, module: pl.LightningModule, *_: Any) -> None:
        """After an optimizer step whose number is a multiple of `every`."""
        assert isinstance(module, ScheduledObjectives)
        stepped = (trainer.fit_loop.epoch_loop.batch_idx + 1) % trainer.accumulate_grad_batches == 0
        if trainer.is_global_zero and stepped and module.step % self.every == 0 and module.step < module.steps:
            save_checkpoint(module, trainer.optimizers[0], self.folder)


def save_checkpoint(module: ScheduledObjectives, optimizer: torch.optim.Optimizer, folder: Path) -> None:
    """Write `folder/checkpoint`: weights, optimizer state and step."""
    new, old, place = (folder / f"{NAME}{suffix}" for suffix in (".new", ".old", ""))
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir(parents=True)
    save_model(module, str(new / "model.safetensors"))
    torch.save({"step": module.step, "optimizer": optimizer.state_dict()}, new / "state.pt")
    if place.exists():
        shutil.rmtree(old, ignore_errors=True)  # what a run left that was killed behind the renames
        place.rename(old)
    new.rename(place)
    shutil.rmtree(old, ignore_errors=True)


def remove_checkpoint(folder: Path) -> None:
    """Remove the checkpoint of a run that is finished; a kill on the way leaves none that is half removed."""
    gone = folder / f"{NAME}.new"  # the one place that nothing is loaded from
    shutil.rmtree(gone, ignore_errors=True)
    for suffix in (".old", ""):
        if (place := folder / f"{NAME}{suffix}").exists():
            place.rename(gone)
            shutil.rmtree(gone)


def load_checkpoint(module: ScheduledObjectives, folder: Path) -> bool:
    """Continue `module` from the checkpoint in `folder`; false where there is none.

    A damaged checkpoint raises ValueError, naming it.
    """
    place = folder / NAME
    if not place.exists() and (folder / f"{NAME}.old").exists():  # killed between the two renames
        place = folder / f"{NAME}.old"
    if not place.exists():
        return False
    try:
        load_model(module, str(place / "model.safetensors"))
        state = torch.load(place / "state.pt", map_location="cpu", weights_only=True)
        module.first_step, module.optimizer_state = state["step"], state["optimizer"]
    except Exception as error:
        raise ValueError(f"{place} is damaged ({error}): delete it to start this run anew") from error
    return True

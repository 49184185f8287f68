"""Checkpoints to resume from: weights as safetensors, the optimizer state as tensors, no pickled objects."""

import shutil
from pathlib import Path
from typing import Any

import pytorch_lightning as pl
import torch
from safetensors.torch import load_file, load_model, save_file, save_model

from contexture.folders import OLD, replace_folder
from contexture.training.keep_best import KeepBest
from contexture.training.module import ScheduledObjectives, is_step_end

CHECKPOINT_DIR = "checkpoint"
#: The best weights so far, of a training that keeps them.
BEST_FILE = "best.safetensors"


class Checkpoints(pl.Callback):
    """Save a checkpoint every `interval` steps; the previous one is kept until the new one is complete."""

    def __init__(self, folder: Path, interval: int, kept: KeepBest | None = None) -> None:
        """`kept`: the callback whose state is saved, too; it comes before this one."""
        self.folder, self.interval, self.kept = folder, interval, kept

    def on_train_batch_end(self, trainer: pl.Trainer, module: pl.LightningModule, *_: Any) -> None:
        """Save a checkpoint if the interval has passed and the run has not ended."""
        assert isinstance(module, ScheduledObjectives)
        due = module.step % self.interval == 0 and module.step < module.steps and not trainer.should_stop
        if trainer.is_global_zero and is_step_end(trainer) and due:
            with module.pause_clock():
                save_checkpoint(module, trainer.optimizers[0], self.folder, self.kept)


def save_checkpoint(
    module: ScheduledObjectives, optimizer: torch.optim.Optimizer, folder: Path, kept: KeepBest | None = None
) -> None:
    """Save weights, optimizer state, step, and the state and best weights of `kept` to `folder/checkpoint`."""
    new = folder / f"{CHECKPOINT_DIR}.new"
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir(parents=True)
    save_model(module, str(new / "model.safetensors"))
    state = {"step": module.step, "optimizer": optimizer.state_dict(), "totals": module.checkpoint_totals}
    if kept is not None:
        state["kept"] = kept.state_dict()
        save_file({name: tensor.contiguous() for name, tensor in kept.weights.items()}, new / BEST_FILE)
    torch.save(state, new / "state.pt")
    replace_folder(new, folder / CHECKPOINT_DIR)


def remove_checkpoint(folder: Path) -> None:
    """Remove the checkpoint of a finished run; if this is killed, no incomplete checkpoint is left."""
    removed = folder / f"{CHECKPOINT_DIR}.new"  # nothing is loaded from there
    shutil.rmtree(removed, ignore_errors=True)
    for suffix in (OLD, ""):
        if (checkpoint := folder / f"{CHECKPOINT_DIR}{suffix}").exists():
            checkpoint.rename(removed)
            shutil.rmtree(removed)


def load_checkpoint(module: ScheduledObjectives, folder: Path, kept: KeepBest | None = None) -> bool:
    """Load the checkpoint in `folder` into `module` and `kept`; return False if there is none.

    Raises ValueError if it is damaged.
    """
    # A run that was killed between the two renames leaves only the old one.
    checkpoints = [folder / name for name in (CHECKPOINT_DIR, f"{CHECKPOINT_DIR}{OLD}") if (folder / name).exists()]
    if not checkpoints:
        return False
    try:
        load_model(module, str(checkpoints[0] / "model.safetensors"))
        state = torch.load(checkpoints[0] / "state.pt", map_location="cpu", weights_only=True)
        module.first_step, module.optimizer_state = state["step"], state["optimizer"]
        module.checkpoint_totals = state.get("totals")  # checkpoints of older versions have none
        if kept is not None:
            kept.load_state_dict(state["kept"])
            kept.weights = load_file(checkpoints[0] / BEST_FILE)
    except Exception as error:
        raise ValueError(f"{checkpoints[0]} is damaged ({error}): delete it to restart this run") from error
    return True

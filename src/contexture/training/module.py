"""The Lightning module: any encoder, any schedule of weighted objectives."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Protocol

import pytorch_lightning as pl
import torch
from pytorch_lightning.utilities.types import OptimizerLRSchedulerConfig
from torch import Tensor, nn
from transformers import get_constant_schedule_with_warmup, get_linear_schedule_with_warmup

from contexture.encoders.base import Encoder
from contexture.objectives.base import Loss, Objective, mark_read_positions
from contexture.seeding import mix
from contexture.training.config import OptimizerConfig
from contexture.training.optimizers import build_optimizer


def synchronize(device: torch.device) -> None:
    """Wait until a GPU has finished its work; does nothing for other devices."""
    if device.type == "cuda":
        torch.cuda.synchronize()


def is_step_end(trainer: pl.Trainer) -> bool:
    """Return whether the last forward pass completed an optimizer step."""
    return (trainer.fit_loop.epoch_loop.batch_idx + 1) % trainer.accumulate_grad_batches == 0


class StreamEncoder(Protocol):
    """A stream that encodes its batches."""

    def encode(self, encoder: Encoder, batch: Mapping[str, Any]) -> Any:
        """Return the encoder's states or vectors of a batch, the input of objectives."""


class ScheduledObjectives(pl.LightningModule):
    """Minimise the weighted sum of the objectives of each step, each on its stream of batches.

    (seed, step, pass, rank) seeds masks and dropout of each pass, so a run that is resumed at `first_step` equals an
    uninterrupted one.
    """

    def __init__(
        self,
        encoder: Encoder,
        objectives: Mapping[str, Objective],
        streams: Mapping[str, StreamEncoder],
        stream_by_objective: Mapping[str, str],
        weights_at: Callable[[int], dict[str, float]],
        steps: int,
        optimizer: OptimizerConfig,
        seed: int,
        first_step: int = 0,
    ) -> None:
        super().__init__()
        self.encoder = encoder
        self.objectives = nn.ModuleDict(objectives)
        self.streams, self.stream_by_objective = streams, stream_by_objective
        self.get_weights, self.steps, self.optimizer_config = weights_at, steps, optimizer
        self.seed, self.first_step = seed, first_step
        self.optimizer_state: dict[str, Any] | None = None
        #: Total tokens, FLOPs and seconds up to the last checkpoint; None before it.
        self.checkpoint_totals: dict[str, float] | None = None
        #: The losses and metrics of the last pass of each objective.
        self.latest_losses: dict[str, Tensor] = {}
        #: Seconds since the start that do not count as training.
        self.seconds_paused = 0.0

    @property
    def step(self) -> int:
        """Completed optimizer steps, including those before a resumption."""
        return self.first_step + self.global_step

    def clock(self) -> float:
        """Return the seconds of a clock that stands still within `pause_clock`."""
        return time.perf_counter() - self.seconds_paused

    @contextmanager
    def pause_clock(self) -> Iterator[None]:
        """Stop the clock while the `with` block runs, once the GPU has finished its work."""
        synchronize(self.device)
        started = time.perf_counter()
        yield
        self.seconds_paused += time.perf_counter() - started

    def objective(self, name: str) -> Objective:
        """Return an objective by name."""
        objective = self.objectives[name]
        assert isinstance(objective, Objective)
        return objective

    def training_step(self, batch: Mapping[str, Any], index: int) -> Tensor:
        """Return the weighted sum of the losses of one forward pass over `{stream: batch}`."""
        passes = self.trainer.accumulate_grad_batches
        seed = mix(self.seed, self.step, index % passes, self.global_rank)
        torch.manual_seed(seed)
        weights = self.get_weights(self.step)
        losses = self.losses(batch, torch.Generator(self.device).manual_seed(seed))
        shares = [weights[name] * self.pass_weight(name, passes) * loss.value for name, loss in losses.items()]
        if shares:
            total = torch.stack(shares).sum()
        else:  # a later pass, if no stream of this stage is split: 0 with a gradient
            total = next(p for p in self.parameters() if p.requires_grad).flatten()[0] * 0.0
        self.log("loss", total, prog_bar=True, logger=False)
        if index % passes == 0:
            self.latest_losses = {}
        for name, loss in losses.items():
            self.latest_losses[f"train/{name}"] = loss.value.detach()
            self.latest_losses |= {f"train/{name}_{key}": value.detach() for key, value in loss.metrics.items()}
        weighted = [
            weights[name] * self.latest_losses[f"train/{name}"]
            for name in weights
            if f"train/{name}" in self.latest_losses
        ]
        self.latest_losses["train/loss"] = torch.stack(weighted).sum()
        return total

    def losses(
        self, batch: Mapping[str, Any], generator: torch.Generator, names: Iterable[str] | None = None
    ) -> dict[str, Loss]:
        """Return objective → loss; each stream is encoded once, or once clean and once masked.

        `names`: objectives to compute; default: those of this step.
        """
        losses: dict[str, Loss] = {}
        names = self.get_weights(self.step) if names is None else names
        active = [name for name in names if self.stream_by_objective[name] in batch]
        for stream in dict.fromkeys(self.stream_by_objective[name] for name in active):
            objectives = {name: self.objective(name) for name in active if self.stream_by_objective[name] == stream}
            corrupted = batch[stream]
            for objective in objectives.values():
                corrupted = objective.corrupt(corrupted, generator)
            inputs = {False: corrupted, True: batch[stream]}
            readers: dict[bool, list[Objective]] = {}
            for objective in objectives.values():
                readers.setdefault(objective.needs_clean_input, []).append(objective)
            states = {
                clean: self.streams[stream].encode(self.encoder, mark_read_positions(inputs[clean], reading))
                for clean, reading in readers.items()
            }
            for name, objective in objectives.items():
                clean = objective.needs_clean_input
                losses[name] = objective(self.encoder, states[clean], inputs[clean])
        return losses

    def pass_weight(self, name: str, passes: int) -> float:
        """Return the factor of an objective's loss that makes up for Lightning's division by `passes`.

        It is `passes` for batches that cannot be split, which have only one pass, otherwise 1.
        """
        return 1.0 if getattr(self.streams[self.stream_by_objective[name]], "can_split", True) else float(passes)

    def configure_gradient_clipping(
        self, optimizer: Any, gradient_clip_val: float | None = None, gradient_clip_algorithm: str | None = None
    ) -> None:
        """Scale gradients down to `clip_norm`; Lightning cannot do this for fused optimizers in bfloat16."""
        parameters = list(self.parameters())
        for group in [parameters] if self.optimizer_config.clip == "all" else [[p] for p in parameters]:
            torch.nn.utils.clip_grad_norm_(group, self.optimizer_config.clip_norm)

    def configure_optimizers(self) -> OptimizerLRSchedulerConfig:
        """Return the optimizer, resumed from a checkpoint if there is one, and its learning-rate schedule."""
        config = self.optimizer_config
        optimizer = build_optimizer(self.parameters(), config)
        if self.optimizer_state is not None:
            optimizer.load_state_dict(self.optimizer_state)
        for group in optimizer.param_groups:
            group.setdefault("initial_lr", config.learning_rate)
        last_step = self.first_step - 1
        scheduler = (
            get_constant_schedule_with_warmup(optimizer, config.warmup_steps, last_step)
            if config.schedule == "constant"
            else get_linear_schedule_with_warmup(  # type: ignore[no-untyped-call]
                optimizer, config.warmup_steps, self.steps, last_step
            )
        )
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": scheduler, "interval": "step"}}

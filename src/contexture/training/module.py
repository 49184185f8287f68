"""The one Lightning module: any encoder under any schedule of weighted objectives."""

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import pytorch_lightning as pl
import torch
from pytorch_lightning.utilities.types import OptimizerLRSchedulerConfig
from torch import Tensor, nn
from transformers import get_constant_schedule_with_warmup, get_linear_schedule_with_warmup

from contexture.encoders.base import Encoder
from contexture.objectives.base import Loss, Objective
from contexture.seeding import mix
from contexture.training.config import OptimizerConfig
from contexture.training.optimizers import build_optimizer


class Encodes(Protocol):
    """How a stream's batch is encoded."""

    def encode(self, encoder: Encoder, batch: Mapping[str, Any]) -> Any:
        """What objectives judge."""


class ScheduledObjectives(pl.LightningModule):
    """Minimise the weighted sum of objectives that is in force at each step, each on its stream of batches.

    Before every pass all randomness (masks, dropout) is seeded by (seed, step, pass, rank): a run that is resumed at
    `first_step` repeats what the uninterrupted run would have done.
    """

    def __init__(
        self,
        encoder: Encoder,
        objectives: Mapping[str, Objective],
        streams: Mapping[str, Encodes],
        stream_of: Mapping[str, str],
        weights_at: Callable[[int], dict[str, float]],
        steps: int,
        optimizer: OptimizerConfig,
        seed: int,
        first_step: int = 0,
    ) -> None:
        """`stream_of`: objective → the stream among `streams` that it reads."""
        super().__init__()
        self.encoder = encoder
        self.objectives = nn.ModuleDict(objectives)
        self.streams, self.stream_of = streams, stream_of
        self.weights_at, self.steps, self.optimizer_config = weights_at, steps, optimizer
        self.seed, self.first_step = seed, first_step
        self.optimizer_state: dict[str, Any] | None = None
        #: The losses of the last forward pass of each objective.
        self.latest: dict[str, Tensor] = {}

    @property
    def step(self) -> int:
        """Optimizer steps done since the run began, those before a resumption counted in."""
        return self.first_step + self.global_step

    def objective(self, name: str) -> Objective:
        """The objective of a name."""
        found = self.objectives[name]
        assert isinstance(found, Objective)
        return found

    def training_step(self, batch: Mapping[str, Any], index: int) -> Tensor:
        """The loss of one forward pass over `{stream: batch}`."""
        passes = self.trainer.accumulate_grad_batches
        seed = mix(self.seed, self.step, index % passes, self.global_rank)
        torch.manual_seed(seed)
        weights = self.weights_at(self.step)
        losses = self.losses(batch, torch.Generator(self.device).manual_seed(seed))
        shares = [weights[name] * self._share(name, passes) * loss.value for name, loss in losses.items()]
        # A stage whose batches all stay whole has nothing in further passes, which other stages need.
        total = torch.stack(shares).sum() if shares else self._nothing()
        self.log("loss", total, prog_bar=True, logger=False)
        if index % passes == 0:
            self.latest = {}
        for name, loss in losses.items():
            self.latest[f"train/{name}"] = loss.value.detach()
            self.latest |= {f"train/{name}_{key}": value.detach() for key, value in loss.metrics.items()}
        named = [weights[name] * self.latest[f"train/{name}"] for name in weights if f"train/{name}" in self.latest]
        self.latest["train/loss"] = torch.stack(named).sum()
        return total

    def losses(self, batch: Mapping[str, Any], generator: torch.Generator) -> dict[str, Loss]:
        """What the objectives in force make of the streams that the batch has: each stream is encoded once."""
        found: dict[str, Loss] = {}
        active = [name for name in self.weights_at(self.step) if self.stream_of[name] in batch]
        for stream in dict.fromkeys(self.stream_of[name] for name in active):
            judges = {name: self.objective(name) for name in active if self.stream_of[name] == stream}
            corrupted = batch[stream]
            for judge in judges.values():
                corrupted = judge.corrupt(corrupted, generator)
            inputs = {False: corrupted, True: batch[stream]}
            states = {
                clean: self.streams[stream].encode(self.encoder, inputs[clean])
                for clean in dict.fromkeys(judge.wants_clean_input for judge in judges.values())
            }
            for name, judge in judges.items():
                clean = judge.wants_clean_input
                found[name] = judge(self.encoder, states[clean], inputs[clean])
        return found

    def _share(self, name: str, passes: int) -> float:
        """What a pass counts of a step: Lightning divides by the passes, but a batch that stays whole comes once."""
        return 1.0 if getattr(self.streams[self.stream_of[name]], "splits", True) else float(passes)

    def _nothing(self) -> Tensor:
        """A loss of 0 that has a gradient."""
        return next(p for p in self.parameters() if p.requires_grad).flatten()[0] * 0.0

    def configure_gradient_clipping(
        self, optimizer: Any, gradient_clip_val: float | None = None, gradient_clip_algorithm: str | None = None
    ) -> None:
        """Scale gradients down to `clip_norm`: that of all parameters together, or of each.

        Not left to Lightning, which refuses to do so with fused optimizers under bfloat16.
        """
        parameters = list(self.parameters())
        for group in [parameters] if self.optimizer_config.clip == "all" else [[one] for one in parameters]:
            torch.nn.utils.clip_grad_norm_(group, self.optimizer_config.clip_norm)

    def configure_optimizers(self) -> OptimizerLRSchedulerConfig:
        """The optimizer and its schedule, continued where a checkpoint left them."""
        config = self.optimizer_config
        optimizer = build_optimizer(self.parameters(), config)
        if self.optimizer_state is not None:
            optimizer.load_state_dict(self.optimizer_state)
        for group in optimizer.param_groups:
            group.setdefault("initial_lr", config.learning_rate)
        before = self.first_step - 1
        scheduler = (
            get_constant_schedule_with_warmup(optimizer, config.warmup_steps, before)
            if config.schedule == "constant"
            else get_linear_schedule_with_warmup(  # type: ignore[no-untyped-call]
                optimizer, config.warmup_steps, self.steps, before
            )
        )
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": scheduler, "interval": "step"}}

"""The one Lightning module: any encoder under any schedule of weighted objectives."""

from collections.abc import Callable, Mapping
from typing import Any

import pytorch_lightning as pl
import torch
from pytorch_lightning.utilities.types import OptimizerLRSchedulerConfig
from torch import Tensor, nn
from transformers import get_constant_schedule_with_warmup, get_linear_schedule_with_warmup

from contexture.encoders.layout import Batch
from contexture.objectives.base import Objective
from contexture.training.config import OptimizerConfig
from contexture.training.seeding import mix


class ScheduledObjectives(pl.LightningModule):
    """Minimise the weighted sum of objectives that is in force at each step.

    Before every pass all randomness (masks, dropout) is seeded by (seed, step, pass, rank): a run that is resumed at
    `first_step` repeats what the uninterrupted run would have done.
    """

    def __init__(
        self,
        encoder: nn.Module,
        objectives: Mapping[str, Objective],
        weights_at: Callable[[int], dict[str, float]],
        steps: int,
        optimizer: OptimizerConfig,
        seed: int,
        first_step: int = 0,
    ) -> None:
        super().__init__()
        self.encoder = encoder
        self.objectives = nn.ModuleDict(objectives)
        self.weights_at, self.steps, self.optimizer_config = weights_at, steps, optimizer
        self.seed, self.first_step = seed, first_step
        self.optimizer_state: dict[str, Any] | None = None
        #: The losses of the last forward pass.
        self.latest: dict[str, Tensor] = {}

    @property
    def step(self) -> int:
        """Optimizer steps done since the run began, those before a resumption counted in."""
        return self.first_step + self.global_step

    def training_step(self, batch: Batch, index: int) -> Tensor:
        """The loss of one forward pass."""
        seed = mix(self.seed, self.step, index % self.trainer.accumulate_grad_batches, self.global_rank)
        torch.manual_seed(seed)
        losses = self.losses(batch, torch.Generator(self.device).manual_seed(seed))
        weights = self.weights_at(self.step)
        total = torch.stack([weights[name] * losses[f"train/{name}"] for name in weights]).sum()
        self.log("loss", total, prog_bar=True, logger=False)
        self.latest = {name: value.detach() for name, value in losses.items()} | {"train/loss": total.detach()}
        return total

    def losses(self, batch: Batch, generator: torch.Generator) -> dict[str, Tensor]:
        """`train/<objective>` and `train/<objective>_<metric>` of the objectives in force."""
        active: dict[str, Objective] = {
            name: self.objectives[name]  # type: ignore[misc]
            for name in self.weights_at(self.step)
        }
        corrupted = batch
        for objective in active.values():
            corrupted = objective.corrupt(corrupted, generator)
        inputs = {False: corrupted, True: batch}
        states = {
            clean: self.encoder(inputs[clean])
            for clean in dict.fromkeys(objective.wants_clean_input for objective in active.values())
        }
        out = {}
        for name, objective in active.items():
            clean = objective.wants_clean_input
            loss = objective(self.encoder, states[clean], inputs[clean])
            out[f"train/{name}"] = loss.value
            out |= {f"train/{name}_{metric}": value for metric, value in loss.metrics.items()}
        return out

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
        """AdamW (decay on matrices only) and the schedule, continued where a checkpoint left them."""
        config = self.optimizer_config
        groups = [
            {"params": [p for p in self.parameters() if p.ndim >= 2], "weight_decay": config.weight_decay},
            {"params": [p for p in self.parameters() if p.ndim < 2], "weight_decay": 0.0},
        ]
        optimizer = torch.optim.AdamW(
            groups, lr=config.learning_rate, betas=(config.beta1, config.beta2), eps=config.epsilon, fused=True
        )
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

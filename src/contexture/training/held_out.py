"""The loss of a training on held-out documents, and early stopping by it."""

import logging
import math
import time
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pytorch_lightning as pl
import torch

from contexture.encoders.base import to_device
from contexture.seeding import mix
from contexture.streams.base import Stream
from contexture.streams.rows import EmptyExamplesError
from contexture.streams.tables import held_out_dir
from contexture.training.config import HeldOutConfig, Pretraining, PretrainRun
from contexture.training.corpus_info import read_corpus_info
from contexture.training.keep_best import KeepBest
from contexture.training.module import ScheduledObjectives
from contexture.training.precision import synchronize
from contexture.training.prepare import PreparedRun, RunFiles

LOG = logging.getLogger(__name__)
#: Series of the curves: the weighted sum of the losses.
LOSS = "held_out/loss"
#: Seed of batches and masks, the same for all seeds of a run.
SEED = 0
#: Source of examples with text of the corpus → the stage that makes them.
MAKERS = {"corpus": "examples", "derive": "derive"}


@dataclass(frozen=True)
class HeldOutBatches:
    """The batches of held-out documents, always the same ones, and objective → weight of its loss."""

    streams: dict[str, Stream]
    weights: dict[str, float]
    passes: int
    #: Batches of each stream, as large as those of an optimizer step.
    count: int

    @cached_property
    def batches(self) -> list[tuple[int, dict[str, Any]]]:
        """The seeds and batches `{stream: batch}` of all forward passes on this device."""
        return [
            (
                mix(SEED, 1, number, part, max(stream.batching.rank for stream in self.streams.values())),
                {
                    name: stream.batch(number, part)
                    for name, stream in self.streams.items()
                    if part == 0 or stream.can_split
                },
            )
            for number in range(self.count)
            for part in range(self.passes)
        ]

    def measure(self, module: ScheduledObjectives) -> list[float]:
        """Return the mean loss of each objective on this device's passes, without dropout and gradients."""
        totals = dict.fromkeys(self.weights, torch.zeros((), dtype=torch.float64, device=module.device))
        module.eval()
        with torch.no_grad():
            for seed, batch in self.batches:
                torch.manual_seed(seed)
                generator = torch.Generator(module.device).manual_seed(seed)
                for name, loss in module.losses(to_device(batch, module.device), generator, self.weights).items():
                    share = module.pass_weight(name, self.passes) / (self.passes * self.count)
                    totals[name] = totals[name] + share * loss.value.double()
        module.train()
        return [float(total) for total in totals.values()]


def open_held_out(config: Pretraining, files: RunFiles, prepared: PreparedRun) -> HeldOutBatches | None:
    """Return the held-out batches of the last stage of a run; None if it is not set, or reads no documents.

    The loss is that of the stage's objectives that read documents of the corpus.

    Raises:
        ValueError: if the examples were sampled with another share of held-out documents, or if these are too few.
    """
    settings = config.settings.held_out
    _check_examples(files, prepared, settings.share if settings else 0.0)
    if settings is None or not prepared.stages:
        return None
    streams = {name: stream for name, stream in prepared.stages[-1].items() if stream.config.has_documents}
    weights = {
        name: weight
        for name, weight in config.recipe.schedule[-1].weights.items()
        if config.stream_by_objective[name] in streams
    }
    if not weights:
        LOG.warning("run %s: no loss on held-out text: the last stage reads no documents of the corpus", config.run)
        return None
    opened = {name: _open_stream(stream, files) for name, stream in streams.items()}
    batches = {name: stream.rows.rows // stream.batching.batch_size for name, stream in opened.items()}
    for name, count in batches.items():
        if not count:
            raise _too_few(f"{opened[name].rows.rows} examples of the stream {name} are less than a batch")
    return HeldOutBatches(opened, weights, prepared.passes, min(settings.batches, *batches.values()))


def _check_examples(files: RunFiles, prepared: PreparedRun, share: float) -> None:
    """Raise ValueError if examples were sampled with another share of held-out documents."""
    for stream in prepared.streams.values():
        folder = files.examples[stream.config.examples]
        sampled = read_corpus_info(folder).held_out_share
        if stream.config.source in MAKERS and sampled != share:
            raise ValueError(
                f"{folder} was sampled with a share of {sampled:g} held-out documents, pretrain.held_out.share is "
                f"{share:g}: run the stage that makes it again, {MAKERS[stream.config.source]}"
            )


def _open_stream(stream: Stream, files: RunFiles) -> Stream:
    """Return the stream of the same batches of held-out documents."""
    folder = files.examples[stream.config.examples]
    try:
        return type(stream)(stream.config, held_out_dir(folder), stream.encoder, mix(SEED, 2), stream.batching)
    except EmptyExamplesError as error:
        raise _too_few(str(error)) from error


def _too_few(problem: str) -> ValueError:
    """Return the error that there are not enough examples of held-out documents."""
    return ValueError(f"pretrain.held_out.share: {problem}; raise the share, or lower pretrain.batch_size")


class HeldOutLoss(KeepBest):
    """Measures the loss on held-out documents, before the first step, too.

    The compared loss is always that of the last stage. With patience, the best weights of the last stage are kept.
    """

    def __init__(self, batches: HeldOutBatches, settings: HeldOutConfig, recipe: PretrainRun) -> None:
        """`recipe`: the schedule with numbers of steps instead of budgets."""
        super().__init__(settings.evaluate_every, settings.patience, lower_is_better=True)
        self.batches, self.steps = batches, recipe.steps
        #: First step of the last stage; patience counts from it.
        self.first_step = self.trained_step = recipe.steps - (recipe.schedule[-1].steps or 0)
        #: Loss before the first step; last loss and its step.
        self.start, self.last, self.last_step = math.nan, math.nan, -1

    def on_train_start(self, trainer: pl.Trainer, module: pl.LightningModule) -> None:
        """Measure the loss before the first step."""
        assert isinstance(module, ScheduledObjectives)
        if module.step == 0:
            self.start = self.measure_and_log(trainer, module)

    def on_train_end(self, trainer: pl.Trainer, module: pl.LightningModule) -> None:
        """Measure the loss after the last step of a training that ends early by its time limit."""
        assert isinstance(module, ScheduledObjectives)
        if self.last_step != module.step:
            self.compare(self.measure_and_log(trainer, module), module)

    def measure(self, trainer: pl.Trainer, module: ScheduledObjectives) -> dict[str, float]:
        """Return the weighted sum of the losses, and the loss of each objective, as means over all devices."""
        synchronize(module.device)
        started = time.perf_counter()
        with trainer.precision_plugin.forward_context():
            measured = torch.tensor(self.batches.measure(module), dtype=torch.float64, device=module.device)
        reduced = trainer.strategy.reduce(measured, reduce_op="mean")
        assert isinstance(reduced, torch.Tensor)
        losses = dict(zip(self.batches.weights, reduced.tolist(), strict=True))
        total = sum(self.batches.weights[name] * loss for name, loss in losses.items())
        self.last, self.last_step = total, module.step
        module.seconds_paused += time.perf_counter() - started
        return {LOSS: total} | {f"held_out/{name}": loss for name, loss in losses.items()}

    def compare(self, score: float, module: ScheduledObjectives) -> None:
        """Remember the loss if it is the lowest one of the last stage so far."""
        if module.step > self.first_step:
            super().compare(score, module)

    def restore_best(self, module: ScheduledObjectives) -> None:
        """Load the best weights, if patience is set."""
        if self.weights:
            module.load_state_dict(self.weights)
        elif self.patience is not None:
            LOG.warning("the loss on held-out text was never finite: the last weights are kept")

    def state_dict(self) -> dict[str, Any]:
        """Return what a resumed training needs besides the best weights."""
        return {key: getattr(self, key) for key in _STATE}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore the state of a checkpoint."""
        for key in _STATE:
            setattr(self, key, state_dict[key])

    def summary(self, step: int) -> dict[str, Any]:
        """Return what the summary of a training of `step` steps has of it; losses that are not finite are None."""
        kept_step = self.best_step if self.weights else step
        losses = {
            "start": self.start,
            "loss": self.best if self.weights else self.last,
            "best": self.best,
            "last": self.last,
        }
        return {name: loss if math.isfinite(loss) else None for name, loss in losses.items()} | {
            "step": kept_step,
            "best_step": self.best_step,
            "batches": self.batches.count,
            "stopped_early": step < self.steps and self.is_out_of_patience(step),
        }


#: Attributes of `HeldOutLoss` that a checkpoint has.
_STATE = ("start", "last", "last_step", "best", "best_step", "trained", "trained_step")

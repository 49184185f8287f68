"""The loss of a training on held-out documents, optionally questions about them, and early stopping by either."""

import logging
import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import pytorch_lightning as pl
import torch

from contexture.encoders.base import to_device
from contexture.imports import resolve
from contexture.seeding import mix
from contexture.streams.base import Batching, Stream
from contexture.streams.base_config import StreamConfig
from contexture.streams.pairs.config import HardPairsConfig, PairsConfig
from contexture.streams.tables import held_out_dir
from contexture.training.config import QUESTIONS, HeldOutConfig, Pretraining, PretrainRun
from contexture.training.corpus_info import read_corpus_info
from contexture.training.held_out_questions import HeldOutQuestions
from contexture.training.keep_best import KeepBest
from contexture.training.module import ScheduledObjectives
from contexture.training.prepare import PreparedRun, RunFiles

LOG = logging.getLogger(__name__)
#: Series of the curves: the weighted sum of the losses.
LOSS = "held_out/loss"
#: Series of the curves: the mean reciprocal rank of the passages of held-out pairs.
MRR = "held_out/mrr"
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
    #: Questions that are measured, too.
    questions: HeldOutQuestions | None = None

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
        """Return the mean loss of each objective on this device's passes."""
        totals = dict.fromkeys(self.weights, torch.zeros((), dtype=torch.float64, device=module.device))
        for seed, batch in self.batches:
            torch.manual_seed(seed)
            generator = torch.Generator(module.device).manual_seed(seed)
            for name, loss in module.losses(to_device(batch, module.device), generator, self.weights).items():
                share = module.pass_weight(name, self.passes) / (self.passes * self.count)
                totals[name] = totals[name] + share * loss.value.double()
        return [float(total) for total in totals.values()]


def open_held_out(config: Pretraining, files: RunFiles, prepared: PreparedRun) -> HeldOutBatches | None:
    """Return the held-out batches of the last stage of a run; None if it is not set, or reads no documents.

    The loss is that of the stage's objectives that read documents of the corpus. Questions are pairs of the run.

    Raises:
        ValueError: if the examples were sampled with another share of held-out documents, or if these are too few.
    """
    settings = config.settings.held_out
    for stream in prepared.streams.values():
        _check_examples(stream.config, files, settings.share if settings else 0.0)
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
    opened = {
        name: _open_stream(stream, _pool_tasks(stream.config), stream.batching, files)
        for name, stream in streams.items()
    }
    count = min(settings.batches, *(_count_batches(name, stream) for name, stream in opened.items()))
    questions = None
    if settings.criterion == "questions":
        pairs = config.streams[QUESTIONS]
        _check_examples(pairs, files, settings.share)
        trained = next(iter(streams.values()))
        batching = replace(trained.batching, batch_size=config.settings.batch_size, passes=1)
        stream = _open_stream(trained, _pool_tasks(pairs), batching, files)
        questions = HeldOutQuestions(stream, min(settings.batches, _count_batches(QUESTIONS, stream)))
    return HeldOutBatches(opened, weights, prepared.passes, count, questions)


def _count_batches(name: str, stream: Stream) -> int:
    """Return how many batches of a stream have no example twice; ValueError for none."""
    if count := stream.rows.rows // stream.batching.batch_size:
        return count
    raise _too_few(f"{stream.rows.rows} examples of the stream {name} are less than a batch")


def _pool_tasks(config: StreamConfig) -> StreamConfig:
    """Return the settings of a stream so that it reads each held-out pair equally often, in whichever task it is.

    A uniform mixture would repeat the pairs of tasks with few.
    """
    return replace(config, mixture="pooled") if isinstance(config, PairsConfig | HardPairsConfig) else config


def _check_examples(config: StreamConfig, files: RunFiles, share: float) -> None:
    """Raise ValueError if the examples of a stream were sampled with another share of held-out documents."""
    folder = files.examples[config.examples]
    sampled = read_corpus_info(folder).held_out_share
    if config.source in MAKERS and sampled != share:
        raise ValueError(
            f"{folder} was sampled with a share of {sampled:g} held-out documents, pretrain.held_out.share is "
            f"{share:g}: run the stage that makes it again, {MAKERS[config.source]}"
        )


def _open_stream(trained: Stream, config: StreamConfig, batching: Batching, files: RunFiles) -> Stream:
    """Return a stream of batches of held-out documents, for the encoder of the stream `trained`."""
    kind: type[Stream] = resolve(config.implementation)
    try:
        return kind(config, held_out_dir(files.examples[config.examples]), trained.encoder, mix(SEED, 2), batching)
    except ValueError as error:  # nothing to read, or too few rows of a batch for all tasks
        raise _too_few(str(error)) from error


def _too_few(problem: str) -> ValueError:
    """Return the error that there are not enough examples of held-out documents."""
    return ValueError(f"pretrain.held_out.share: {problem}; raise the share, or lower pretrain.batch_size")


class HeldOutLoss(KeepBest):
    """Measures the loss on held-out documents, and questions if there are some, before the first step, too.

    The loss is always that of the last stage. With patience, the best weights of the last stage are kept: those with
    the lowest loss, or if there are questions, with the highest mean reciprocal rank.
    """

    def __init__(self, batches: HeldOutBatches, settings: HeldOutConfig, recipe: PretrainRun) -> None:
        """`recipe`: the schedule with numbers of steps instead of budgets."""
        super().__init__(settings.evaluate_every, settings.patience, lower_is_better=batches.questions is None)
        self.batches, self.steps = batches, recipe.steps
        #: First step of the last stage; patience counts from it.
        self.first_step = self.trained_step = recipe.steps - (recipe.schedule[-1].steps or 0)
        #: `LOSS` and `MRR`: before the first step, last ones and their step, and those of the best weights.
        self.start, self.last, self.last_step = dict[str, float](), dict[str, float](), -1
        self.best_scores = dict[str, float]()

    def on_train_start(self, trainer: pl.Trainer, module: pl.LightningModule) -> None:
        """Measure before the first step."""
        assert isinstance(module, ScheduledObjectives)
        if module.step == 0:
            self.measure_and_log(trainer, module)
            self.start = self.last

    def on_train_end(self, trainer: pl.Trainer, module: pl.LightningModule) -> None:
        """Measure after the last step of a training that ends early by its time limit."""
        assert isinstance(module, ScheduledObjectives)
        if self.last_step != module.step:
            self.compare(self.measure_and_log(trainer, module), module)

    def measure(self, trainer: pl.Trainer, module: ScheduledObjectives) -> dict[str, float]:
        """Return the criterion, the weighted sum of the losses, and each loss, as means over all devices.

        Without dropout and gradients.
        """
        module.eval()
        with module.pause_clock(), torch.no_grad(), trainer.precision_plugin.forward_context():
            values = self.batches.measure(module)
            if self.batches.questions is not None:
                values.append(self.batches.questions.measure(module))
            # Waiting for other devices does not count, either.
            measured = torch.tensor(values, dtype=torch.float64, device=module.device)
            reduced = trainer.strategy.reduce(measured, reduce_op="mean")
        module.train()
        assert isinstance(reduced, torch.Tensor)
        means = reduced.tolist()
        self.last = {} if self.batches.questions is None else {MRR: means.pop()}
        losses = dict(zip(self.batches.weights, means, strict=True))
        self.last[LOSS] = sum(self.batches.weights[name] * loss for name, loss in losses.items())
        self.last_step = module.step
        return self.last | {f"held_out/{name}": loss for name, loss in losses.items()}

    def compare(self, score: float, module: ScheduledObjectives) -> None:
        """Remember the score if it is the best one of the last stage so far."""
        if module.step > self.first_step:
            if self.is_better(score, self.best):
                self.best_scores = self.last
            super().compare(score, module)

    def restore_best(self, module: ScheduledObjectives) -> None:
        """Load the best weights, if patience is set."""
        if self.weights:
            module.load_state_dict(self.weights)
        elif self.patience is not None:
            LOG.warning("no measurement on held-out text was finite: the last weights are kept")

    def state_dict(self) -> dict[str, Any]:
        """Return what a resumed training needs besides the best weights."""
        return {key: getattr(self, key) for key in _STATE}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore the state of a checkpoint."""
        for key in _STATE:
            setattr(self, key, state_dict[key])

    def summary(self, step: int) -> dict[str, Any]:
        """Return what the summary of a training of `step` steps has of it; scores that are not finite are None."""
        kept = self.best_scores if self.weights else self.last
        scores = {
            "start": self.start.get(LOSS),
            "loss": kept.get(LOSS),
            "best": self.best_scores.get(LOSS),
            "last": self.last.get(LOSS),
        }
        if self.batches.questions is not None:
            scores |= {"mrr_start": self.start.get(MRR), "mrr": kept.get(MRR)}
        return {
            name: score if score is not None and math.isfinite(score) else None for name, score in scores.items()
        } | {
            "step": self.best_step if self.weights else step,
            "best_step": self.best_step,
            "batches": self.batches.count,
            "stopped_early": step < self.steps and self.is_out_of_patience(step),
        }


#: Attributes of `HeldOutLoss` that a checkpoint has.
_STATE = ("start", "last", "last_step", "best", "best_scores", "best_step", "trained", "trained_step")

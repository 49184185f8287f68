"""What the training of two towers is told."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from contexture.encoders.config import PairLayoutConfig, TowersConfig
from contexture.strict import STRICT
from contexture.training.config import (
    OptimizerConfig,
    Positive,
    Precision,
    PretrainConfig,
    PretrainRun,
    check_encoders,
    fields_of,
    run_of_encoders,
)

PairTask = Literal["ict", "bfs", "wlp"]
PAIR_TASKS: tuple[PairTask, ...] = ("ict", "bfs", "wlp")


@dataclass(config=STRICT, frozen=True)
class TwoTowerRun(PretrainRun):
    """One pre-trained pair of towers, or, under mlm alone, the encoder that towers start from."""

    # Name among `encoders`.
    encoder: str = "transformer"
    # Pre-training tasks whose pairs are read; mlm reads their documents.
    pairs: list[PairTask] = Field(default_factory=lambda: list(PAIR_TASKS), min_length=1)
    # uniform: as many pairs of each task (paper); pooled: each pair as often as any other.
    mixture: Literal["uniform", "pooled"] = "uniform"

    def __post_init__(self) -> None:
        super().__post_init__()
        used = {frozenset(stage.weights) for stage in self.schedule}
        if len(used) > 1 or not used <= {frozenset({"mlm"}), frozenset({"in_batch_negatives"})}:
            raise ValueError("a run is trained by mlm or by in_batch_negatives, alone: they read different batches")

    @property
    def masked(self) -> bool:
        """Whether this run trains a masked language model."""
        return any("mlm" in stage.weights for stage in self.schedule)


@dataclass(config=STRICT, frozen=True)
class TwoTowerPretrain(PretrainConfig):
    """How the towers are pre-trained. All pairs of a batch are negatives of one another, over all devices."""

    # Name → run; the names are those of the pipeline.
    runs: Mapping[str, TwoTowerRun]
    # Tokens, padding included, that are embedded at a time: texts of like length go together.
    tokens_at_once: Positive = 16384
    # Compute activations again in the backward pass, so that memory holds those of tokens_at_once only.
    recompute: bool = False

    def masked_passes(self, document_tokens: int) -> int:
        """Passes in which a masked language model takes a step: the fewest that keep to `tokens_at_once`."""
        rows = self.batch_size // self.devices
        fitting = (n for n in range(1, rows) if rows % n == 0 and rows // n * document_tokens <= self.tokens_at_once)
        return next(fitting, rows)


@dataclass(config=STRICT, frozen=True)
class RetrievalFinetune:
    """How every variant is fine-tuned on questions."""

    # Shares of the questions to train on, in percent; a tenth of them is held out.
    shares: Annotated[list[Annotated[float, Field(gt=0, lt=100)]], Field(min_length=1)]
    # Questions per optimizer step.
    batch_size: Positive
    # Optimizer steps at most.
    steps: Positive
    # Steps between two looks at the questions held out.
    evaluate_every: Positive
    # Looks without a lower loss before training stops.
    patience: Positive
    optimizer: OptimizerConfig
    precision: Precision = "auto"


@dataclass(config=STRICT, frozen=True)
class TwoTowerSystem:
    """Two-tower retrieval: encoders, pre-training runs, and fine-tuning on questions."""

    layout: PairLayoutConfig
    # Name → towers.
    encoders: dict[str, TowersConfig]
    pretrain: TwoTowerPretrain
    finetune: RetrievalFinetune
    # Everything is done this often, with the seeds 0, 1, ….
    seeds: Positive
    system: Literal["two_tower"] = Field(default="two_tower", kw_only=True)

    def __post_init__(self) -> None:
        check_encoders(self.pretrain.runs, self.encoders)
        for name, run in self.pretrain.runs.items():
            if run.masked and self.encoders[run.encoder].kind != "transformer":
                raise ValueError(f"run {name}: mlm trains a Transformer, {run.encoder} is none")

    def training(self) -> dict[str, Any]:
        """The part that the training side reads, as plain data; a system's own configuration has more."""
        return fields_of(self, TwoTowerSystem)

    def pretraining(self, run: str) -> dict[str, Any]:
        """All that a pre-training run depends on, as plain data."""
        return run_of_encoders(self, run)

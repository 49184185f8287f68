"""What the training of Quick-Thoughts and Skip-Thought is told."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from contexture.encoders.config import SentenceEncoderConfig, SentenceLayoutConfig
from contexture.strict import STRICT
from contexture.training.config import (
    Positive,
    PretrainConfig,
    PretrainRun,
    check_encoders,
    fields_of,
    run_of_encoders,
)


@dataclass(config=STRICT, frozen=True)
class QuickThoughtsRun(PretrainRun):
    """One pre-trained pair of encoders, or, under skip_thought, one encoder and two decoders."""

    # Name among `encoders`.
    encoder: str = Field(kw_only=True)
    # Sentences a step, where not as many as of the other runs.
    batch_size: Positive | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        used = {frozenset(stage.weights) for stage in self.schedule}
        if len(used) > 1 or not used <= {frozenset({"quick_thoughts"}), frozenset({"skip_thought"})}:
            raise ValueError("a run is trained by quick_thoughts or by skip_thought, alone: they have other encoders")

    @property
    def generates(self) -> bool:
        """Whether this run trains decoders."""
        return any("skip_thought" in stage.weights for stage in self.schedule)


@dataclass(config=STRICT, frozen=True)
class QuickThoughtsPretrain(PretrainConfig):
    """How the encoders are pre-trained: batch_size contiguous sentences a step, the candidates of one another."""

    # Name → run; the names are those of the pipeline.
    runs: Mapping[str, QuickThoughtsRun]
    # Encoders kept on the way, evenly spaced, to see quality grow over training time (Figure 2); 0 keeps none.
    snapshots: Annotated[int, Field(ge=0)] = 0
    # Tokens, padding included, that a Transformer reads at a time: sentences of like length go together.
    tokens_at_once: Positive = 16384


@dataclass(config=STRICT, frozen=True)
class QuickThoughtsSystem:
    """Quick-Thoughts: encoders and their pre-training runs."""

    layout: SentenceLayoutConfig
    # Name → the kind and sizes of f and of g.
    encoders: dict[str, SentenceEncoderConfig]
    pretrain: QuickThoughtsPretrain
    # Everything is done this often, with the seeds 0, 1, ….
    seeds: Positive
    system: Literal["quick_thoughts"] = Field(default="quick_thoughts", kw_only=True)

    def batch_size(self, run: str) -> int:
        """Sentences a step of a run."""
        return self.pretrain.runs[run].batch_size or self.pretrain.batch_size

    def __post_init__(self) -> None:
        check_encoders(self.pretrain.runs, self.encoders)
        for name, run in self.pretrain.runs.items():
            if self.batch_size(name) % self.pretrain.devices or self.batch_size(name) < 2 * self.pretrain.devices:
                raise ValueError(
                    f"run {name}: batch_size is {self.batch_size(name)}: it must be a multiple of devices, "
                    f"{self.pretrain.devices}, and at least two sentences on each, one the other's neighbour"
                )
            encoder = self.encoders[run.encoder]
            if run.generates and (
                encoder.kind == "transformer" or (encoder.kind == "gru" and encoder.words == "fixed")
            ):
                raise ValueError(f"run {name}: skip_thought reads and writes trained words of a gru or a bag_of_words")

    def training(self) -> dict[str, Any]:
        """The part that the training side reads, as plain data; a system's own configuration has more."""
        return fields_of(self, QuickThoughtsSystem)

    def pretraining(self, run: str) -> dict[str, Any]:
        """All that a pre-training run depends on, as plain data."""
        return run_of_encoders(self, run)

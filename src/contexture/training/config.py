"""What a training run is told: one file of this, and the example files, are all it needs.

Here is what all systems share, and MSPP's own; `two_tower_config` has the two towers'.
"""

from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter
from pydantic.dataclasses import dataclass

from contexture.encoders.config import EncoderConfig, HeadKind, HeadStyle, LayoutConfig
from contexture.objectives.config import OBJECTIVE_CONFIGS
from contexture.strict import STRICT

Positive = Annotated[int, Field(gt=0)]
Precision = Literal["auto", "fp32", "bf16"]


@dataclass(config=STRICT, frozen=True)
class OptimizerConfig:
    """AdamW; the learning rate rises linearly to its peak, then follows the schedule."""

    # Peak of the learning rate.
    learning_rate: Annotated[float, Field(gt=0)]
    # Steps up to the peak.
    warmup_steps: Annotated[int, Field(ge=0)] = 0
    # Decoupled weight decay, not applied to biases and layer norms.
    weight_decay: Annotated[float, Field(ge=0)] = 0.01
    beta1: Annotated[float, Field(ge=0, lt=1)] = 0.9
    beta2: Annotated[float, Field(ge=0, lt=1)] = 0.999
    epsilon: Annotated[float, Field(gt=0)] = 1e-8
    # linear: down to 0 at the last step. constant: the peak to the end.
    schedule: Literal["linear", "constant"] = "linear"
    # Gradients are scaled down to this norm …
    clip_norm: Annotated[float, Field(gt=0)] = 1.0
    # … that of all parameters together, or of each parameter by itself.
    clip: Literal["all", "each"] = "all"


@dataclass(config=STRICT, frozen=True)
class Stage:
    """A stretch of training with fixed weights."""

    # Optimizer steps of this stage.
    steps: Positive
    # Objective → its weight in the sum of the losses.
    weights: dict[str, Annotated[float, Field(gt=0)]]

    def __post_init__(self) -> None:
        if not self.weights:
            raise ValueError("a stage needs at least one objective")
        if unknown := set(self.weights) - set(OBJECTIVE_CONFIGS):
            raise ValueError(f"no objective {sorted(unknown)}; there are {sorted(OBJECTIVE_CONFIGS)}")


@dataclass(config=STRICT, frozen=True)
class PretrainRun:
    """One pre-trained encoder: a schedule of weighted objectives."""

    # Stages one after the other; none at all keeps the initial weights (a baseline without pre-training).
    schedule: list[Stage]
    # Objective → settings that differ from its defaults.
    objectives: dict[str, dict[str, Any]] = Field(default_factory=dict)

    def __post_init__(self) -> None:
        used = {name for stage in self.schedule for name in stage.weights}
        if idle := set(self.objectives) - used:
            raise ValueError(f"settings for {sorted(idle)}, which no stage of the schedule uses")
        for name, settings in self.objectives.items():
            TypeAdapter(OBJECTIVE_CONFIGS[name]).validate_python(settings)

    @property
    def steps(self) -> int:
        """Optimizer steps of all stages."""
        return sum(stage.steps for stage in self.schedule)

    def weights_at(self, step: int) -> dict[str, float]:
        """The weights in force at an optimizer step, counted from 0."""
        for stage in self.schedule:
            if step < stage.steps:
                return stage.weights
            step -= stage.steps
        raise IndexError(f"the schedule ends {step + 1} steps before this one")


@dataclass(config=STRICT, frozen=True)
class PretrainConfig:
    """How every pre-training run of a system is trained."""

    # Name → run; the names are those of the pipeline.
    runs: Mapping[str, PretrainRun]
    # Examples per optimizer step, over all devices.
    batch_size: Positive
    optimizer: OptimizerConfig
    # Devices of this machine to train on; more than one starts a process for each.
    devices: Positive = 1
    # auto measures both on the device for a moment and takes bf16 where it is at least 1.3 times as fast.
    precision: Precision = "auto"
    # Steps between two points of the curves.
    log_every: Positive = 20
    # Steps between two checkpoints to resume from.
    checkpoint_every: Positive = 500
    # Processes that prepare batches; 0 prepares them in the training process.
    loader_workers: Annotated[int, Field(ge=0)] = 0

    def __post_init__(self) -> None:
        if self.batch_size % self.devices:
            raise ValueError(f"batch_size {self.batch_size} must be a multiple of devices, {self.devices}")


@dataclass(config=STRICT, frozen=True)
class JointPretrainConfig(PretrainConfig):
    """Examples are independent of one another: a step can be taken in several passes."""

    # Examples per forward pass on one device; gradients accumulate up to batch_size. None: all at once.
    micro_batch_size: Positive | None = None

    @property
    def accumulated(self) -> int:
        """Forward passes per optimizer step on each device."""
        return self.batch_size // (self.devices * (self.micro_batch_size or self.batch_size // self.devices))

    def __post_init__(self) -> None:
        share = self.devices * (self.micro_batch_size or 1)
        if self.batch_size % share:
            raise ValueError(f"batch_size {self.batch_size} must be a multiple of devices × micro_batch_size = {share}")


@dataclass(config=STRICT, frozen=True)
class FinetuneVariant:
    """One fine-tuned model; the pipeline wires it to the pre-training run that it starts from."""

    # ie_k, ae_k: joint over k candidates; ie_1: pairwise cross-encoder.
    head: HeadKind


@dataclass(config=STRICT, frozen=True)
class FinetuneConfig:
    """How every variant is fine-tuned on answer selection."""

    # Name → variant; the names are those of the pipeline.
    variants: dict[str, FinetuneVariant]
    # Inputs per optimizer step: groups of k candidates, or pairs.
    batch_size: Positive
    # Passes over the training questions at most.
    epochs: Positive
    # Epochs without a better MAP on the development set before training stops.
    patience: Positive
    optimizer: OptimizerConfig
    # linear (paper) or released (dropout, dense, tanh, dropout, linear).
    head_style: HeadStyle = "linear"
    precision: Precision = "auto"


@dataclass(config=STRICT, frozen=True)
class MsppSystem:
    """MSPP: an encoder, its pre-training runs and its fine-tuned variants."""

    encoder: EncoderConfig
    layout: LayoutConfig
    pretrain: JointPretrainConfig
    finetune: FinetuneConfig
    # Everything is done this often, with the seeds 0, 1, ….
    seeds: Positive
    system: Literal["mspp"] = Field(default="mspp", kw_only=True)

    def training(self) -> dict[str, Any]:
        """The part that the training side reads, as plain data; a system's own configuration has more."""
        return fields_of(self, MsppSystem)

    def pretraining(self, run: str) -> dict[str, Any]:
        """All that a pre-training run depends on, as plain data."""
        return {
            "encoder": asdict(self.encoder),
            "layout": asdict(self.layout),
            "pretrain": asdict(self.pretrain) | {"runs": asdict(self.pretrain.runs[run])},
        }


def fields_of(value: Any, kind: type) -> dict[str, Any]:
    """The fields that the dataclass `kind` has, as plain data, of a value that may have more."""
    values = asdict(value)
    return {field.name: values[field.name] for field in fields(kind)}


def check_encoders(runs: Mapping[str, Any], encoders: Mapping[str, Any]) -> None:
    """Raise ValueError for a run whose `encoder` is not among the encoders."""
    for name, run in runs.items():
        if run.encoder not in encoders:
            raise ValueError(f"run {name}: no encoder {run.encoder!r}; there are {sorted(encoders)}")


def run_of_encoders(system: Any, run: str) -> dict[str, Any]:
    """All that a pre-training run depends on, as plain data, of a system with several encoders."""
    recipe = system.pretrain.runs[run]
    return {
        "encoder": asdict(system.encoders[recipe.encoder]),
        "layout": asdict(system.layout),
        "pretrain": asdict(system.pretrain) | {"runs": asdict(recipe)},
    }

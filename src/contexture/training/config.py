"""Settings of a training run: with the example files they are all it needs."""

from collections.abc import Mapping
from dataclasses import dataclass as plain_dataclass
from dataclasses import fields, replace
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, TypeAdapter
from pydantic.dataclasses import dataclass

from contexture.encoders.config import AnyEncoderConfig, Lengths
from contexture.objectives.base_config import ObjectiveConfig
from contexture.objectives.config import OBJECTIVES
from contexture.streams.base_config import StreamConfig, apply_run_settings
from contexture.strict import STRICT, DropNull, Positive, checked

Precision = Literal["auto", "fp32", "bf16"]


@dataclass(config=STRICT, frozen=True)
class OptimizerConfig:
    """The learning rate rises linearly to its peak, then follows the schedule."""

    # adamw, or lamb (You et al., 2020): the step of each parameter is as long as its weights, for very large batches.
    kind: Literal["adamw", "lamb"] = Field(default="adamw", kw_only=True)
    # Peak of the learning rate.
    learning_rate: Annotated[float, Field(gt=0)]
    # Steps up to the peak.
    warmup_steps: Annotated[int, Field(ge=0)] = 0
    # Decoupled weight decay, not applied to biases and layer norms.
    weight_decay: Annotated[float, Field(ge=0)] = 0.01
    beta2: Annotated[float, Field(ge=0, lt=1)] = 0.999
    epsilon: Annotated[float, Field(gt=0)] = 1e-8
    # linear: down to 0 at the last step. constant: the peak to the end.
    schedule: Literal["linear", "constant"] = "linear"
    # Gradients are scaled down to this norm …
    clip_norm: Annotated[float, Field(gt=0)] = 1.0
    # … that of all parameters together, or of each parameter by itself.
    clip: Literal["all", "each"] = "all"


@dataclass(config=STRICT, frozen=True)
class Budget:
    """The length of a stage: its steps follow from it."""

    # flops: forward and backward, of layers and logits. tokens: those that encoders read. seconds: the number of steps
    # then depends on the machine.
    unit: Literal["flops", "tokens", "seconds"]
    amount: Annotated[float, Field(gt=0)]


@dataclass(config=STRICT, frozen=True)
class Stage:
    """A stretch of training with fixed weights."""

    # Objective → its weight in the sum of the losses.
    weights: dict[str, Annotated[float, Field(gt=0)]]
    # Optimizer steps of this stage …
    steps: Positive | None = None
    # … or its budget; by default pretrain.budget …
    budget: Budget | None = None
    # … or this share of that.
    share: Annotated[float, Field(gt=0, le=1)] | None = None
    # Stream → settings that differ in this stage.
    streams: dict[str, dict[str, Any]] = Field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.weights:
            raise ValueError("a stage needs at least one objective")
        if unknown := set(self.weights) - set(OBJECTIVES):
            raise ValueError(f"no objective {sorted(unknown)}; there are {sorted(OBJECTIVES)}")
        if self.steps is not None and self.budget is not None:
            raise ValueError("a stage has either steps or a budget")
        if self.share is not None and (self.steps is not None or self.budget is not None):
            raise ValueError("share is of pretrain.budget: a stage with steps or a budget of its own has none")


#: The keys of a stage, besides the names of objectives.
STAGE_KEYS = frozenset(field.name for field in fields(Stage))


def parse_stage(stage: Any) -> Any:
    """A stage with its objectives under `weights`; they may also be keys of the stage: {mlm: 1, ict: 0.5}."""
    if not isinstance(stage, Mapping) or "weights" in stage or stage.keys() <= STAGE_KEYS:
        return stage
    if unknown := sorted(stage.keys() - STAGE_KEYS - OBJECTIVES.keys()):
        raise ValueError(f"no objective or key {unknown}; there are {sorted(OBJECTIVES)} and {sorted(STAGE_KEYS)}")
    keys = {key: value for key, value in stage.items() if key in STAGE_KEYS}
    return keys | {"weights": {name: weight for name, weight in stage.items() if name in OBJECTIVES}}


@dataclass(config=STRICT, frozen=True)
class PretrainRun:
    """One pre-trained encoder: a schedule of weighted objectives."""

    # Consecutive stages; none keeps the initial weights (a baseline without pre-training).
    schedule: list[Annotated[Stage, BeforeValidator(parse_stage)]]
    # Objective → settings that differ from its defaults.
    objectives: dict[str, dict[str, Any]] = Field(default_factory=dict)
    # Name among `encoders`; null: the first.
    encoder: str | None = None
    # The encoder that it continues: a run of the same system, or a folder, such as another system's run; of folders
    # `seed-<n>` in it that of the run's seed. null: new weights.
    start: str | None = None
    # Stream → settings that differ from the system's.
    streams: dict[str, dict[str, Any]] = Field(default_factory=dict)
    # Rows of an optimizer step, of all streams or by stream. Default: pretrain.batch_size.
    batch_size: Positive | dict[str, Positive] | None = None
    # Peak of the learning rate, lower for a continued encoder. Default: pretrain.optimizer's.
    learning_rate: Annotated[float, Field(gt=0)] | None = None

    def __post_init__(self) -> None:
        used = {name for stage in self.schedule for name in stage.weights}
        if idle := set(self.objectives) - used:
            raise ValueError(f"settings for {sorted(idle)}, which no stage of the schedule uses")
        for name, settings in self.objectives.items():
            checked(OBJECTIVES[name], settings, "objectives", name)

    @property
    def steps(self) -> int:
        """Optimizer steps of all stages, once budgets are resolved."""
        return sum(stage.steps or 0 for stage in self.schedule)

    @property
    def names(self) -> list[str]:
        """The objectives of all stages."""
        return list(dict.fromkeys(name for stage in self.schedule for name in stage.weights))

    def stage_at(self, step: int) -> int:
        """The number of the stage of an optimizer step, both counted from 0."""
        for number, stage in enumerate(self.schedule):
            if step < (stage.steps or 0):
                return number
            step -= stage.steps or 0
        raise IndexError(f"the schedule ends {step + 1} steps before this one")

    def weights_at(self, step: int) -> dict[str, float]:
        """The weights of an optimizer step, counted from 0."""
        return self.schedule[self.stage_at(step)].weights

    def objective(self, name: str) -> ObjectiveConfig:
        """The settings of an objective."""
        config: ObjectiveConfig = TypeAdapter(OBJECTIVES[name]).validate_python(self.objectives.get(name, {}))
        return config

    def own_streams(self, streams: Mapping[str, StreamConfig]) -> dict[str, StreamConfig]:
        """The streams of objectives with separate batches, by the objectives' names."""
        separate = {}
        for name in self.names:
            source = next(
                (streams[stream] for stream in self.objective(name).readable_streams if stream in streams), None
            )
            if source is not None and OBJECTIVES[name].stream_settings:
                separate[name] = apply_run_settings(source, OBJECTIVES[name].stream_settings, name)
        return separate

    def stream_of(self, name: str, streams: Mapping[str, Any]) -> str:
        """The stream that an objective reads; ValueError if it can read none of `streams`."""
        settings = self.objective(name)
        readable = [stream for stream in settings.readable_streams if stream in streams]
        if readable and settings.stream in (None, *readable):
            return name if settings.stream_settings else settings.stream or readable[0]
        raise ValueError(
            f"{name} reads {' or '.join(settings.readable_streams)}; "
            + (f"{settings.stream!r} is none of them here" if settings.stream else f"the streams are {sorted(streams)}")
        )


@dataclass(config=STRICT, frozen=True)
class PretrainConfig:
    """How every pre-training run of a system is trained."""

    # Name → run.
    runs: Annotated[dict[str, PretrainRun], DropNull]
    # Rows of an optimizer step, over all devices, of each stream.
    batch_size: Positive
    optimizer: OptimizerConfig
    # Budget of stages without steps or a budget.
    budget: Budget | None = None
    # Devices to train on, each with a process: of this machine, or of several, see docs/scaling.md.
    devices: Positive = 1
    # Rows of a forward pass on one device, in streams of independent rows; gradients accumulate up to batch_size. null:
    # all at once.
    micro_batch_size: Positive | None = None
    # Tokens, padding included, that are encoded together if texts are negatives of one another.
    tokens_at_once: Positive = 16384
    # Compute activations of texts again in the backward pass: memory holds only those of tokens_at_once.
    recompute: bool = False
    # auto measures both on the device and chooses bf16 if it is at least 1.3 times as fast.
    precision: Precision = "auto"
    # Steps between two points of the curves.
    log_every: Positive = 20
    # Steps between two checkpoints to resume from.
    checkpoint_every: Positive = 500
    # Encoders kept during training, evenly spaced, to show quality over training time.
    snapshots: Annotated[int, Field(ge=0)] = 0
    # Processes that prepare batches for each device; 0: the training process does. null: 4 for a GPU, else 0.
    loader_workers: Annotated[int, Field(ge=0)] | None = None

    def __post_init__(self) -> None:
        for name, run in self.runs.items():
            if self.budget is None and any(stage.steps is None and stage.budget is None for stage in run.schedule):
                raise ValueError(f"runs.{name}: a stage needs steps or a budget, where pretrain.budget tells none")

    def recipe(self, run: str) -> PretrainRun:
        """A run whose stages have steps or a budget."""
        recipe = self.runs[run]
        return replace(recipe, schedule=[self._with_budget(stage) for stage in recipe.schedule])

    def _with_budget(self, stage: Stage) -> Stage:
        if stage.steps is not None or stage.budget is not None or self.budget is None:
            return stage
        amount = self.budget.amount * (stage.share or 1.0)
        return replace(stage, budget=replace(self.budget, amount=amount), share=None)

    def of_run(self, run: str) -> "PretrainConfig":
        """The same with the learning rate of a run."""
        rate = self.runs[run].learning_rate
        return self if rate is None else replace(self, optimizer=replace(self.optimizer, learning_rate=rate))

    def batch_sizes(self, run: str, streams: Mapping[str, Any]) -> dict[str, int]:
        """Rows of an optimizer step of each stream."""
        size = self.runs[run].batch_size
        sizes = size if isinstance(size, dict) else dict.fromkeys(streams, size or self.batch_size)
        return {name: sizes.get(name, self.batch_size) for name in streams}

    def passes(self, sizes: Mapping[str, int]) -> int:
        """Forward passes of an optimizer step: as many as the largest of the batches that can be split needs."""
        rows = [size // self.devices for size in sizes.values()]
        return max((-(-size // (self.micro_batch_size or size)) for size in rows), default=1)


@plain_dataclass(frozen=True)
class Pretraining:
    """All that one pre-training run depends on, except its files."""

    run: str
    recipe: PretrainRun
    encoder: AnyEncoderConfig
    lengths: Lengths
    # Stream → its settings in this run. All streams of the system: positions and token types of an encoder that other
    # runs continue must serve them all.
    streams: dict[str, Any]
    settings: PretrainConfig

    def __post_init__(self) -> None:
        for name, stream in self.stream_of.items():
            try:
                self.recipe.objective(name).check(self.encoder, self.lengths)
            except ValueError as error:
                raise ValueError(f"run {self.run}: {name} {error}") from None
            size = self.settings.batch_sizes(self.run, self.streams)[stream]
            if size % self.settings.devices:
                raise ValueError(
                    f"run {self.run}: batch_size {size} must be a multiple of devices, {self.settings.devices}"
                )
        for number in range(len(self.recipe.schedule)):
            self.stage_streams(number)

    @property
    def stream_of(self) -> dict[str, str]:
        """Objective → the stream that it reads."""
        return {name: self.recipe.stream_of(name, self.streams) for name in self.recipe.names}

    @property
    def active(self) -> list[str]:
        """The streams that the run reads."""
        return list(dict.fromkeys(self.stream_of.values()))

    def stage_streams(self, number: int) -> dict[str, Any]:
        """The streams that a stage reads, with their settings there."""
        stage = self.recipe.schedule[number]
        active = list(dict.fromkeys(self.stream_of[name] for name in stage.weights))
        if unread := sorted(set(stage.streams) - set(active)):
            raise ValueError(f"run {self.run}, schedule.{number}.streams: no objective of the stage reads {unread}")
        location = ("pretrain", "runs", self.run, "schedule", str(number), "streams")
        return {
            name: apply_run_settings(self.streams[name], stage.streams.get(name, {}), *location, name)
            for name in active
        }

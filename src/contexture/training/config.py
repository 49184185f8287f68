"""Settings of pre-training."""

from collections.abc import Mapping
from dataclasses import dataclass as plain_dataclass
from dataclasses import fields, replace
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field
from pydantic.dataclasses import dataclass

from contexture.encoders.config import AnyEncoderConfig, Lengths
from contexture.messages import explain_unknown
from contexture.objectives.base_config import ObjectiveConfig
from contexture.objectives.config import OBJECTIVES
from contexture.streams.base_config import StreamConfig, apply_run_settings
from contexture.strict import STRICT, DropNull, Positive, check_names, key_error, validate

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
    # Decay rate of the mean squared gradient.
    beta2: Annotated[float, Field(ge=0, lt=1)] = 0.999
    # Added to the denominator of the update.
    epsilon: Annotated[float, Field(gt=0)] = 1e-8
    # linear: down to 0 at the last step. constant: the peak to the end.
    schedule: Literal["linear", "constant"] = "linear"
    # Gradients are scaled down to this norm.
    clip_norm: Annotated[float, Field(gt=0)] = 1.0
    # Whether clip_norm limits the norm of all parameters together or of each parameter.
    clip: Literal["all", "each"] = "all"


@dataclass(config=STRICT, frozen=True)
class Budget:
    """The length of a stage, from which its number of steps is computed."""

    # flops: forward and backward, of layers and logits. tokens: of the texts, each counted once. seconds: the number
    # of steps depends on the machine. minutes: of the whole `kedro run`; training gets what the rest of the run leaves.
    unit: Literal["flops", "tokens", "seconds", "minutes"]
    # Amount in this unit.
    amount: Annotated[float, Field(gt=0)]


#: Stream whose held-out pairs are questions.
QUESTIONS = "pairs"


@dataclass(config=STRICT, frozen=True)
class HeldOutConfig:
    """Documents that are kept out of training, to measure its loss on them and to stop early."""

    # Share of the documents, chosen by their ids.
    share: Annotated[float, Field(gt=0, lt=1)] = 0.02
    # Steps between two measurements of the loss. It is also measured before the first step and after the last one.
    evaluate_every: Positive = 50
    # Batches that the loss is measured on: always the same ones.
    batches: Positive = 8
    # Training stops after this many measurements without a better value of the criterion, and the best encoder is kept.
    # null: all steps are trained, and the last encoder is kept.
    patience: Positive | None = None
    # loss: the loss of the run's objectives. questions: the mean reciprocal rank of the passages of held-out pairs, for
    # systems with the stream pairs, whatever the objectives of the run.
    criterion: Literal["loss", "questions"] = "loss"


@dataclass(config=STRICT, frozen=True)
class Stage:
    """A part of the schedule with fixed weights of objectives."""

    # Objective → its weight in the sum of the losses.
    weights: dict[str, Annotated[float, Field(gt=0)]]
    # Optimizer steps; a stage has steps, a budget or a share.
    steps: Positive | None = None
    # Budget. Default: pretrain.budget.
    budget: Budget | None = None
    # Share of pretrain.budget.
    share: Annotated[float, Field(gt=0, le=1)] | None = None
    # Stream → settings of this stage that differ.
    streams: dict[str, dict[str, Any]] = Field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.weights:
            raise ValueError("a stage needs at least one objective")
        check_names("objective", self.weights, OBJECTIVES, "weights")
        if self.steps is not None and self.budget is not None:
            raise ValueError("a stage has either steps or a budget")
        if self.share is not None and (self.steps is not None or self.budget is not None):
            raise ValueError("share is a part of pretrain.budget: remove it from a stage with steps or a budget")


#: The keys of a stage that are no objectives.
STAGE_KEYS = frozenset(field.name for field in fields(Stage))


def parse_stage(stage: Any) -> Any:
    """Return a stage with objectives that are keys of it, as in {mlm: 1, ict: 0.5}, moved to `weights`."""
    if not isinstance(stage, Mapping) or "weights" in stage or stage.keys() <= STAGE_KEYS:
        return stage
    if unknown := sorted(stage.keys() - STAGE_KEYS - OBJECTIVES.keys()):
        raise ValueError(explain_unknown("objective or key of a stage", unknown, {*OBJECTIVES, *STAGE_KEYS}))
    keys = {key: value for key, value in stage.items() if key in STAGE_KEYS}
    return keys | {"weights": {name: weight for name, weight in stage.items() if name in OBJECTIVES}}


@dataclass(config=STRICT, frozen=True)
class PretrainRun:
    """One pre-training: a schedule of weighted objectives."""

    # Consecutive stages. An empty list keeps the initial weights (a baseline without pre-training).
    schedule: list[Annotated[Stage, BeforeValidator(parse_stage)]]
    # Objective → settings that differ from the defaults.
    objectives: dict[str, dict[str, Any]] = Field(default_factory=dict)
    # Name among `encoders`; null: the first.
    encoder: str | None = None
    # The encoder to start from: a run of the same system, or a folder, such as another system's run; from folders
    # `seed-<n>` in it, that of the run's seed. null: new weights.
    start: str | None = None
    # Stream → settings that differ from the system's.
    streams: dict[str, dict[str, Any]] = Field(default_factory=dict)
    # Rows per optimizer step, for all streams or by stream. Default: pretrain.batch_size.
    batch_size: Positive | dict[str, Positive] | None = None
    # Peak of the learning rate. Default: pretrain.optimizer's.
    learning_rate: Annotated[float, Field(gt=0)] | None = None

    def __post_init__(self) -> None:
        used = {name for stage in self.schedule for name in stage.weights}
        for name in self.objectives:
            check_names("objective", [name], OBJECTIVES, "objectives")
            if name not in used:
                raise key_error("no stage of the schedule uses it; remove its settings", "objectives", name)
        for name, settings in self.objectives.items():
            validate(OBJECTIVES[name], settings, "objectives", name)

    @property
    def steps(self) -> int:
        """Optimizer steps of all stages, after budgets are resolved."""
        return sum(stage.steps or 0 for stage in self.schedule)

    @property
    def objective_names(self) -> list[str]:
        """The objectives of all stages."""
        return list(dict.fromkeys(name for stage in self.schedule for name in stage.weights))

    def get_stage_number(self, step: int) -> int:
        """Return the number of the stage of an optimizer step, both from 0."""
        for number, stage in enumerate(self.schedule):
            if step < (stage.steps or 0):
                return number
            step -= stage.steps or 0
        raise IndexError(f"the schedule ends {step + 1} steps before this one")

    def get_weights(self, step: int) -> dict[str, float]:
        """Return objective → weight at an optimizer step, from 0."""
        return self.schedule[self.get_stage_number(step)].weights

    def objective(self, name: str) -> ObjectiveConfig:
        """Return the settings of an objective in this run."""
        config: ObjectiveConfig = validate(OBJECTIVES[name], self.objectives.get(name, {}))
        return config

    def separate_streams(self, streams: Mapping[str, StreamConfig]) -> dict[str, StreamConfig]:
        """Return objective → settings of its stream, for objectives that need separate batches."""
        separate = {}
        for name in self.objective_names:
            source = next(
                (streams[stream] for stream in self.objective(name).readable_streams if stream in streams), None
            )
            if source is not None and OBJECTIVES[name].stream_settings:
                separate[name] = apply_run_settings(source, OBJECTIVES[name].stream_settings, name)
        return separate

    def find_stream(self, name: str, streams: Mapping[str, Any]) -> str:
        """Return the name of the stream that an objective reads; raises ValueError if it can read none of `streams`."""
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
    """Settings of all pre-training runs of a system."""

    # Name → run.
    runs: Annotated[dict[str, PretrainRun], DropNull]
    # Rows per optimizer step of each stream, over all devices.
    batch_size: Positive
    optimizer: OptimizerConfig
    # Default budget of a stage.
    budget: Budget | None = None
    # Devices, each with a process, on this machine or on several: see docs/scaling.md.
    devices: Positive = 1
    # Rows per forward pass and device in streams of independent rows; gradients accumulate up to batch_size. null: all.
    micro_batch_size: Positive | None = None
    # Tokens, padding included, that are encoded together in streams whose texts are negatives of one another.
    tokens_at_once: Positive = 16384
    # Compute activations of texts again in the backward pass, to keep only those of tokens_at_once in memory.
    recompute: bool = False
    # auto: bf16 if it is at least 1.3 times as fast on this device, otherwise fp32.
    precision: Precision = "auto"
    # Steps between two points of the curves.
    log_every: Positive = 20
    # Steps between two checkpoints to resume from.
    checkpoint_every: Positive = 500
    # Number of encoders saved during training, at equal intervals.
    snapshots: Annotated[int, Field(ge=0)] = 0
    # Documents that are kept out of training, to measure its loss on them. null: none.
    held_out: HeldOutConfig | None = None
    # Processes that prepare batches for each device. 0: the training process. null: 4 for a GPU, otherwise 0.
    loader_workers: Annotated[int, Field(ge=0)] | None = None

    def __post_init__(self) -> None:
        for name, run in self.runs.items():
            if self.budget is None and any(stage.steps is None and stage.budget is None for stage in run.schedule):
                message = "a stage needs steps or a budget, because pretrain.budget is not set"
                raise key_error(message, "runs", name, "schedule")

    def recipe(self, run: str) -> PretrainRun:
        """Return the settings of a run, with the default budget in stages that have neither steps nor a budget."""
        recipe = self.runs[run]
        return replace(recipe, schedule=[self._with_budget(stage) for stage in recipe.schedule])

    def _with_budget(self, stage: Stage) -> Stage:
        """Return a stage with its share of the default budget, unless it has steps or a budget."""
        if stage.steps is not None or stage.budget is not None or self.budget is None:
            return stage
        amount = self.budget.amount * (stage.share or 1.0)
        return replace(stage, budget=replace(self.budget, amount=amount), share=None)

    def with_run_rate(self, run: str) -> "PretrainConfig":
        """Return these settings with the learning rate of a run, if it sets one."""
        rate = self.runs[run].learning_rate
        return self if rate is None else replace(self, optimizer=replace(self.optimizer, learning_rate=rate))

    def batch_sizes(self, run: str, streams: Mapping[str, Any]) -> dict[str, int]:
        """Return stream → rows per optimizer step of a run."""
        size = self.runs[run].batch_size
        sizes = size if isinstance(size, dict) else dict.fromkeys(streams, size or self.batch_size)
        return {name: sizes.get(name, self.batch_size) for name in streams}

    def passes(self, sizes: Mapping[str, int]) -> int:
        """Return how many forward passes of `micro_batch_size` rows per device the largest of these batches needs."""
        rows = [size // self.devices for size in sizes.values()]
        return max((-(-size // (self.micro_batch_size or size)) for size in rows), default=1)


@plain_dataclass(frozen=True)
class Pretraining:
    """All settings of one pre-training run."""

    run: str
    recipe: PretrainRun
    encoder: AnyEncoderConfig
    lengths: Lengths
    # Stream → its settings in this run, for all streams of the system, because other runs may continue the encoder.
    streams: dict[str, Any]
    settings: PretrainConfig

    def __post_init__(self) -> None:
        for name, stream in self.stream_by_objective.items():
            try:
                self.recipe.objective(name).check(self.encoder, self.lengths)
            except ValueError as error:
                raise ValueError(f"{name} {error}") from None
            size = self.settings.batch_sizes(self.run, self.streams)[stream]
            if size % self.settings.devices:
                raise ValueError(f"batch_size {size} must be a multiple of devices, {self.settings.devices}")
        for number in range(len(self.recipe.schedule)):
            self.stage_streams(number)

    @property
    def stream_by_objective(self) -> dict[str, str]:
        """Objective → the stream that it reads."""
        return {name: self.recipe.find_stream(name, self.streams) for name in self.recipe.objective_names}

    @property
    def stream_names(self) -> list[str]:
        """The streams that the run reads."""
        return list(dict.fromkeys(self.stream_by_objective.values()))

    def stage_streams(self, number: int) -> dict[str, Any]:
        """Return stream → its settings in a stage, for the streams that the stage reads."""
        stage = self.recipe.schedule[number]
        active = list(dict.fromkeys(self.stream_by_objective[name] for name in stage.weights))
        if unread := sorted(set(stage.streams) - set(active)):
            raise ValueError(f"schedule.{number}.streams: no objective of the stage reads {', '.join(unread)}")
        location = ("pretrain", "runs", self.run, "schedule", str(number), "streams")
        return {
            name: apply_run_settings(self.streams[name], stage.streams.get(name, {}), *location, name)
            for name in active
        }

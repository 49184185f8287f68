"""Settings that all tasks share, so that a system need not know the tasks."""

from collections.abc import Collection, Iterable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Self

from pydantic import Field
from pydantic.dataclasses import dataclass

from contexture.demo.config import DEMO
from contexture.encoders.config import HeadStyle, LayoutConfig
from contexture.retrieval.config import Bm25Config
from contexture.streams.base_config import StreamConfig
from contexture.strict import STRICT, Positive
from contexture.training.config import OptimizerConfig, Precision


@dataclass(config=STRICT, frozen=True)
class SourceSettings:
    """Where the files of a task are."""

    @property
    def reads_demo(self) -> bool:
        """Whether the demo writes some of them."""
        return getattr(self, "input", None) == DEMO


@dataclass(config=STRICT, frozen=True)
class TaskSettings:
    """How a task measures and fine-tunes, with defaults for tasks that need no more."""

    def check_variants(self, variants: Collection[str]) -> None:
        """Raise ValueError if the settings name a variant that is not one of `variants`."""

    def restrict_variants(self, variants: Collection[str]) -> Self:
        """The same for fewer variants."""
        return self

    def complete_from_source(self, source: Any) -> Self:
        """The same, completed from the parameters that say where the files are."""
        return self

    def complete_from_streams(self, streams: Iterable[StreamConfig]) -> Self:
        """The same, completed from the streams of the system."""
        return self

    def get_bm25_config(self, passages_dir: Path) -> Bm25Config | None:
        """How BM25 ranks the table of passages, so that the search index ranks alike; None: no preference."""
        return None

    def get_option_settings(self, option: str) -> Any:
        """Settings of one of the models that `Task.list_options` names."""
        return self

    def get_start_option(self, option: str) -> str | None:
        """The model of the same encoder from which this one starts; None: it starts from the encoder."""
        return None

    def identity(self, option: str) -> dict[str, Any]:
        """The settings on which the weights of one of the models depend."""
        return asdict(self)

    def get_data_dir(self, option: str, data_dir: Path) -> Path:
        """The folder, in the task's data or itself, that one of the models learns from."""
        return data_dir


@dataclass(config=STRICT, frozen=True)
class FinetuneSettings(TaskSettings):
    """How an encoder is fine-tuned on a task."""

    # Examples of an optimizer step, over all devices.
    batch_size: Positive = 32
    # Devices to train on, with a process for each.
    devices: Positive = 1
    # auto measures both on the device for a moment and takes bf16 where it is at least 1.3 times as fast.
    precision: Precision = "auto"
    # Dev scores in a row without an improvement before training stops.
    patience: Positive = 5
    optimizer: OptimizerConfig = Field(default_factory=lambda: OptimizerConfig(learning_rate=5e-5))

    def __post_init__(self) -> None:
        if self.batch_size % self.devices:
            raise ValueError(f"batch_size {self.batch_size} must be a multiple of devices, {self.devices}")

    def training_steps(self, steps_per_epoch: int) -> tuple[int, int]:
        """The maximal number of optimizer steps, and the number of steps between two dev scores."""
        raise NotImplementedError


@dataclass(config=STRICT, frozen=True)
class EpochSettings(FinetuneSettings):
    """Settings of fine-tuning that is measured after each epoch."""

    # Passes over the training examples at most.
    epochs: Positive = 10

    def training_steps(self, steps_per_epoch: int) -> tuple[int, int]:
        """See `FinetuneSettings.training_steps`."""
        return self.epochs * steps_per_epoch, steps_per_epoch


@dataclass(config=STRICT, frozen=True)
class StepSettings(FinetuneSettings):
    """Settings of fine-tuning that is measured after a fixed number of steps."""

    # Optimizer steps at most.
    steps: Positive = 2000
    # Steps between two dev scores.
    evaluate_every: Positive = 200
    # Tokens, padding included, that are encoded at a time: texts of like length go together.
    tokens_at_once: Positive = 16384

    def training_steps(self, steps_per_epoch: int) -> tuple[int, int]:
        """See `FinetuneSettings.training_steps`."""
        return self.steps, self.evaluate_every


@dataclass(config=STRICT, frozen=True)
class JointSettings(EpochSettings):
    """Settings of fine-tuning on joint inputs."""

    # linear (paper) or released (dropout, dense, tanh, dropout, linear).
    head_style: HeadStyle = "linear"
    # How the texts of an example are laid out in one input; null: the layout of the system's own examples.
    layout: LayoutConfig | None = None

    def complete_from_streams(self, streams: Iterable[StreamConfig]) -> Self:
        """The same with the layout of the first stream that has one, unless a layout is set."""
        layouts = (stream.layout for stream in streams if hasattr(stream, "layout"))
        return replace(self, layout=self.layout or next(layouts, None))

    def require_layout(self, task: str) -> LayoutConfig:
        """Return the layout; ValueError if none is set."""
        if self.layout is None:
            raise ValueError(f"fine-tuning needs a layout of its joint inputs: set {task}.layout")
        return self.layout

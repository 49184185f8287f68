"""Base classes of the settings of tasks."""

from collections.abc import Collection, Iterable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

from pydantic import Field
from pydantic.dataclasses import dataclass

from contexture.demo.config import DEMO
from contexture.encoders.config import HeadStyle, LayoutConfig
from contexture.retrieval.config import Bm25Config
from contexture.streams.base_config import StreamConfig
from contexture.strict import STRICT, Positive
from contexture.training.config import OptimizerConfig, Precision

#: Value of `pcr_sentences`: the evaluated sentences.
TEST: Literal["test"] = "test"
#: Sentences of each language that PCR (CMLM, section 5.2) is fitted on: a number of sentences of the corpus, or test,
#: all evaluated sentences of the language, without their labels.
PcrSentences = Positive | Literal["test"]


@dataclass(config=STRICT, frozen=True)
class SourceSettings:
    """Where the files of a task are."""

    @property
    def reads_demo(self) -> bool:
        """Whether the demo writes some of the files."""
        return getattr(self, "input", None) == DEMO


@dataclass(config=STRICT, frozen=True)
class TaskSettings:
    """How a task evaluates and fine-tunes encoders."""

    #: Keys on which the weights of fine-tuned models do not depend.
    measurement_keys: ClassVar[tuple[str, ...]] = ()

    def check_variants(self, variants: Collection[str]) -> None:
        """Raise ValidationError, with the key, if the settings name a variant that is not in `variants`."""

    def restrict_variants(self, variants: Collection[str]) -> Self:
        """Return the settings with only the entries of these variants."""
        return self

    def list_combined(self, name: str) -> list[str]:
        """Return the variants that the results of this task combine under a name of their own; none for other names."""
        return []

    def complete_from_source(self, source: Any) -> Self:
        """Return the settings with values that are not set filled in from the task's source."""
        return self

    def complete_from_streams(self, streams: Iterable[StreamConfig]) -> Self:
        """Return the settings with values that are not set filled in from the streams of the system."""
        return self

    def get_bm25_config(self) -> Bm25Config | None:
        """Return this task's BM25 settings, which the search index of the passages takes over; None: no preference."""
        return None

    def get_option_settings(self, option: str) -> Any:
        """Return the settings for fine-tuning the model of `option` (`Task.list_options`)."""
        return self

    def get_start_option(self, option: str) -> str | None:
        """Return the option whose fine-tuned model is the start of this one; None: the pre-trained encoder."""
        return None

    def identity(self, option: str) -> dict[str, Any]:
        """Return the settings that determine the weights of the model of `option`."""
        return {key: value for key, value in asdict(self).items() if key not in self.measurement_keys}

    def get_data_dir(self, option: str, data_dir: Path) -> Path:
        """Return the folder with the training data of the model of `option`: `data_dir` or a subfolder."""
        return data_dir


@dataclass(config=STRICT, frozen=True)
class FinetuneSettings(TaskSettings):
    """How a task fine-tunes encoders."""

    # Examples per optimizer step, over all devices.
    batch_size: Positive = 32
    # Devices to train on, one process each.
    devices: Positive = 1
    # auto times both on the device and chooses bf16 if it is at least 1.3 times as fast.
    precision: Precision = "auto"
    # Training stops after this many dev scores in a row without an improvement.
    patience: Positive = 5
    optimizer: OptimizerConfig = Field(default_factory=lambda: OptimizerConfig(learning_rate=5e-5))

    def __post_init__(self) -> None:
        if self.batch_size % self.devices:
            raise ValueError(f"batch_size {self.batch_size} must be a multiple of devices, {self.devices}")

    def training_steps(self, steps_per_epoch: int) -> tuple[int, int]:
        """Return the maximal number of optimizer steps and the steps between two dev scores."""
        raise NotImplementedError


@dataclass(config=STRICT, frozen=True)
class EpochSettings(FinetuneSettings):
    """Fine-tuning with a dev score after each epoch."""

    # Maximal number of passes over the training examples.
    epochs: Positive = 10

    def training_steps(self, steps_per_epoch: int) -> tuple[int, int]:
        """Return the number of steps of all epochs, and the steps of an epoch, after which dev is scored."""
        return self.epochs * steps_per_epoch, steps_per_epoch


@dataclass(config=STRICT, frozen=True)
class StepSettings(FinetuneSettings):
    """Fine-tuning with a dev score after a fixed number of steps."""

    # Maximal number of optimizer steps.
    steps: Positive = 2000
    # Steps between two dev scores.
    evaluate_every: Positive = 200
    # Tokens, including padding, that are encoded at a time. Texts are sorted by length.
    tokens_at_once: Positive = 16384

    def training_steps(self, steps_per_epoch: int) -> tuple[int, int]:
        """Return `steps` and `evaluate_every`: the maximal number of steps, and the steps between two dev scores."""
        return self.steps, self.evaluate_every


@dataclass(config=STRICT, frozen=True)
class JointSettings(EpochSettings):
    """Fine-tuning on joint inputs."""

    # linear (paper) or released (dropout, dense, tanh, dropout, linear).
    head_style: HeadStyle = "linear"
    # Layout of the texts of an example in one input; null: the layout of the system's examples.
    layout: LayoutConfig | None = None

    def complete_from_streams(self, streams: Iterable[StreamConfig]) -> Self:
        """Return the settings with the layout of the first stream that has one, unless a layout is set."""
        layouts = (stream.layout for stream in streams if hasattr(stream, "layout"))
        return replace(self, layout=self.layout or next(layouts, None))

    def require_layout(self, task: str) -> LayoutConfig:
        """Return the layout of joint inputs. Raise ValueError, with the name of the task, if none is set."""
        if self.layout is None:
            raise ValueError(f"{task}: fine-tuning needs a layout of its joint inputs: set {task}.layout")
        return self.layout

"""What the settings of all tasks have in common, so that a system need not know the tasks."""

from collections.abc import Collection, Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any, Self

from pydantic.dataclasses import dataclass

from contexture.demo.config import DEMO
from contexture.retrieval.config import Bm25Config
from contexture.streams.base_config import StreamConfig
from contexture.strict import STRICT, Positive
from contexture.training.config import Precision


@dataclass(config=STRICT, frozen=True)
class SourceSettings:
    """Where the files of a task are."""

    @property
    def reads_demo(self) -> bool:
        """Whether some of them are those of the demo."""
        return getattr(self, "input", None) == DEMO


@dataclass(config=STRICT, frozen=True)
class TaskSettings:
    """How a task measures and fine-tunes; here, what nothing need be said of."""

    def check_variants(self, variants: Collection[str]) -> None:
        """Raise ValueError for a variant that is named here and is none of `variants`."""

    def restricted(self, variants: Collection[str]) -> Self:
        """The same for fewer variants."""
        return self

    def given(self, source: Any) -> Self:
        """The same with what follows from the parameters that say where the files are."""
        return self

    def completed(self, streams: Iterable[StreamConfig]) -> Self:
        """The same with what follows from the streams of the system."""
        return self

    def search_words(self, passages: Path) -> Bm25Config | None:
        """How BM25 ranks the table of passages, for the search index to do it alike; here, the task does not say."""
        return None

    def of(self, option: str) -> Any:
        """How one of the models is fine-tuned that `Task.options` names; here, all of them alike."""
        return self

    def before(self, option: str) -> str | None:
        """The model of the same contestant that one begins with, in place of the encoder; here, none does."""
        return None

    def identity(self, option: str) -> dict[str, Any]:
        """What the weights of one of the models depend on, of all that stands here."""
        return asdict(self)

    def data_of(self, option: str, data: Path) -> Path:
        """The folder of the data that one of the models is made of, below that of the task's; here, all of it."""
        return data


@dataclass(config=STRICT, frozen=True)
class FinetuneSettings(TaskSettings):
    """How an encoder is fine-tuned on a task; here, what all of them are told."""

    # Examples of an optimizer step, over all devices.
    batch_size: Positive = 32
    # Devices to train on, with a process for each.
    devices: Positive = 1
    # auto measures both on the device for a moment and takes bf16 where it is at least 1.3 times as fast.
    precision: Precision = "auto"

    def __post_init__(self) -> None:
        if self.batch_size % self.devices:
            raise ValueError(f"batch_size {self.batch_size} must be a multiple of devices, {self.devices}")

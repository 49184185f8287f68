"""What the settings of every task know, so that a system need not know the tasks."""

from collections.abc import Collection, Iterable
from typing import Self

from pydantic.dataclasses import dataclass

from contexture.strict import STRICT
from contexture.training.config import StreamConfig


@dataclass(config=STRICT, frozen=True)
class TaskSettings:
    """How a task measures and fine-tunes; here, what nothing need be said of."""

    def check_variants(self, variants: Collection[str]) -> None:
        """Raise ValueError for a variant that is named here and is none of `variants`."""

    def restricted(self, variants: Collection[str]) -> Self:
        """The same for fewer variants."""
        return self

    def completed(self, streams: Iterable[StreamConfig]) -> Self:
        """The same with what follows from the streams of the system."""
        return self

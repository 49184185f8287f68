"""Settings of the toy stream."""

from typing import ClassVar

from pydantic.dataclasses import dataclass

from contexture.streams.base_config import StreamConfig
from contexture.strict import STRICT


@dataclass(config=STRICT, frozen=True)
class ToyStreamConfig(StreamConfig):
    """The toy stream has no settings."""

    implementation: ClassVar[str] = "contexture.streams.toy.batches:ToyStream"
    tables: ClassVar[str] = "contexture.streams.toy.sample:tables"
    examples: ClassVar[str] = "toy"

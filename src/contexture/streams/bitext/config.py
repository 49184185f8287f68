"""Settings of the stream of parallel sentences."""

from typing import ClassVar

from pydantic.dataclasses import dataclass

from contexture.streams.base_config import StreamConfig
from contexture.strict import STRICT, Positive


@dataclass(config=STRICT, frozen=True)
class BitextStreamConfig(StreamConfig):
    """Parallel sentences, drawn at random from all sets."""

    # Files of the table of pairs.
    files: Positive = 4
    implementation: ClassVar[str] = "contexture.streams.bitext.batches:Bitext"
    tables: ClassVar[str] = "contexture.streams.bitext.sample:tables"
    examples: ClassVar[str] = "bitext"
    source: ClassVar[str] = "bitext"

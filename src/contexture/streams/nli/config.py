"""Settings of the stream of premises and hypotheses in different languages."""

from typing import ClassVar

from pydantic.dataclasses import dataclass

from contexture.streams.base_config import StreamConfig
from contexture.strict import STRICT, Positive


@dataclass(config=STRICT, frozen=True)
class NliStreamConfig(StreamConfig):
    """Premises and hypotheses in different languages (CMLM, section 4.3), drawn at random."""

    # Choices of two languages that are made of each pair, at most as many as there are.
    per_pair: Positive = 2
    # Files of the table of pairs.
    files: Positive = 4
    implementation: ClassVar[str] = "contexture.streams.nli.batches:Nli"
    tables: ClassVar[str] = "contexture.streams.nli.sample:tables"
    examples: ClassVar[str] = "nli"
    made_of: ClassVar[str] = "nli"

"""Settings of the stream of premises and hypotheses in different languages."""

from typing import ClassVar

from pydantic.dataclasses import dataclass

from contexture.streams.base_config import StreamConfig
from contexture.strict import STRICT, Positive


@dataclass(config=STRICT, frozen=True)
class NliStreamConfig(StreamConfig):
    """Premises and hypotheses in different languages (CMLM, section 4.3), drawn at random."""

    # Maximum number of language combinations that are drawn for each pair.
    per_pair: Positive = 2
    # Files of the table of pairs.
    files: Positive = 4
    implementation: ClassVar[str] = "contexture.streams.nli.batches:Nli"
    tables: ClassVar[str] = "contexture.streams.nli.sample:tables"
    examples: ClassVar[str] = "nli"
    source: ClassVar[str] = "nli"

"""Settings of CMLM's examples: how sequences are made and paired."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from contexture.encoders.config import Lengths, TableSizes
from contexture.streams.base_config import Sampling, StreamConfig
from contexture.strict import STRICT


@dataclass(config=STRICT, frozen=True)
class SequenceSampling(Sampling):
    """Sampling of pairs. The defaults are the paper's (section 3)."""

    # packed: as many whole sentences as fit into a document's length (paper: 256 tokens). sentences: one sentence.
    unit: Literal["packed", "sentences"] = "packed"
    # Languages are resampled in proportion to (number of pairs) ^ smoothing: pairs of small languages are repeated, of
    # large ones dropped. 1: no resampling.
    smoothing: Annotated[float, Field(gt=0, le=1)] = 1.0


@dataclass(config=STRICT, frozen=True)
class SequencePairsConfig(StreamConfig):
    """Pairs of consecutive sequences of a document (CMLM)."""

    # Sampling of the pairs.
    sampling: SequenceSampling = Field(default_factory=SequenceSampling)
    implementation: ClassVar[str] = "contexture.streams.sequence_pairs.batches:SequencePairs"
    tables: ClassVar[str] = "contexture.streams.sequence_pairs.sample:tables"
    examples: ClassVar[str] = "sequence_pairs"

    def needs(self, lengths: Lengths) -> TableSizes:
        """Return a position for each token of a document, and one token type."""
        return TableSizes(lengths.document)


@dataclass(config=STRICT, frozen=True)
class SequencesConfig(SequencePairsConfig):
    """Both sequences of each pair as separate texts, for masked language modelling."""

    implementation: ClassVar[str] = "contexture.streams.sequence_pairs.batches:Sequences"

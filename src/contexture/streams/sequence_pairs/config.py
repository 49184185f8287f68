"""CMLM's examples: how sequences are made of a document's sentences and paired."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from contexture.encoders.config import Lengths, TableSizes
from contexture.streams.base_config import Sampling, StreamConfig
from contexture.strict import STRICT


@dataclass(config=STRICT, frozen=True)
class SequenceSampling(Sampling):
    """How pairs are drawn; the defaults are the paper's (section 3)."""

    # packed: as many whole sentences as the length of documents holds (paper: 256 tokens). sentences: one each.
    unit: Literal["packed", "sentences"] = "packed"
    # Languages are to each other as (their number of pairs) ^ smoothing: pairs of small ones are repeated, of large
    # ones left out. 1: as they are.
    smoothing: Annotated[float, Field(gt=0, le=1)] = 1.0


@dataclass(config=STRICT, frozen=True)
class SequencePairsConfig(StreamConfig):
    """Pairs of consecutive sequences of a document: what CMLM reads."""

    # How the pairs are drawn.
    sampling: SequenceSampling = Field(default_factory=SequenceSampling)
    implementation: ClassVar[str] = "contexture.streams.sequence_pairs.batches:SequencePairs"
    tables: ClassVar[str] = "contexture.streams.sequence_pairs.sample:tables"
    examples: ClassVar[str] = "sequence_pairs"

    def needs(self, lengths: Lengths) -> TableSizes:
        """See `StreamConfig.needs`."""
        return TableSizes(lengths.document)


@dataclass(config=STRICT, frozen=True)
class SequencesConfig(SequencePairsConfig):
    """The second sequences of the same pairs, each alone, for masked language modelling."""

    implementation: ClassVar[str] = "contexture.streams.sequence_pairs.batches:Sequences"

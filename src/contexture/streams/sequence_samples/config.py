"""Settings of Cross-Thought's examples: sampling and reading of samples."""

from typing import ClassVar, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from contexture.encoders.config import Lengths, TableSizes
from contexture.streams.base_config import Sampling, StreamConfig
from contexture.strict import STRICT, Positive


@dataclass(config=STRICT, frozen=True)
class SampleSampling(Sampling):
    """Sampling of contiguous text. The defaults are the paper's (section 4.2)."""

    # Sequences of a sample (M).
    sequences: Positive = 500
    # Tokens of a sequence (L), without special tokens.
    tokens: Positive = 64
    # R: a sample has runs of R consecutive sequences from M / R different documents. null: contiguous text (paper).
    run_length: Positive | None = None
    # documents: sequences end with their document. cross: text continues with the next document (released code).
    boundaries: Literal["documents", "cross"] = "documents"

    def __post_init__(self) -> None:
        if self.run_length is None:
            return
        if self.sequences % self.run_length:
            raise ValueError(f"run_length {self.run_length} must divide sequences {self.sequences}")
        if self.boundaries == "cross":
            raise ValueError("a run belongs to one document: set boundaries to documents, or run_length to null")


@dataclass(config=STRICT, frozen=True)
class ShortSequencesConfig(StreamConfig):
    """Single sequences of samples, for masked and left-to-right language models."""

    # Sampling of the samples.
    sampling: SampleSampling = Field(default_factory=SampleSampling)
    # Tokens of a sequence in training, to cut the same text differently. null: sampling.tokens.
    tokens: Positive | None = None
    # Documents that are read together: samples are split into parts with this number of runs (sampling.run_length).
    # null: all documents of a sample.
    documents: Positive | None = None
    # Tokens that may be masked. any: all (paper). shared: those that are not frequent and also occur in another
    # sequence of the sample; an objective's `probability` is then the share of these.
    maskable: Literal["any", "shared"] = "any"
    # Rows of the table of positions, any of which the words of a sequence may have (paper: 0 … 564).
    positions: Positive = 565
    implementation: ClassVar[str] = "contexture.streams.sequence_samples.batches:ShortSequences"
    tables: ClassVar[str] = "contexture.streams.sequence_samples.sample:tables"
    examples: ClassVar[str] = "sequence_samples"
    run_keys: ClassVar[tuple[str, ...]] = ("tokens", "documents", "maskable")

    def __post_init__(self) -> None:
        if self.documents is None:
            return
        if self.sampling.run_length is None:
            raise ValueError("documents needs samples of runs: set sampling.run_length, or documents to null")
        runs = self.sampling.sequences // self.sampling.run_length
        if runs % self.documents:
            raise ValueError(f"documents {self.documents} must divide the {runs} documents of a sample")

    @property
    def length(self) -> int:
        """Tokens of a sequence, without special tokens."""
        return self.tokens or self.sampling.tokens

    def needs(self, lengths: Lengths) -> TableSizes:
        """Return the stream's positions, at any of which a sequence may begin, and one token type."""
        return TableSizes(self.positions)


@dataclass(config=STRICT, frozen=True)
class SequenceSamplesConfig(ShortSequencesConfig):
    """Samples of contiguous sequences that attend to one another (Cross-Thought)."""

    # Sequences attend to: sample: all of their sample (paper). others: all but themselves. document: those of their
    # own document, themselves included.
    attends: Literal["sample", "others", "document"] = "sample"
    implementation: ClassVar[str] = "contexture.streams.sequence_samples.batches:SequenceSamples"
    run_keys: ClassVar[tuple[str, ...]] = ("tokens", "documents", "maskable", "attends")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.attends == "document" and self.sampling.boundaries == "cross":
            raise ValueError(
                "attends: document, but with sampling.boundaries: cross a sequence has several documents; "
                "set boundaries to documents, or attends to sample"
            )

"""Cross-Thought's examples: how samples are made of a corpus, and how they are read."""

from typing import ClassVar, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from contexture.encoders.config import Lengths, Needs
from contexture.streams.base_config import Sampling, StreamConfig
from contexture.strict import STRICT, Positive


@dataclass(config=STRICT, frozen=True)
class SampleSampling(Sampling):
    """How samples of contiguous text are drawn; the defaults are the paper's (section 4.2)."""

    # M, the sequences of a sample …
    sequences: Positive = 500
    # … and L, the tokens of a sequence, special ones not counted.
    tokens: Positive = 64
    # R: a sample is made of runs of R consecutive sequences, each of another document: of M / R documents in all.
    # null: contiguous text, as many sequences of a document as there are (paper).
    run_length: Positive | None = None
    # documents: a sequence ends where its document ends. cross: text runs on into the next document (released code).
    boundaries: Literal["documents", "cross"] = "documents"

    def __post_init__(self) -> None:
        if self.run_length is None:
            return
        if self.sequences % self.run_length:
            raise ValueError(f"run_length is {self.run_length}: it must divide sequences, {self.sequences}")
        if self.boundaries == "cross":
            raise ValueError("runs are of one document each: set boundaries to documents, or run_length to null")


@dataclass(config=STRICT, frozen=True)
class ShortSequencesConfig(StreamConfig):
    """The sequences of samples, each alone, for masked and left-to-right language models."""

    # How samples are drawn.
    sampling: SampleSampling = Field(default_factory=SampleSampling)
    # Tokens of a sequence where not as many as it was sampled for: the same text in longer ones. null: so many.
    tokens: Positive | None = None
    # Documents that are read together: a sample is split into parts of so many runs (sampling.run_length). A schedule
    # may begin with few. null: all documents of a sample.
    documents: Positive | None = None
    # Tokens that may be masked. any: all of them (paper). shared: those that stand in another sequence of the sample,
    # too, frequent ones left out; an objective's `probability` is then the share of these.
    maskable: Literal["any", "shared"] = "any"
    # Rows of the table of positions: the words of a sequence may begin anywhere in it (paper: 0 … 564).
    positions: Positive = 565
    implementation: ClassVar[str] = "contexture.streams.sequence_samples.batches:ShortSequences"
    tables: ClassVar[str] = "contexture.streams.sequence_samples.sample:tables"
    examples: ClassVar[str] = "sequence_samples"
    run_keys: ClassVar[tuple[str, ...]] = ("tokens", "documents", "maskable")

    def __post_init__(self) -> None:
        if self.documents is None:
            return
        if self.sampling.run_length is None:
            raise ValueError("documents splits samples of runs: set sampling.run_length, or documents to null")
        runs = self.sampling.sequences // self.sampling.run_length
        if runs % self.documents:
            raise ValueError(f"documents is {self.documents}: it must divide the {runs} documents of a sample")

    @property
    def length(self) -> int:
        """Tokens of a sequence, special ones not counted."""
        return self.tokens or self.sampling.tokens

    def needs(self, lengths: Lengths) -> Needs:
        """See `StreamConfig.needs`."""
        return Needs(self.positions)


@dataclass(config=STRICT, frozen=True)
class SequenceSamplesConfig(ShortSequencesConfig):
    """Samples of contiguous sequences, which attend to one another: what Cross-Thought reads."""

    # sample: sequences attend to all of their sample, themselves included (paper). others: to all but themselves.
    # document: to those of their own document, themselves included.
    attends: Literal["sample", "others", "document"] = "sample"
    implementation: ClassVar[str] = "contexture.streams.sequence_samples.batches:SequenceSamples"
    run_keys: ClassVar[tuple[str, ...]] = ("tokens", "documents", "maskable", "attends")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.attends == "document" and self.sampling.boundaries == "cross":
            raise ValueError(
                "attends is document, but where text runs on (sampling.boundaries: cross) sequences are of several: "
                "set boundaries to documents, or attends to sample"
            )

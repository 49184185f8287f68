"""Settings of MSPP's examples: sampling and input layout."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from contexture.encoders.config import LayoutConfig, Lengths, SlotConfig, TableSizes
from contexture.streams.base_config import Sampling, StreamConfig
from contexture.strict import STRICT, Positive


@dataclass(config=STRICT, frozen=True)
class JointSampling(Sampling):
    """Sampling of examples. The defaults are the paper's (sections 3.4 and 4.1)."""

    # k1: candidates from s0's paragraph.
    positives: Positive = 1
    # k2: candidates from other paragraphs of the same document. Easy ones replace missing ones.
    hard_negatives: Annotated[int, Field(ge=0)] = 2
    # k3: candidates from other documents.
    easy_negatives: Annotated[int, Field(ge=0)] = 2
    # Maximum number of different s0 from a paragraph, one example each.
    examples_per_paragraph: Positive = 1
    # any: all other sentences of the paragraph (paper). following: only those after s0 (released code).
    positive_rule: Literal["any", "following"] = "any"
    # other_paragraphs: the paper's. also_preceding: sentences of up to 2*k2 other paragraphs, and one sentence before
    # s0 in its own paragraph (released code); requires positive_rule following.
    hard_rule: Literal["other_paragraphs", "also_preceding"] = "other_paragraphs"
    # Maximum number of consecutive sentences in a candidate: 1 (paper) or 2 (released code).
    candidate_sentences: Literal[1, 2] = 1

    def __post_init__(self) -> None:
        """Raise ValueError for rules that give contradictory labels."""
        if self.hard_rule == "also_preceding" and self.positive_rule == "any":
            raise ValueError(
                "hard_rule 'also_preceding' needs positive_rule 'following': "
                "otherwise a sentence before s0 would be a positive in one example and a negative in another"
            )

    @property
    def candidates(self) -> int:
        """Number of candidates of an example (k): positives and negatives."""
        return self.positives + self.hard_negatives + self.easy_negatives


@dataclass(config=STRICT, frozen=True)
class JointConfig(SlotConfig, StreamConfig):
    """A sentence and k candidates in one input (section 3.2)."""

    # Sampling of the examples.
    sampling: JointSampling = Field(default_factory=JointSampling)
    implementation: ClassVar[str] = "contexture.streams.joint.batches:Joint"
    tables: ClassVar[str] = "contexture.streams.joint.sample:tables"
    examples: ClassVar[str] = "joint"

    @property
    def layout(self) -> LayoutConfig:
        """Layout of a sentence and its candidates in one input."""
        return LayoutConfig(self.sentence_tokens, self.positions, self.pooling, self.sampling.candidates)

    @property
    def max_tokens(self) -> int:
        """Maximum number of tokens of a sentence or candidate: a slot minus two special tokens."""
        return self.sentence_tokens - 2

    def needs(self, lengths: Lengths) -> TableSizes:
        """Return the positions and token types that a sentence and its candidates need in one input."""
        return TableSizes(self.layout.width, self.layout.candidates + 1)

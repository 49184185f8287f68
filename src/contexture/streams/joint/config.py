"""MSPP's examples: how they are drawn, and how they are laid out."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from contexture.encoders.config import LayoutConfig, Lengths, SlotConfig, TableSizes
from contexture.streams.base_config import Sampling, StreamConfig
from contexture.strict import STRICT, Positive


@dataclass(config=STRICT, frozen=True)
class JointSampling(Sampling):
    """How examples are drawn; the defaults are the paper's (sections 3.4 and 4.1)."""

    # k1: candidates from s0's paragraph
    positives: Positive = 1
    # k2: candidates from other paragraphs of the same document; easy ones stand in for those it cannot give
    hard_negatives: Annotated[int, Field(ge=0)] = 2
    # k3: candidates from other documents
    easy_negatives: Annotated[int, Field(ge=0)] = 2
    # how many different s0 a paragraph gives at most, one example each
    examples_per_paragraph: Positive = 1
    # any: every other sentence of the paragraph (paper); following: only those after s0 (released code)
    positive_rule: Literal["any", "following"] = "any"
    # other_paragraphs (paper); also_preceding: one sentence before s0 in its own paragraph joins the sentences of up
    # to 2*k2 other paragraphs to draw from (released code); with it positives must follow s0
    hard_rule: Literal["other_paragraphs", "also_preceding"] = "other_paragraphs"
    # most sentences in one candidate: 1 (paper), or 2 for one or two consecutive ones (released code)
    candidate_sentences: Literal[1, 2] = 1

    def __post_init__(self) -> None:
        """Raise ValueError for labels that contradict one another."""
        if self.hard_rule == "also_preceding" and self.positive_rule == "any":
            raise ValueError(
                "hard_rule 'also_preceding' needs positive_rule 'following': "
                "else a sentence before s0 would be a positive in one example and a negative in the next"
            )

    @property
    def candidates(self) -> int:
        """k, the number of candidates of an example."""
        return self.positives + self.hard_negatives + self.easy_negatives


@dataclass(config=STRICT, frozen=True)
class JointConfig(SlotConfig, StreamConfig):
    """A sentence and k candidates in one input (section 3.2)."""

    # How the examples are drawn.
    sampling: JointSampling = Field(default_factory=JointSampling)
    implementation: ClassVar[str] = "contexture.streams.joint.batches:Joint"
    tables: ClassVar[str] = "contexture.streams.joint.sample:tables"
    examples: ClassVar[str] = "joint"

    @property
    def layout(self) -> LayoutConfig:
        """How s0 and its candidates are laid out."""
        return LayoutConfig(self.sentence_tokens, self.positions, self.pooling, self.sampling.candidates)

    @property
    def max_tokens(self) -> int:
        """Tokens at which a sentence and a candidate are cut: those of a slot less two special tokens."""
        return self.sentence_tokens - 2

    def needs(self, lengths: Lengths) -> TableSizes:
        """See `StreamConfig.needs`."""
        return TableSizes(self.layout.width, self.layout.candidates + 1)

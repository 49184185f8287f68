"""Settings of pairs for two towers: sampling and mixture."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from contexture.encoders.config import Lengths, TableSizes
from contexture.streams.base_config import Sampling, StreamConfig
from contexture.strict import STRICT, Positive

#: Inverse Cloze Task, Body First Selection and Wiki Link Prediction (section 3). Not in the paper: `headings` pairs a
#: section's title and heading with its text, `neighbours` a sentence with an adjacent passage.
PairTask = Literal["ict", "bfs", "wlp", "headings", "neighbours"]
#: Questions that a model wrote for passages (stage `derive`).
QUERIES = "queries"
PAIR_TASKS: tuple[PairTask, ...] = ("ict", "bfs", "wlp")


@dataclass(config=STRICT, frozen=True)
class PairSampling(Sampling):
    """Sampling of pairs. The defaults are the paper's (sections 3 and 4.1)."""

    # Tasks to sample pairs for.
    tasks: list[PairTask] = Field(default_factory=lambda: list(PAIR_TASKS), min_length=1)
    # Share of the documents without pairs, for the held-out questions.
    held_out: Annotated[float, Field(ge=0, lt=1)] = 0.0
    # ICT, BFS and neighbours: different queries for each passage, a pair each. headings: passages for each section.
    # More pairs help with a small corpus.
    pairs_per_passage: Positive = 1
    # ICT: probability that the query is removed from the passage (1: paper; 0.9: ORQA, so that word overlap counts).
    remove_probability: Annotated[float, Field(ge=0, le=1)] = 1.0
    # Whether a text without pairs, such as one of single sentences, is an error. false: nothing is trained on pairs.
    required: bool = True


@dataclass(config=STRICT, frozen=True)
class PairsConfig(StreamConfig):
    """Pairs of a query and a document (section 3)."""

    # Tasks whose pairs are read. null: all of sampling.tasks.
    tasks: Annotated[list[PairTask], Field(min_length=1)] | None = None
    # uniform: equally many pairs of each task (paper). pooled: every pair equally often.
    mixture: Literal["uniform", "pooled"] = "uniform"
    # Sampling of the pairs.
    sampling: PairSampling = Field(default_factory=PairSampling)
    implementation: ClassVar[str] = "contexture.streams.pairs.batches:Pairs"
    tables: ClassVar[str] = "contexture.streams.pairs.sample:tables"
    examples: ClassVar[str] = "pairs"
    run_keys: ClassVar[tuple[str, ...]] = ("tasks", "mixture")

    def __post_init__(self) -> None:
        if unknown := sorted(set(self.tasks or ()) - set(self.sampling.tasks)):
            raise ValueError(f"tasks: no pairs of {unknown} are sampled; sampling.tasks is {self.sampling.tasks}")

    @property
    def selected_tasks(self) -> list[PairTask]:
        """Pre-training tasks whose pairs are read."""
        return self.tasks or self.sampling.tasks


@dataclass(config=STRICT, frozen=True)
class PassagesConfig(PairsConfig):
    """The documents of the pairs, for masked language modelling."""

    implementation: ClassVar[str] = "contexture.streams.pairs.batches:Passages"

    def needs(self, lengths: Lengths) -> TableSizes:
        """Return a position for each token of a document, and one token type."""
        return TableSizes(lengths.document)


@dataclass(config=STRICT, frozen=True)
class HardPairsConfig(StreamConfig):
    """Pairs with hard negatives, which the stage `derive` mines."""

    # Tasks whose pairs are read. null: all that were mined.
    tasks: Annotated[list[PairTask | Literal["queries"]], Field(min_length=1)] | None = None
    # uniform: equally many pairs of each task. pooled: every pair equally often.
    mixture: Literal["uniform", "pooled"] = "pooled"
    implementation: ClassVar[str] = "contexture.streams.pairs.batches:HardPairs"
    examples: ClassVar[str] = "hard_pairs"
    source: ClassVar[str] = "derive"
    run_keys: ClassVar[tuple[str, ...]] = ("tasks", "mixture")

"""Pairs for two towers: how they are drawn, and how they are mixed."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from contexture.encoders.config import Lengths, Needs
from contexture.streams.base_config import Sampling, StreamConfig
from contexture.strict import STRICT, Positive

#: Inverse Cloze Task, Body First Selection and Wiki Link Prediction (section 3); of our own, what any text gives away:
#: the title and heading of a section, and a sentence of a passage next to another.
PairTask = Literal["ict", "bfs", "wlp", "headings", "neighbours"]
PAIR_TASKS: tuple[PairTask, ...] = ("ict", "bfs", "wlp")


@dataclass(config=STRICT, frozen=True)
class PairSampling(Sampling):
    """How pairs are drawn; the defaults are the paper's (sections 3 and 4.1)."""

    # Tasks whose pairs are drawn.
    tasks: list[PairTask] = Field(default_factory=lambda: list(PAIR_TASKS), min_length=1)
    # Share of the documents that no pair is drawn from, to ask about them.
    held_out: Annotated[float, Field(ge=0, lt=1)] = 0.0
    # ICT, BFS and neighbours: different queries drawn for each passage, a pair each; headings: passages
    # drawn for each section. More of them stretch a small corpus
    pairs_per_passage: Positive = 1
    # ICT: how often the query's sentence is taken out of the passage (1: paper; 0.9: ORQA, that words may match too)
    remove_probability: Annotated[float, Field(ge=0, le=1)] = 1.0


@dataclass(config=STRICT, frozen=True)
class PairsConfig(StreamConfig):
    """Pairs of a query and a document (section 3)."""

    # Tasks whose pairs are read; null: all that are drawn.
    tasks: Annotated[list[PairTask], Field(min_length=1)] | None = None
    # uniform: as many pairs of each task (paper); pooled: each pair as often as any other.
    mixture: Literal["uniform", "pooled"] = "uniform"
    # How the pairs are drawn.
    sampling: PairSampling = Field(default_factory=PairSampling)
    implementation: ClassVar[str] = "contexture.streams.pairs.batches:Pairs"
    tables: ClassVar[str] = "contexture.streams.pairs.sample:tables"
    examples: ClassVar[str] = "pairs"
    run_keys: ClassVar[tuple[str, ...]] = ("tasks", "mixture")

    def __post_init__(self) -> None:
        if unknown := sorted(set(self.tasks or ()) - set(self.sampling.tasks)):
            raise ValueError(f"tasks: no pairs of {unknown} are drawn; sampling.tasks is {self.sampling.tasks}")

    @property
    def read(self) -> list[PairTask]:
        """The tasks whose pairs are read."""
        return self.tasks or self.sampling.tasks


@dataclass(config=STRICT, frozen=True)
class PassagesConfig(PairsConfig):
    """The documents of the same pairs, each alone, for masked language modelling."""

    implementation: ClassVar[str] = "contexture.streams.pairs.batches:Passages"

    def needs(self, lengths: Lengths) -> Needs:
        """See `StreamConfig.needs`."""
        return Needs(lengths.document)

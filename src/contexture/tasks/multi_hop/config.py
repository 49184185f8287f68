"""Settings of multi-hop questions: their files, retrieval, re-ranker and reader."""

from collections.abc import Collection
from dataclasses import replace
from typing import Any, Self

from pydantic import Field
from pydantic.dataclasses import dataclass

from contexture.encoders.config import LayoutConfig
from contexture.strict import STRICT, Positive
from contexture.tasks.answer_selection.config import AnswerModelSettings
from contexture.tasks.ranking.config import POOL, RankingSet, RankingSettings, Split
from contexture.tasks.settings import EpochSettings, SourceSettings, TaskSettings
from contexture.training.config import OptimizerConfig

#: The name of the questions among records, folders and in `retrieval.finetune`.
DATA = "hotpotqa"
#: The models that read texts together.
RERANKER, READER = "reranker", "reader"


@dataclass(config=STRICT, frozen=True)
class MultiHopConfig(SourceSettings):
    """Where the multi-hop questions come from."""

    # null: none. A file or folder in HotpotQA's distractor format, whose questions are split by a hash of their ids; or
    # one for each split: {train: hotpot_train_v1.1.json, test: hotpot_dev_distractor_v1.json}.
    input: str | dict[Split, str] | None = None

    @property
    def ranking_set(self) -> RankingSet | None:
        """The questions as a set of answer ranking; BM25 finds the candidates among all paragraphs of the files."""
        return None if self.input is None else RankingSet("hotpotqa", self.input, POOL)


@dataclass(config=STRICT, frozen=True)
class ReaderSettings(EpochSettings):
    """How the reader is fine-tuned; no paper's values."""

    # Passes over the training questions at most.
    epochs: Positive = 3
    # Epochs without a better joint F1 on the questions of dev before training stops.
    patience: Positive = 1
    optimizer: OptimizerConfig = Field(default_factory=lambda: OptimizerConfig(learning_rate=3e-5, warmup_steps=500))
    # Tokens of a question with its paragraphs, special ones included.
    tokens: Positive = 512


def _reranker() -> AnswerModelSettings:
    layout = LayoutConfig(candidates=1, sentence_tokens=256, pooling="mean")
    return AnswerModelSettings(
        epochs=2, patience=1, optimizer=OptimizerConfig(learning_rate=2e-5, warmup_steps=500), layout=layout
    )


@dataclass(config=STRICT, frozen=True)
class MultiHopSettings(TaskSettings):
    """How multi-hop questions are answered, step by step (Cross-Thought, section 4.4)."""

    # The score that finds paragraphs, and, with finetune: [hotpotqa], how encoders are fine-tuned to find them.
    retrieval: RankingSettings = Field(default_factory=RankingSettings)
    # Number of first paragraphs that are re-ranked.
    paragraphs: Positive = 10
    # The start of re-ranker and reader, which are then the same for all variants: the folder of an encoder, or of one
    # for each seed, or the name of a published one. null: each variant's own Transformer; those without one are
    # measured at retrieval alone.
    reader: str | None = None
    reranker: AnswerModelSettings = Field(default_factory=_reranker)
    reading: ReaderSettings = Field(default_factory=ReaderSettings)

    def __post_init__(self) -> None:
        if unknown := [name for name in self.retrieval.finetune if name != DATA]:
            raise ValueError(f"retrieval.finetune: there is {DATA} alone, not {', '.join(unknown)}")

    def get_option_settings(self, option: str) -> Any:
        """See `TaskSettings`."""
        return {RERANKER: self.reranker, READER: self.reading, DATA: self.retrieval}[option]

    def check_variants(self, variants: Collection[str]) -> None:
        """See `TaskSettings`."""
        self.retrieval.check_variants(variants)

    def restrict_variants(self, variants: Collection[str]) -> Self:
        """See `TaskSettings`."""
        return replace(self, retrieval=self.retrieval.restrict_variants(variants))

"""Settings of multi-hop questions: files, retrieval, re-ranker and reader."""

from collections.abc import Collection
from dataclasses import replace
from typing import Any, Self

from pydantic import Field, ValidationError
from pydantic.dataclasses import dataclass

from contexture.encoders.config import LayoutConfig
from contexture.strict import STRICT, Positive, move_errors
from contexture.tasks.answer_selection.config import AnswerModelSettings
from contexture.tasks.ranking.config import POOL, RankingSet, RankingSettings, Split
from contexture.tasks.settings import EpochSettings, SourceSettings, TaskSettings
from contexture.training.config import OptimizerConfig

#: Name of the questions in records, folders and `retrieval.finetune`.
DATA = "hotpotqa"
RERANKER, READER = "reranker", "reader"


@dataclass(config=STRICT, frozen=True)
class MultiHopConfig(SourceSettings):
    """Files of the multi-hop questions."""

    # A file or folder in HotpotQA's distractor format, split by a hash of the question ids; or one for each split:
    # {train: hotpot_train_v1.1.json, test: hotpot_dev_distractor_v1.json}. null: the task is skipped.
    input: str | dict[Split, str] | None = None

    @property
    def ranking_set(self) -> RankingSet | None:
        """The questions as a set of answer ranking, with BM25 candidates from all paragraphs of the files."""
        return None if self.input is None else RankingSet("hotpotqa", self.input, POOL)


@dataclass(config=STRICT, frozen=True)
class ReaderSettings(EpochSettings):
    """Fine-tuning of the reader. The defaults are not from a paper."""

    # Maximum passes over the training questions.
    epochs: Positive = 3
    # Epochs without a better joint F1 on dev before training stops.
    patience: Positive = 1
    optimizer: OptimizerConfig = Field(default_factory=lambda: OptimizerConfig(learning_rate=3e-5, warmup_steps=500))
    # Tokens of a question with its paragraphs, including special tokens.
    tokens: Positive = 512


def _default_reranker_settings() -> AnswerModelSettings:
    """Return the default settings for fine-tuning the re-ranker, a pairwise answer-selection model."""
    layout = LayoutConfig(candidates=1, sentence_tokens=256, pooling="mean")
    return AnswerModelSettings(
        epochs=2, patience=1, optimizer=OptimizerConfig(learning_rate=2e-5, warmup_steps=500), layout=layout
    )


@dataclass(config=STRICT, frozen=True)
class MultiHopSettings(TaskSettings):
    """Settings of retrieval, re-ranking and reading (Cross-Thought, section 4.4)."""

    # Score of the retrieval; with finetune: [hotpotqa], also how encoders are fine-tuned for it.
    retrieval: RankingSettings = Field(default_factory=RankingSettings)
    # Retrieved paragraphs that are re-ranked.
    paragraphs: Positive = 10
    # Start of a re-ranker and reader that all variants share: the folder of an encoder, or of one for each seed, or the
    # name of a published model. null: each variant's own Transformer; variants without one have retrieval metrics only.
    reader: str | None = None
    reranker: AnswerModelSettings = Field(default_factory=_default_reranker_settings)
    reading: ReaderSettings = Field(default_factory=ReaderSettings)

    def __post_init__(self) -> None:
        if unknown := [name for name in self.retrieval.finetune if name != DATA]:
            raise ValueError(f"retrieval.finetune: unknown set {', '.join(unknown)}; only {DATA} is available")

    def get_option_settings(self, option: str) -> Any:
        """Return the settings for fine-tuning the re-ranker, the reader or (`hotpotqa`) the retriever."""
        return {RERANKER: self.reranker, READER: self.reading, DATA: self.retrieval}[option]

    def identity(self, option: str) -> dict[str, Any]:
        """Return the settings of the option's model; the re-ranker reads the retrieved `paragraphs`."""
        identity: dict[str, Any] = self.get_option_settings(option).identity(option)
        return identity | ({"paragraphs": self.paragraphs} if option == RERANKER else {})

    def check_variants(self, variants: Collection[str]) -> None:
        """Raise ValidationError if `retrieval.scores` names a variant that is not in `variants`."""
        try:
            self.retrieval.check_variants(variants)
        except ValidationError as error:
            raise move_errors(error, "retrieval") from None

    def restrict_variants(self, variants: Collection[str]) -> Self:
        """Return the settings with only the `retrieval.scores` of these variants."""
        return replace(self, retrieval=self.retrieval.restrict_variants(variants))

"""Settings of retrieval: where its questions are, how encoders are fine-tuned and measured; and those of ranking."""

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field
from pydantic.dataclasses import dataclass

from contexture.demo.config import DEMO
from contexture.retrieval.config import Bm25Config, IndexConfig
from contexture.strict import STRICT, Positive
from contexture.tasks.settings import SourceSettings, StepSettings, TaskSettings

#: R@k.
RECALL_AT = (1, 5, 10, 50, 100)
Percent = Annotated[float, Field(gt=0, lt=100)]


@dataclass(config=STRICT, frozen=True)
class RetrievalConfig(SourceSettings):
    """Where the questions of the retrieval benchmark come from."""

    # demo (questions about the made-up world); or a file, a folder, or a list of files.
    input: str | list[str] = DEMO
    # squad (v1.1 JSON), natural_questions (JSON lines, original or simplified).
    format: Literal["squad", "natural_questions"] = "squad"
    # Language of the passages, by which they are split into sentences.
    lang: str = "en"


@dataclass(config=STRICT, frozen=True)
class RankingSettings(TaskSettings):
    """Settings of tasks that rank passages by vectors, by BM25, and by both."""

    # BM25 over all parts of a passage.
    bm25: Bm25Config = Field(default_factory=Bm25Config)
    # Variants whose rankings are also fused with BM25's, by reciprocal rank fusion; both count alike. Retrieval
    # chooses the weight on the questions held out from fine-tuning, if there are enough.
    hybrid: list[str] = Field(default_factory=list)

    def named_variants(self) -> list[str]:
        """Variants that these settings name."""
        return self.hybrid

    def check_variants(self, variants: Collection[str]) -> None:
        """Raise ValueError if a variant that these settings name is none of `variants`."""
        if unknown := [name for name in self.named_variants() if name not in variants]:
            raise ValueError(f"no variant is called {', '.join(unknown)}; there are {sorted(variants)}")

    def restricted(self, variants: Collection[str]) -> Self:
        """The same for these variants alone."""
        return replace(self, hybrid=[name for name in self.hybrid if name in variants])


@dataclass(config=STRICT, frozen=True)
class RetrievalSettings(RankingSettings, StepSettings):
    """How encoders are fine-tuned on questions, and what is measured besides the recall of all of them.

    The defaults of fine-tuning are the paper's (section 4.1).
    """

    # Shares of the questions to train on, in percent; a tenth of them is held out. None: frozen encoders alone.
    shares: list[Percent] = Field(default_factory=list)
    # Questions per optimizer step, over all devices.
    batch_size: Positive = 512
    # Compute activations again in the backward pass, so that memory holds those of tokens_at_once only.
    recompute: bool = False
    # Pairs of the corpus that join the candidates in the open-domain setting (section 4.4); 0 leaves it out.
    open_domain_pairs: Annotated[int, Field(ge=0)] = 0
    # Variants that are also measured there; BM25 is.
    open_domain: list[str] = Field(default_factory=list)
    # Approximate indexes to compare with exact search …
    indexes: list[IndexConfig] = Field(default_factory=list)
    # … on the vectors of this variant, fine-tuned on the largest share if it is fine-tuned. None: no comparison.
    indexed: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if len({share_name(share) for share in self.shares}) < len(self.shares):
            raise ValueError(f"shares: one stands there twice: {self.shares}")
        if self.indexed is not None and not self.indexes:
            raise ValueError(
                f"indexed is {self.indexed}, but there are no indexes to compare: add some, or set it to null"
            )

    def named_variants(self) -> list[str]:
        """See `RankingSettings.named_variants`."""
        return [*self.open_domain, *self.hybrid, *([self.indexed] if self.indexed else [])]

    def search_words(self, passages: Path) -> Bm25Config:
        """See `TaskSettings.search_words`."""
        return self.bm25

    def restricted(self, variants: Collection[str]) -> Self:
        """The same for these variants alone."""
        indexed = self.indexed if self.indexed in variants else None
        return replace(
            super().restricted(variants),
            open_domain=[name for name in self.open_domain if name in variants],
            indexed=indexed,
            indexes=self.indexes if indexed else [],
        )


def share_name(share: float) -> str:
    """A share of the questions, in percent, as the protocol of a record."""
    return f"{share:g}%"


def option_name(share: float) -> str:
    """A share of the questions, in percent, as an option of fine-tuning."""
    return f"share-{share:g}"

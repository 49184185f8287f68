"""Settings of passage retrieval, and settings that tasks with rankings share."""

from collections.abc import Collection
from dataclasses import replace
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field
from pydantic.dataclasses import dataclass

from contexture.demo.config import DEMO
from contexture.retrieval.config import Bm25Config, IndexConfig
from contexture.strict import STRICT, Positive, check_names
from contexture.tasks.settings import SourceSettings, StepSettings, TaskSettings

#: R@k.
RECALL_AT = (1, 5, 10, 50, 100)
Percent = Annotated[float, Field(gt=0, lt=100)]


@dataclass(config=STRICT, frozen=True)
class RetrievalConfig(SourceSettings):
    """Source of the questions of the retrieval benchmark."""

    # demo, a file, a folder, or a list of files.
    input: str | list[str] = DEMO
    # squad (v1.1 JSON), natural_questions (JSON lines, original or simplified).
    format: Literal["squad", "natural_questions"] = "squad"
    # Name of the questions in records and tables. Default: the format.
    name: Annotated[str, Field(pattern=r"^\w[\w.-]*$")] | None = None
    # Language of the passages, for sentence splitting.
    lang: str = "en"


@dataclass(config=STRICT, frozen=True)
class RankingSettings(TaskSettings):
    """Settings of tasks that rank passages by vectors, by BM25, and by both."""

    # BM25 over all text of a passage.
    bm25: Bm25Config = Field(default_factory=Bm25Config)
    # Variants that are also fused with BM25 by reciprocal rank fusion with equal weights. Retrieval chooses the weights
    # on the dev questions if there are enough.
    hybrid: list[str] = Field(default_factory=list)

    def named_variants(self) -> dict[str, list[str]]:
        """Return key of these settings → names of variants under this key."""
        return {"hybrid": self.hybrid}

    def check_variants(self, variants: Collection[str]) -> None:
        """Raise ValidationError, with the key, if the settings name a variant that is not in `variants`."""
        for key, names in self.named_variants().items():
            check_names("variant", names, variants, key)

    def restrict_variants(self, variants: Collection[str]) -> Self:
        """Return the settings with only the entries of these variants."""
        return replace(self, hybrid=[name for name in self.hybrid if name in variants])


@dataclass(config=STRICT, frozen=True)
class RetrievalSettings(RankingSettings, StepSettings):
    """Fine-tuning on questions, with the defaults of the two-tower paper (section 4.1), and additional measurements."""

    measurement_keys: ClassVar[tuple[str, ...]] = (
        "shares", "bm25", "hybrid", "open_domain_pairs", "open_domain", "indexes", "indexed",
    )  # fmt: skip
    # Percentages of the questions to train on, a tenth of which is dev. Empty: frozen encoders only.
    shares: list[Percent] = Field(default_factory=list)
    # Questions per optimizer step, over all devices.
    batch_size: Positive = 512
    # Recompute activations in the backward pass, so that memory only holds those of tokens_at_once.
    recompute: bool = False
    # Pairs of the corpus that are added as candidates in the open domain (section 4.4); 0 skips the open domain.
    open_domain_pairs: Annotated[int, Field(ge=0)] = 0
    # Variants that are also measured in the open domain, besides BM25.
    open_domain: list[str] = Field(default_factory=list)
    # Approximate indexes that are compared with exact search …
    indexes: list[IndexConfig] = Field(default_factory=list)
    # … on the vectors of this variant, if possible fine-tuned on the largest share. None: no comparison.
    indexed: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if len({share_name(share) for share in self.shares}) < len(self.shares):
            raise ValueError(f"shares: {self.shares} contains a share twice; remove one")
        if self.indexed is not None and not self.indexes:
            raise ValueError(f"indexed is {self.indexed}, but indexes is empty: add indexes, or set indexed to null")

    def named_variants(self) -> dict[str, list[str]]:
        """Return key of these settings → names of variants under this key."""
        indexed = [self.indexed] if self.indexed else []
        return super().named_variants() | {"open_domain": self.open_domain, "indexed": indexed}

    def get_bm25_config(self) -> Bm25Config:
        """Return this task's BM25 settings, which the search index of the passages takes over."""
        return self.bm25

    def restrict_variants(self, variants: Collection[str]) -> Self:
        """Return the settings with only the entries of these variants."""
        indexed = self.indexed if self.indexed in variants else None
        return replace(
            super().restrict_variants(variants),
            open_domain=[name for name in self.open_domain if name in variants],
            indexed=indexed,
            indexes=self.indexes if indexed else [],
        )


def share_name(share: float) -> str:
    """Return the name of the protocol, such as "5%", of encoders fine-tuned on a share of the questions."""
    return f"{share:g}%"


def option_name(share: float) -> str:
    """Return the fine-tuning option, such as "share-5", of a share in percent of the questions."""
    return f"share-{share:g}"

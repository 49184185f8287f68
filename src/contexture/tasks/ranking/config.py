"""Settings of answer ranking: questions and candidates, scores, and fine-tuning."""

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field
from pydantic.dataclasses import dataclass

from contexture.strict import STRICT, Positive, Unique, check_names
from contexture.tasks.settings import SourceSettings, StepSettings
from contexture.training.config import OptimizerConfig

#: Candidates of a question if the format has none (Cross-Thought, section 4.2).
POOL = 1000
#: R@k.
RECALL_AT = (1, 20)
Split = Literal["train", "dev", "test"]
Format = Literal["quasar_t", "hotpotqa", "wikiqa", "squad"]
#: Whether an encoder is measured after pre-training or after fine-tuning on the set.
Protocol = Literal["frozen", "finetuned"]
#: Attention of the question to the candidates, cosine, inner product.
Score = Literal["alpha", "cosine", "dot"]
SetName = Annotated[str, Field(pattern=r"^\w[\w.-]*$")]


@dataclass(config=STRICT, frozen=True)
class Pools:
    """Number of candidates per question, by protocol."""

    # Frozen encoders.
    frozen: Positive
    # Fine-tuned encoders, whose training draws wrong candidates from these.
    finetuned: Positive

    @property
    def largest(self) -> int:
        """Number of stored candidates."""
        return max(self.frozen, self.finetuned)

    @property
    def smallest(self) -> int:
        """Number of candidates that all protocols rank."""
        return min(self.frozen, self.finetuned)

    @property
    def are_different(self) -> bool:
        """Whether the protocols rank different candidates."""
        return self.frozen != self.finetuned

    def size(self, protocol: Protocol) -> int:
        """Return the number of candidates that a protocol ranks."""
        return {"frozen": self.frozen, "finetuned": self.finetuned}[protocol]


@dataclass(config=STRICT, frozen=True)
class RankingSet:
    """A set of questions and its files."""

    # quasar_t (Quasar-T's JSON lines), hotpotqa (JSON), wikiqa (tab-separated), squad (v1.1 JSON, for its paragraphs).
    format: Format
    # quasar_t and wikiqa: the folder of all splits. hotpotqa and squad: a file or a folder, whose questions are split
    # by a hash of their ids; or one for each split, {train: …, dev: …, test: …}; splits may be omitted.
    files: str | dict[Split, str]
    # Candidates per question. null: those of the files (squad has none and uses 1,000).
    # A number: for frozen and for fine-tuned encoders. {frozen: 200, finetuned: 1000}: one number for each protocol.
    pool: Positive | Pools | None = None
    # Source of the candidates. bm25: BM25's first texts of the set. random: the question's right texts and random
    # others of the set; needs `pool`.
    candidates: Literal["bm25", "random"] = "bm25"

    def __post_init__(self) -> None:
        if isinstance(self.files, dict) and self.format in ("quasar_t", "wikiqa"):
            raise ValueError(f"files: for {self.format}, name the folder with the files of all splits")
        if self.files == {}:
            raise ValueError("files: name at least one file")
        if self.candidates == "random" and self.pool is None:
            raise ValueError("candidates: random needs `pool`, the number of candidates of a question")

    @property
    def pools(self) -> Pools | None:
        """Number of candidates by protocol; None if questions keep the candidates of the files."""
        pool = self.pool or (POOL if self.format == "squad" else None)
        return Pools(pool, pool) if isinstance(pool, int) else pool


@dataclass(config=STRICT, frozen=True)
class RankingConfig(SourceSettings):
    """Files of the questions."""

    # demo (paragraphs of the demo world), or sets by name: {mine: {format: squad, files: /path/to/dev-v1.1.json}}.
    input: Literal["demo"] | dict[SetName, RankingSet] = "demo"


@dataclass(config=STRICT, frozen=True)
class RankingSettings(StepSettings):
    """Scores and fine-tuning. The defaults are those of the Cross-Thought paper (section 4.2)."""

    measurement_keys: ClassVar[tuple[str, ...]] = ("finetune", "scores")
    # Sets to fine-tune on, with one model for each; empty: encoders are measured frozen only.
    finetune: Annotated[list[SetName], Unique] = Field(default_factory=list)
    # Variant → score of its frozen vectors. Default: alpha with cross-sequence layers, else cosine.
    scores: dict[str, Score] = Field(default_factory=dict)
    # Questions per optimizer step, over all devices.
    batch_size: Positive = 80
    # Wrong candidates per question and epoch.
    negatives: Positive = 100
    # Maximum optimizer steps.
    steps: Positive = 20_360
    # Steps between two dev scores.
    evaluate_every: Positive = 1000
    optimizer: OptimizerConfig = Field(default_factory=lambda: OptimizerConfig(learning_rate=5e-5, warmup_steps=2220))
    # Recompute activations in the backward pass, so that only those of tokens_at_once are in memory.
    recompute: bool = False

    def get_data_dir(self, option: str, data_dir: Path) -> Path:
        """Return the subfolder of the option's set."""
        return data_dir / option

    def check_variants(self, variants: Collection[str]) -> None:
        """Raise ValidationError if `scores` names a variant that is not in `variants`."""
        check_names("variant", self.scores, variants, "scores")

    def restrict_variants(self, variants: Collection[str]) -> Self:
        """Return the settings with only the `scores` of these variants."""
        return replace(self, scores={name: score for name, score in self.scores.items() if name in variants})

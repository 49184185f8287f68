"""Settings of fact verification: sources of claims, and fine-tuning."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from contexture.demo.config import DEMO
from contexture.encoders.config import BI_ENCODER, LabelHeadKind
from contexture.strict import STRICT, Positive, Unique
from contexture.tasks.settings import JointSettings, SourceSettings
from contexture.training.config import OptimizerConfig

#: Heads on a cross-encoder of claim and one sentence of evidence (Tymoshenko and Moschitti, 2021).
PAIRWISE: tuple[LabelHeadKind, ...] = ("max_pool", "weighted_sum")
#: Heads on a joint input of claim and all evidence (MSPP paper, section 3.3).
JOINT: tuple[LabelHeadKind, ...] = ("ie_1", "ae_1")


@dataclass(config=STRICT, frozen=True)
class VerificationConfig(SourceSettings):
    """Sources of claims."""

    # demo (claims of the demo), or a file per split (test may be null): JSON lines, plain or .gz, in the format of
    # FEVER's release, of KernelGAT's retrieved evidence, or with claim, label and a list of texts as evidence. Dev both
    # stops training and is reported, as in the paper.
    input: dict[Literal["train", "dev", "test"], str | None] | Literal["demo"] = "demo"
    # Folder of FEVER's wiki-*.jsonl, which FEVER's release needs for the text of its evidence.
    wiki_pages: str | None = None
    # Maximal number of evidence sentences per claim (k in the paper, section 4.2).
    evidence: Positive = 5
    # Whether to put the title of its page, if known, before a sentence: "Title. Sentence", as in the baselines of
    # Tymoshenko and Moschitti (2021).
    titles: bool = False

    def __post_init__(self) -> None:
        for split in ("train", "dev"):
            if self.input != DEMO and split not in self.files:
                raise ValueError(f"input: no file for {split}; set fact_verification.input.{split}")

    @property
    def files(self) -> dict[str, str]:
        """Split → file; empty for the demo."""
        files = () if isinstance(self.input, str) else self.input.items()
        return {split: file for split, file in files if file is not None}


@dataclass(config=STRICT, frozen=True)
class FactVerificationSettings(JointSettings):
    """How a model is fine-tuned on claims.

    The defaults are the MSPP paper's values for FEVER (appendix B.1), except the epochs, which it does not report.
    """

    measurement_keys: ClassVar[tuple[str, ...]] = ("heads",)
    # Models to fine-tune: max_pool and weighted_sum from pairwise variants (head ie_1), ie_1 and ae_1 from joint ones.
    heads: Annotated[list[LabelHeadKind], Field(min_length=1), Unique] = Field(
        default_factory=lambda: [*PAIRWISE, *JOINT]
    )
    # Claims per optimizer step, over all devices.
    batch_size: Positive = 64
    # Training stops after this many epochs without a better dev accuracy.
    patience: Positive = 3
    optimizer: OptimizerConfig = Field(default_factory=lambda: OptimizerConfig(learning_rate=1e-5, warmup_steps=1000))

    def list_heads(self, variant_head: str | None) -> list[str]:
        """Return the heads to fine-tune from a variant: pairwise ones if its head is ie_1, else joint ones.

        There are none for a variant without a head, or for a bi-encoder.
        """
        if variant_head in (None, BI_ENCODER):
            return []
        return [head for head in self.heads if head in (PAIRWISE if variant_head == "ie_1" else JOINT)]

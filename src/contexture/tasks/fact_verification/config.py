"""Where claims and their evidence come from, and how a model is fine-tuned to judge them."""

from dataclasses import asdict
from typing import Annotated, Any, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from contexture.encoders.config import LabelHeadKind
from contexture.strict import STRICT, Positive
from contexture.tasks.settings import JointSettings, SourceSettings
from contexture.training.config import OptimizerConfig

#: Heads on a cross-encoder of claim and one sentence of evidence (Tymoshenko and Moschitti, 2021).
PAIRWISE: tuple[LabelHeadKind, ...] = ("max_pool", "weighted_sum")
#: Heads on a joint input of claim and all evidence (MSPP paper, section 3.3).
JOINT: tuple[LabelHeadKind, ...] = ("ie_1", "ae_1")


@dataclass(config=STRICT, frozen=True)
class ClaimFiles:
    """A file of claims for each split: JSON lines, plain or .gz."""

    train: str
    # Training stops by it, as in the paper, which reports it all the same.
    dev: str
    # null: there is none with labels, as of FEVER.
    test: str | None = None


@dataclass(config=STRICT, frozen=True)
class VerificationConfig(SourceSettings):
    """Where claims come from."""

    # demo (claims about the made-up world), or a file for each split: FEVER's own release, KernelGAT's retrieved
    # evidence, or lines with claim, label and a list of texts as evidence.
    input: ClaimFiles | Literal["demo"] = "demo"
    # Folder of FEVER's wiki-*.jsonl, which have the sentences that its own release names; null: that cannot be read.
    wiki_pages: str | None = None
    # Sentences of evidence of a claim; what is more is cut (k of the paper, section 4.2).
    evidence: Positive = 5
    # Whether a sentence is preceded by the title of its page, where that is known: "Title. Sentence". The baselines of
    # Tymoshenko and Moschitti (2021) were, the paper does not say.
    titles: bool = False


@dataclass(config=STRICT, frozen=True)
class FactVerificationSettings(JointSettings):
    """How a model is fine-tuned on claims; frozen encoders need none of it.

    The defaults are the MSPP paper's values for FEVER (appendix B.1), which does not tell the epochs.
    """

    # Which models are fine-tuned: max_pool and weighted_sum of variants that read pairs (whose head is ie_1 on answer
    # selection), ie_1 and ae_1 of those that read joint inputs.
    heads: Annotated[list[LabelHeadKind], Field(min_length=1)] = Field(default_factory=lambda: [*PAIRWISE, *JOINT])
    # Claims per optimizer step, over all devices.
    batch_size: Positive = 64
    # Epochs without a better accuracy on the development set before training stops.
    patience: Positive = 3
    optimizer: OptimizerConfig = Field(default_factory=lambda: OptimizerConfig(learning_rate=1e-5, warmup_steps=1000))

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(set(self.heads)) < len(self.heads):
            raise ValueError(f"heads: one stands there twice: {self.heads}")

    def identity(self, option: str) -> dict[str, Any]:
        """See `TaskSettings.identity`; one head's weights do not depend on what other heads are trained."""
        return {key: value for key, value in asdict(self).items() if key != "heads"}

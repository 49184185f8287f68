"""Settings of fact verification: where claims and their evidence come from, and how a model is fine-tuned."""

from dataclasses import asdict
from typing import Annotated, Any, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from contexture.demo.config import DEMO
from contexture.encoders.config import LabelHeadKind
from contexture.strict import STRICT, Positive
from contexture.tasks.settings import JointSettings, SourceSettings
from contexture.training.config import OptimizerConfig

#: Heads on a cross-encoder of claim and one sentence of evidence (Tymoshenko and Moschitti, 2021).
PAIRWISE: tuple[LabelHeadKind, ...] = ("max_pool", "weighted_sum")
#: Heads on a joint input of claim and all evidence (MSPP paper, section 3.3).
JOINT: tuple[LabelHeadKind, ...] = ("ie_1", "ae_1")


@dataclass(config=STRICT, frozen=True)
class VerificationConfig(SourceSettings):
    """Where claims come from."""

    # demo (claims about the made-up world), or a file for each split (test may be null): JSON lines, plain or .gz, in
    # the form of FEVER's own release, of KernelGAT's retrieved evidence, or with claim, label and a list of texts as
    # evidence. Training stops by dev, as in the paper, which reports it all the same.
    input: dict[Literal["train", "dev", "test"], str | None] | Literal["demo"] = "demo"
    # Folder of FEVER's wiki-*.jsonl, which have the sentences that its own release names; null: that cannot be read.
    wiki_pages: str | None = None
    # Sentences of evidence of a claim; further ones are cut (k of the paper, section 4.2).
    evidence: Positive = 5
    # Whether a sentence is preceded by the title of its page, if that is known: "Title. Sentence", as in the baselines
    # of Tymoshenko and Moschitti (2021).
    titles: bool = False

    def __post_init__(self) -> None:
        for split in ("train", "dev"):
            if self.input != DEMO and split not in self.files:
                raise ValueError(f"input: the file of {split} is missing: set fact_verification.input.{split}")

    @property
    def files(self) -> dict[str, str]:
        """The file of each split; none for the demo."""
        files = () if isinstance(self.input, str) else self.input.items()
        return {split: file for split, file in files if file is not None}


@dataclass(config=STRICT, frozen=True)
class FactVerificationSettings(JointSettings):
    """How a model is fine-tuned on claims.

    The defaults are the MSPP paper's values for FEVER (appendix B.1), which does not tell the epochs.
    """

    # Models that are fine-tuned: max_pool and weighted_sum of variants that read pairs (with the head ie_1), ie_1 and
    # ae_1 of those that read joint inputs.
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
        """See `TaskSettings.identity`; a head's weights do not depend on the other heads."""
        return {key: value for key, value in asdict(self).items() if key != "heads"}

"""Where sets of labelled sentence pairs come from, and how encoders are fine-tuned on them."""

import re
from typing import Annotated, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from contexture.demo.config import DEMO
from contexture.strict import STRICT, Positive
from contexture.tasks.settings import SourceSettings, StepSettings
from contexture.training.config import OptimizerConfig

#: Names of sets; the models and the vectors of a set have a folder of that name.
NAME_PATTERN = r"[a-z0-9_]+"

#: Features of a pair: [u, v, |u−v|, u∗v] of its vectors, or the output of the cross-sequence layers.
FeatureKind = Literal["vectors", "cross"]

#: A language as the files of a set call it.
LanguageCode = Annotated[str, Field(pattern=r"^[a-z]{2,3}$")]


@dataclass(config=STRICT, frozen=True)
class MultilingualSet:
    """A set that comes in several languages, {train,dev,test}-xx.tsv, as XTREME lays out XNLI and PAWS-X."""

    folder: str
    # The language of the pairs to train on.
    learn_from: LanguageCode = "en"
    # Those that are tested; none: all of the folder.
    languages: list[LanguageCode] = Field(default_factory=list)


@dataclass(config=STRICT, frozen=True)
class PairsConfig(SourceSettings):
    """Where the sets of sentence pairs come from."""

    # demo (pairs about the made-up world), or name → a folder, a file or a list of files of a published set; a folder
    # with languages is one of `MultilingualSet`, which can also be said in full.
    input: str | dict[str, str | list[str] | MultilingualSet] = DEMO

    def __post_init__(self) -> None:
        if isinstance(self.input, str) and self.input != DEMO:
            raise ValueError(f"say which set lies in {self.input}, such as pairs.input.snli={self.input}")
        if invalid := [name for name in self.input if self.input != DEMO and not re.fullmatch(NAME_PATTERN, name)]:
            raise ValueError(f"sets are called by small letters, digits and _, not {', '.join(invalid)}")


@dataclass(config=STRICT, frozen=True)
class PairSettings(StepSettings):
    """How encoders are measured and fine-tuned on sentence pairs.

    The defaults of fine-tuning are the Cross-Thought paper's (section 4.2).
    """

    # Sets that encoders are fine-tuned on, too; none: encoders are only measured frozen.
    finetune: list[Annotated[str, Field(pattern=f"^{NAME_PATTERN}$")]] = Field(default_factory=list)
    # Input of the classifier, frozen and fine-tuned. vectors: [u, v, |u−v|, u∗v] for all encoders, so that encoders are
    # compared by the same features. cross: [C_0; C_1] for encoders with cross-sequence layers (Cross-Thought, equation
    # 11), as vectors for all others.
    features: FeatureKind = "vectors"
    # Training rows of a set at most, drawn by a hash of their texts; null: all.
    train_rows: Positive | None = None
    # Optimizer steps at most.
    steps: Positive = 123_873
    # Steps between two dev scores.
    evaluate_every: Positive = 2_000
    # Dev scores in a row without an improvement before training stops.
    patience: Positive = 10
    optimizer: OptimizerConfig = Field(default_factory=lambda: OptimizerConfig(learning_rate=1e-5, warmup_steps=7_432))

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(set(self.finetune)) < len(self.finetune):
            raise ValueError(f"finetune: a set stands there twice: {self.finetune}")

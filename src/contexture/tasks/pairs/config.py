"""Settings of pair classification: sets of labelled sentence pairs, features and fine-tuning."""

import re
from typing import Annotated, ClassVar, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from contexture.demo.config import DEMO
from contexture.strict import STRICT, Positive, Unique
from contexture.tasks.settings import SourceSettings, StepSettings
from contexture.training.config import OptimizerConfig

#: Names of sets, which are also folders of their models and vectors.
NAME_PATTERN = r"[a-z0-9_]+"

#: Features of a pair: [u, v, |u−v|, u∗v] of its vectors, or the output of the cross-sequence layers.
FeatureKind = Literal["vectors", "cross"]

#: Language code of a set's file names.
LanguageCode = Annotated[str, Field(pattern=r"^[a-z]{2,3}$")]


@dataclass(config=STRICT, frozen=True)
class MultilingualSet:
    """A set in several languages: {train,dev,test}-xx.tsv, XTREME's layout of XNLI and PAWS-X."""

    # Folder of the files.
    folder: str
    # Language of the training pairs.
    learn_from: LanguageCode = "en"
    # Tested languages; empty: all of the folder.
    languages: list[LanguageCode] = Field(default_factory=list)


@dataclass(config=STRICT, frozen=True)
class PairsConfig(SourceSettings):
    """Files of the sets."""

    # demo (pairs of the demo world), or name → a folder, a file or a list of files of a published set. A folder with
    # language files is read as a `MultilingualSet` with defaults.
    input: str | dict[str, str | list[str] | MultilingualSet] = DEMO

    def __post_init__(self) -> None:
        if isinstance(self.input, str) and self.input != DEMO:
            raise ValueError(f"name the set of {self.input}, such as pairs.input.snli={self.input}")
        if invalid := [name for name in self.input if self.input != DEMO and not re.fullmatch(NAME_PATTERN, name)]:
            raise ValueError(f"names of sets have small letters, digits and _, not {', '.join(invalid)}")


@dataclass(config=STRICT, frozen=True)
class PairSettings(StepSettings):
    """Evaluation and fine-tuning. The defaults of fine-tuning are those of the Cross-Thought paper (section 4.2)."""

    measurement_keys: ClassVar[tuple[str, ...]] = ("finetune",)
    # Sets to fine-tune on; empty: encoders are measured frozen only.
    finetune: Annotated[list[Annotated[str, Field(pattern=f"^{NAME_PATTERN}$")]], Unique] = Field(default_factory=list)
    # Input of the classifier. vectors: [u, v, |u−v|, u∗v] for all encoders. cross: [C_0; C_1] for encoders with
    # cross-sequence layers (Cross-Thought, equation 11), vectors for others.
    features: FeatureKind = "vectors"
    # Maximum training rows of a set, sampled by a hash of their texts; null: all.
    train_rows: Positive | None = None
    # Maximum optimizer steps.
    steps: Positive = 123_873
    # Steps between two dev scores.
    evaluate_every: Positive = 2_000
    # Successive dev scores without improvement before training stops.
    patience: Positive = 10
    optimizer: OptimizerConfig = Field(default_factory=lambda: OptimizerConfig(learning_rate=1e-5, warmup_steps=7_432))

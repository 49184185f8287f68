"""How tokens are masked, for every objective that has them guessed."""

from typing import Annotated, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from contexture.encoders.config import EncoderConfig, Lengths
from contexture.objectives.base_config import ObjectiveConfig
from contexture.strict import STRICT


@dataclass(config=STRICT, frozen=True)
class MaskingConfig(ObjectiveConfig):
    """How tokens are masked; the defaults are BERT's."""

    # Share of the tokens, special ones aside, that the model must predict.
    probability: Annotated[float, Field(gt=0, lt=1)] = 0.15
    # Of those, the share that is shown as [MASK] …
    mask_share: Annotated[float, Field(ge=0, le=1)] = 0.8
    # … and the share that is shown as a random other token; the rest is shown unchanged.
    random_share: Annotated[float, Field(ge=0, le=1)] = 0.1

    def check(self, encoder: EncoderConfig, lengths: Lengths) -> None:
        """See `ObjectiveConfig.check`."""
        super().check(encoder, lengths)
        if encoder.reads_forward:
            raise ValueError("guesses tokens from both sides, which an encoder with pooling: last does not read")

    def __post_init__(self) -> None:
        if self.mask_share + self.random_share > 1:
            raise ValueError("mask_share and random_share are parts of one whole: together at most 1")


@dataclass(config=STRICT, frozen=True)
class SequenceMaskingConfig(MaskingConfig):
    """How the tokens of sequences are masked, and where their words begin."""

    # Where in the table of positions the words of a sequence begin: somewhere else for each (Cross-Thought's paper), at
    # one place for all sequences of a batch (its released code), or right behind the special tokens (BERT).
    starts: Literal["each", "one", "fixed"] = "fixed"

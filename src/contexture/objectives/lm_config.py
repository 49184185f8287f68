"""Settings of left-to-right language modelling."""

from typing import ClassVar, Literal

from pydantic.dataclasses import dataclass

from contexture.encoders.config import EncoderConfig, Lengths
from contexture.objectives.base_config import ObjectiveConfig
from contexture.strict import STRICT


@dataclass(config=STRICT, frozen=True)
class LmConfig(ObjectiveConfig):
    """Where the words of a sequence begin."""

    implementation: ClassVar[str] = "contexture.objectives.lm:LanguageModel"
    streams: ClassVar[tuple[str, ...]] = ("short_sequences",)
    reads_states: ClassVar[bool] = True
    predicts_tokens: ClassVar[bool] = True
    title: ClassVar[str] = "LM"
    unit: ClassVar[str] = "nats per token"
    explained: ClassVar[str] = "guesses every next word"

    # See `SequenceMaskingConfig`.
    starts: Literal["each", "one", "fixed"] = "fixed"

    def check(self, encoder: EncoderConfig, lengths: Lengths) -> None:
        """See `ObjectiveConfig.check`."""
        super().check(encoder, lengths)
        if not encoder.reads_forward:
            raise ValueError("guesses the next token, which the encoder would see: set its pooling to last")

"""Settings of Cross-Thought."""

from typing import ClassVar, Literal

from pydantic.dataclasses import dataclass

from contexture.encoders.config import CrossConfig, EncoderConfig, Lengths
from contexture.objectives.masking_config import MaskingConfig
from contexture.strict import STRICT


@dataclass(config=STRICT, frozen=True)
class CrossThoughtConfig(MaskingConfig):
    """How tokens are masked, and where the words of a sequence begin; the defaults are the paper's."""

    implementation: ClassVar[str] = "contexture.objectives.cross_thought:CrossThought"
    streams: ClassVar[tuple[str, ...]] = ("sequence_samples",)
    reads_states: ClassVar[bool] = True
    predicts_tokens: ClassVar[bool] = True
    title: ClassVar[str] = "Cross-Thought"
    unit: ClassVar[str] = "nats per masked token"
    explained: ClassVar[str] = "guesses masked words with the help of the other sequences' vectors"
    measures: ClassVar[dict[str, str]] = {"cross_gain": "guessed right with the other sequences, above without"}

    # Where in the table of positions the words of a sequence begin: somewhere else for each (paper), at one place for
    # all sequences of a batch (released code), or right behind the special tokens, as in every other use.
    starts: Literal["each", "one", "fixed"] = "each"

    def check(self, encoder: EncoderConfig, lengths: Lengths) -> None:
        """See `ObjectiveConfig.check`."""
        super().check(encoder, lengths)
        cross: CrossConfig | None = getattr(encoder, "cross", None)
        if cross is None:
            raise ValueError(
                "trains layers across sequences, which the encoder has not: give it pooling: cls and cross: {tokens: 1}"
            )
        most = min(lengths.query, lengths.document) - 2
        if cross.tokens > most:
            raise ValueError(
                f"{cross.tokens} special tokens, a word and a [SEP] do not fit into {most + 2} tokens: lower "
                f"cross.tokens to at most {most}, or raise lengths"
            )
        if not encoder.shared:
            raise ValueError("reads all sequences with one network: the encoder must be shared")

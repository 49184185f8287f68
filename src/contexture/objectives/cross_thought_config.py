"""Settings of Cross-Thought."""

from typing import ClassVar, Literal

from pydantic.dataclasses import dataclass

from contexture.encoders.config import CrossConfig, EncoderConfig, Lengths
from contexture.objectives.masking_config import SequenceMaskingConfig
from contexture.strict import STRICT


@dataclass(config=STRICT, frozen=True)
class CrossThoughtConfig(SequenceMaskingConfig):
    """How tokens are masked, and where the words of a sequence begin; the defaults are the paper's."""

    implementation: ClassVar[str] = "contexture.objectives.cross_thought:CrossThought"
    streams: ClassVar[tuple[str, ...]] = ("sequence_samples",)
    reads_states: ClassVar[bool] = True
    predicts_tokens: ClassVar[bool] = True
    title: ClassVar[str] = "Cross-Thought"
    unit: ClassVar[str] = "nats per masked token"
    explained: ClassVar[str] = "guesses masked words with the help of the other sequences' vectors"
    measures: ClassVar[dict[str, str]] = {
        "own_share": "attention to other sequences of the same document",
        "own_chance": "the same if attention were uniform",
    }
    nats: ClassVar[dict[str, str]] = {
        "gain": "gain from all other sequences",
        "own_gain": "gain from the same document's sequences",
    }

    # See `SequenceMaskingConfig`.
    starts: Literal["each", "one", "fixed"] = "each"

    def check(self, encoder: EncoderConfig, lengths: Lengths) -> None:
        """See `ObjectiveConfig.check`."""
        super().check(encoder, lengths)
        cross: CrossConfig | None = getattr(encoder, "cross", None)
        if cross is None:
            raise ValueError(
                "trains layers across sequences, which the encoder does not have: give it cross: {tokens: 1}"
            )
        most = min(lengths.query, lengths.document) - 2
        if cross.tokens > most:
            raise ValueError(
                f"{cross.tokens} special tokens, a word and a [SEP] do not fit into {most + 2} tokens: lower "
                f"cross.tokens to at most {most}, or raise lengths"
            )
        if not encoder.shared:
            raise ValueError("reads all sequences with one network: the encoder must be shared")

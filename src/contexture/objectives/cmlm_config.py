"""Settings of CMLM."""

from typing import Annotated, ClassVar

from pydantic import Field
from pydantic.dataclasses import dataclass

from contexture.encoders.config import EncoderConfig, Lengths
from contexture.objectives.masking_config import MaskingConfig
from contexture.strict import STRICT


@dataclass(config=STRICT, frozen=True)
class CmlmConfig(MaskingConfig):
    """What of the first sequence helps to guess the second one's masked tokens; the defaults are the paper's."""

    implementation: ClassVar[str] = "contexture.objectives.cmlm:ConditionalMaskedLanguageModel"
    streams: ClassVar[tuple[str, ...]] = ("sequence_pairs",)
    reads_states: ClassVar[bool] = True
    predicts_tokens: ClassVar[bool] = True
    title: ClassVar[str] = "CMLM"
    unit: ClassVar[str] = "nats per masked token"
    explained: ClassVar[str] = "guesses masked words with the help of its neighbour's vector"
    measures: ClassVar[dict[str, str]] = {
        "conditioning_gain": "guessed right by its neighbour's vector, above another's",
    }

    # 80 of 256 (section 3); appendix B tries 40, 60 and 100, too.
    probability: Annotated[float, Field(gt=0, lt=1)] = 80 / 256
    # N, the views of the vector that stand in front of the second sequence: itself and N − 1 perceptrons of it.
    projections: Annotated[int, Field(ge=0)] = 15
    # Whether they stand beside the states of the masked tokens as well (section 5.1, skip).
    skip: bool = False

    def check(self, encoder: EncoderConfig, lengths: Lengths) -> None:
        """See `ObjectiveConfig.check`."""
        super().check(encoder, lengths)
        room, own = lengths.document - 2, getattr(encoder, "projections", None)
        if self.projections > room:
            raise ValueError(
                f"puts {self.projections} projections before sequences of at most {room} tokens: lower projections, or "
                "raise lengths.document"
            )
        if not encoder.shared or getattr(encoder, "embedding_size", None) is not None:
            raise ValueError(
                "reads the pooled state among the embeddings of the same network: the encoder must be shared, without "
                "embedding_size"
            )
        if own is not None and own != self.projections:
            raise ValueError(f"trains {self.projections} projections, the encoder is the mean of {own}")
        if self.skip and not self.projections:
            raise ValueError("has skip, but no projections to put beside the states")
        if own is not None and self.skip:
            raise ValueError("has skip, which goes without an encoder of projections: the paper tries one or the other")

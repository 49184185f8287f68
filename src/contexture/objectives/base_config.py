"""What the settings of every objective tell, without torch."""

from typing import Any, ClassVar

from pydantic import Field
from pydantic.dataclasses import dataclass

from contexture.encoders.config import EncoderConfig, Lengths
from contexture.strict import STRICT


@dataclass(config=STRICT, frozen=True)
class ObjectiveConfig:
    """What the settings of every objective tell."""

    # The stream that it reads; null: the first of those that it can read and that the system has.
    stream: str | None = Field(default=None, kw_only=True)
    #: Where its class is: module and name.
    implementation: ClassVar[str]
    #: Streams that it can read.
    streams: ClassVar[tuple[str, ...]]
    #: Settings of its stream that differ from the system's; an objective with some reads batches of its own.
    stream_settings: ClassVar[dict[str, Any]] = {}
    #: Whether it reads states of tokens, which not every architecture has …
    reads_states: ClassVar[bool] = False
    #: … and predicts tokens from them.
    predicts_tokens: ClassVar[bool] = False
    #: What its loss is counted in, for the curves; its title there.
    unit: ClassVar[str] = "nats"
    title: ClassVar[str] = ""
    #: In plain words, for those who know none of the papers: "learns by …".
    explained: ClassVar[str] = ""
    #: What else it measures, as shares: its name behind the objective's → how the curve is called …
    measures: ClassVar[dict[str, str]] = {}
    #: … and in nats.
    nats: ClassVar[dict[str, str]] = {}

    @property
    def readable_streams(self) -> tuple[str, ...]:
        """The streams that it can read with these settings."""
        return self.streams

    def check(self, encoder: EncoderConfig, lengths: Lengths) -> None:
        """Raise ValueError, saying behind the objective's name what is wrong, where it cannot train such an encoder."""
        if self.reads_states and not encoder.has_states:
            kind = getattr(encoder, "kind", type(encoder).__name__)
            raise ValueError(f"reads states of tokens, which a {kind} has not")

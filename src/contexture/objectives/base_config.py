"""Base of the settings of objectives, without torch."""

from typing import Any, ClassVar

from pydantic import Field
from pydantic.dataclasses import dataclass

from contexture.encoders.config import EncoderConfig, Lengths
from contexture.strict import STRICT


@dataclass(config=STRICT, frozen=True)
class ObjectiveConfig:
    """Base of the settings of objectives."""

    # Stream to read. null: the system's first stream that it can read.
    stream: str | None = Field(default=None, kw_only=True)
    #: Raise it if a correction changes what the same settings train: then finished trainings are repeated.
    revision: ClassVar[int] = 0
    #: Its class, as "module:name".
    implementation: ClassVar[str]
    #: Streams that it can read.
    streams: ClassVar[tuple[str, ...]]
    #: Overrides of its stream's settings. An objective with overrides gets separate batches.
    stream_settings: ClassVar[dict[str, Any]] = {}
    #: Whether it reads states of tokens, which some architectures lack.
    reads_states: ClassVar[bool] = False
    #: Whether it predicts tokens from the states.
    predicts_tokens: ClassVar[bool] = False
    #: Unit of the loss, and title of its curve.
    unit: ClassVar[str] = "nats"
    title: ClassVar[str] = ""
    #: Description in plain words, with a verb in the third person.
    description: ClassVar[str] = ""
    #: Metrics that are shares: name → title of the curve.
    measures: ClassVar[dict[str, str]] = {}
    #: Metrics in nats: name → title of the curve.
    nats: ClassVar[dict[str, str]] = {}

    @property
    def readable_streams(self) -> tuple[str, ...]:
        """Names of the streams that the objective can read with these settings."""
        return self.streams

    def check(self, encoder: EncoderConfig, lengths: Lengths) -> None:
        """Raise ValueError if the objective cannot train such an encoder. The message follows the objective's name."""
        if self.reads_states and not encoder.has_states:
            kind = getattr(encoder, "kind", type(encoder).__name__)
            raise ValueError(f"reads states of tokens, which a {kind} does not have")

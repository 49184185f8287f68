"""Settings of SimCSE."""

from typing import Annotated, ClassVar

from pydantic import Field
from pydantic.dataclasses import dataclass

from contexture.objectives.base_config import ObjectiveConfig
from contexture.strict import STRICT


@dataclass(config=STRICT, frozen=True)
class SimcseConfig(ObjectiveConfig):
    """Two passes of a sentence through dropout, among the sentences of the batch."""

    # Cosines are divided by it.
    temperature: Annotated[float, Field(gt=0)] = 0.05
    implementation: ClassVar[str] = "contexture.objectives.simcse.objective:Simcse"
    streams: ClassVar[tuple[str, ...]] = ("sentences",)
    title: ClassVar[str] = "SimCSE"
    unit: ClassVar[str] = "nats per sentence"
    explained: ClassVar[str] = "tells a sentence, read twice with dropout, from all others"

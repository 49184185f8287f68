"""Settings of TSDAE."""

from typing import Annotated, ClassVar

from pydantic import Field
from pydantic.dataclasses import dataclass

from contexture.objectives.base_config import ObjectiveConfig
from contexture.strict import STRICT


@dataclass(config=STRICT, frozen=True)
class TsdaeConfig(ObjectiveConfig):
    """A sentence is written again from the vector of what is left of it."""

    # Share of the tokens that are taken out.
    deletion: Annotated[float, Field(gt=0, lt=1)] = 0.6
    # Attention heads of the decoder; must divide the length of its words' embeddings.
    heads: Annotated[int, Field(gt=0)] = 2
    implementation: ClassVar[str] = "contexture.objectives.tsdae.objective:Tsdae"
    streams: ClassVar[tuple[str, ...]] = ("sentences",)
    title: ClassVar[str] = "TSDAE"
    unit: ClassVar[str] = "nats per token"
    explained: ClassVar[str] = "writes a sentence again after most of its words were deleted"

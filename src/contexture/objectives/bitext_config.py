"""Settings of bitext retrieval."""

from typing import Annotated, ClassVar

from pydantic import Field
from pydantic.dataclasses import dataclass

from contexture.objectives.base_config import ObjectiveConfig
from contexture.strict import STRICT


@dataclass(config=STRICT, frozen=True)
class BitextObjectiveConfig(ObjectiveConfig):
    """The softmax over the translations of a batch, both ways; the defaults are those of CMLM's section 4."""

    implementation: ClassVar[str] = "contexture.objectives.bitext:BitextRetrieval"
    streams: ClassVar[tuple[str, ...]] = ("bitext",)
    title: ClassVar[str] = "Bitext retrieval"
    unit: ClassVar[str] = "nats per pair"
    explained: ClassVar[str] = "finds a sentence's translation among others"

    # m, by which the score of the right translation is lowered before it must win.
    margin: Annotated[float, Field(ge=0)] = 0.3
    # null: scores are inner products as they are (paper). A number: cosines, times it once the margin is taken off.
    scale: Annotated[float, Field(gt=0)] | None = None

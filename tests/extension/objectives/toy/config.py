"""Settings of the toy objective."""

from typing import ClassVar

from pydantic.dataclasses import dataclass

from contexture.objectives.base_config import ObjectiveConfig
from contexture.strict import STRICT


@dataclass(config=STRICT, frozen=True)
class ToyConfig(ObjectiveConfig):
    """The toy objective has no settings."""

    implementation: ClassVar[str] = "contexture.objectives.toy.objective:Toy"
    streams: ClassVar[tuple[str, ...]] = ("toy",)
    title: ClassVar[str] = "Toy objective"
    description: ClassVar[str] = "gives each sentence a vector of length 1"

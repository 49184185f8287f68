"""Settings of natural language inference across languages."""

from typing import ClassVar

from pydantic.dataclasses import dataclass

from contexture.objectives.base_config import ObjectiveConfig
from contexture.strict import STRICT


@dataclass(config=STRICT, frozen=True)
class NliConfig(ObjectiveConfig):
    """The softmax over entailment, neutral and contradiction."""

    implementation: ClassVar[str] = "contexture.objectives.nli:NaturalLanguageInference"
    streams: ClassVar[tuple[str, ...]] = ("nli",)
    title: ClassVar[str] = "Cross-lingual NLI"
    unit: ClassVar[str] = "nats per pair"
    explained: ClassVar[str] = "tells whether a sentence follows from one of another language"

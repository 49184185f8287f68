"""Settings of the demo world."""

from typing import Annotated

from pydantic import Field
from pydantic.dataclasses import dataclass

from contexture.strict import STRICT

#: The `input` that selects the demo world.
DEMO = "demo"


@dataclass(config=STRICT, frozen=True)
class DemoConfig:
    """Size and seed of the demo world."""

    # Articles, in addition to redirects, lists, talk pages and others, about two per five articles.
    pages: Annotated[int, Field(ge=25)] = 300
    # Seed of all names, facts, sentences and questions.
    seed: Annotated[int, Field(ge=0)] = 0
    # Novels of about 200 sentences each.
    novels: Annotated[int, Field(ge=1)] = 30
    # Made-up languages besides English, with the codes qaa, qab, …; each has as many novels, and translated tasks.
    languages: Annotated[int, Field(ge=0, le=520)] = 0

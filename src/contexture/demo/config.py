"""What a user may turn about the demo world."""

from typing import Annotated

from pydantic import Field
from pydantic.dataclasses import dataclass

from contexture.strict import STRICT

#: The input that stands for the made-up world.
DEMO = "demo"


@dataclass(config=STRICT, frozen=True)
class DemoConfig:
    """Size and seed of the demo world."""

    # Articles. Redirects, lists, talk pages and the like come on top, about two for every five articles.
    pages: Annotated[int, Field(ge=25)] = 300
    # Another seed gives another world: other names, facts, sentences and questions.
    seed: Annotated[int, Field(ge=0)] = 0
    # Novels, of some 200 sentences each.
    novels: Annotated[int, Field(ge=1)] = 30
    # Made-up languages beside English, with the codes qaa, qab, …: each has as many novels, and tasks in translation.
    languages: Annotated[int, Field(ge=0, le=520)] = 0

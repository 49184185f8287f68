"""Where sets in BEIR's layout are, and what is measured on them."""

from typing import Annotated, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from contexture.strict import STRICT
from contexture.tasks.retrieval.config import RankingSettings
from contexture.tasks.settings import SourceSettings

#: The name of a set: its files have a folder of that name.
SetName = Annotated[str, Field(pattern=r"^[a-z0-9_-]+$")]


@dataclass(config=STRICT, frozen=True)
class BeirConfig(SourceSettings):
    """Where the sets come from."""

    # Name → a folder with corpus.jsonl, queries.jsonl and qrels/<split>.tsv.
    input: dict[SetName, str] = Field(default_factory=dict)
    # Whose queries are asked: that of MS MARCO is dev.
    split: Literal["train", "dev", "test"] = "test"


@dataclass(config=STRICT, frozen=True)
class BeirSettings(RankingSettings):
    """Frozen vectors compared with BM25 over title and text."""

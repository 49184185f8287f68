"""Settings of data sets in BEIR's layout."""

from typing import Annotated, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from contexture.strict import STRICT
from contexture.tasks.retrieval.config import RankingSettings
from contexture.tasks.settings import SourceSettings

#: Name of a set and of its folder.
SetName = Annotated[str, Field(pattern=r"^[a-z0-9_-]+$")]


@dataclass(config=STRICT, frozen=True)
class BeirConfig(SourceSettings):
    """Sources of the sets."""

    # Name → folder with corpus.jsonl, queries.jsonl and qrels/<split>.tsv.
    input: dict[SetName, str] = Field(default_factory=dict)
    # Split of the queries; MS MARCO uses dev.
    split: Literal["train", "dev", "test"] = "test"


@dataclass(config=STRICT, frozen=True)
class BeirSettings(RankingSettings):
    """Settings of rankings by frozen encoders and by BM25 over title and text."""

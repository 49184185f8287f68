"""Where sets in BEIR's layout are, and what is measured on them."""

from collections.abc import Collection
from dataclasses import replace
from typing import Annotated, Literal, Self

from pydantic import Field
from pydantic.dataclasses import dataclass

from contexture.retrieval.config import Bm25Config
from contexture.strict import STRICT
from contexture.tasks.settings import SourceSettings, TaskSettings

#: What a set can be called: its files have a folder of that name.
Name = Annotated[str, Field(pattern=r"^[a-z0-9_-]+$")]


@dataclass(config=STRICT, frozen=True)
class BeirConfig(SourceSettings):
    """Where the sets come from."""

    # Name → a folder with corpus.jsonl, queries.jsonl and qrels/<split>.tsv.
    input: dict[Name, str] = Field(default_factory=dict)
    # Whose queries are asked: that of MS MARCO is dev.
    split: Literal["train", "dev", "test"] = "test"


@dataclass(config=STRICT, frozen=True)
class BeirSettings(TaskSettings):
    """Frozen vectors, and BM25 beside them."""

    # BM25 over title and text.
    bm25: Bm25Config = Field(default_factory=Bm25Config)
    # Variants whose rankings are also fused with BM25's, by reciprocal rank fusion; both count alike.
    hybrid: list[str] = Field(default_factory=list)

    def check_variants(self, variants: Collection[str]) -> None:
        """Raise ValueError for a variant that is named here and is none of `variants`."""
        if unknown := [name for name in self.hybrid if name not in variants]:
            raise ValueError(f"no variant is called {', '.join(unknown)}; there are {sorted(variants)}")

    def restricted(self, variants: Collection[str]) -> Self:
        """The same for these variants alone."""
        return replace(self, hybrid=[name for name in self.hybrid if name in variants])

"""Settings of the corpus; conf/base/parameters/corpus.yml and cleaning.yml say what each does."""

from dataclasses import field
from typing import Annotated, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from contexture.strict import STRICT
from contexture.text.kinds import PageKind
from contexture.text.paragraphs import ListItems
from contexture.text.quality import Filters, Share

Similarity = Annotated[float, Field(gt=0, le=1)]
SourceName = Literal["mediawiki", "books", "json_lines", "documentation", "wet"]
#: A code of ISO 639, or "auto".
Lang = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9-]*$")]


@dataclass(config=STRICT, frozen=True)
class Input:
    """A file, a folder or a glob; a source and language of null are those of CorpusConfig."""

    path: str
    source: Literal["auto"] | SourceName | None = None
    lang: Lang | None = None


@dataclass(config=STRICT, frozen=True)
class CorpusConfig:
    """Where the text comes from and what is kept of it."""

    input: str | list[str | Input] = "demo"
    source: Literal["auto"] | SourceName = "auto"
    lang: Lang = "auto"
    book_paragraphs: Literal["auto", "line", "blank_line"] = "auto"
    list_items: ListItems = "drop"
    page_kinds: tuple[PageKind, ...] = ("article",)
    templates: str | None = None
    min_characters: Annotated[int, Field(ge=1)] = 20
    files: Annotated[int, Field(gt=0)] = 8

    def inputs(self) -> list[Input]:
        """Every input, on its own."""
        entries = [self.input] if isinstance(self.input, str) else self.input
        return [Input(entry) if isinstance(entry, str) else entry for entry in entries]


@dataclass(config=STRICT, frozen=True)
class CleaningConfig:
    """Which paragraphs are dropped. null switches a step off."""

    evaluation: list[str] = field(default_factory=list)
    filters: Filters = field(default_factory=Filters)
    main_content: Share | None = None
    duplicate_documents: Similarity | None = 0.8
    duplicate_paragraphs: Similarity | None = 0.8

"""Settings of the corpus, described in conf/base/parameters/corpus.yml and cleaning.yml."""

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
#: ISO 639 code, or "auto".
Lang = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9-]*$")]


@dataclass(config=STRICT, frozen=True)
class CorpusInput:
    """A file, folder or glob. A null source or language is that of CorpusConfig."""

    # Path of the file, folder or glob.
    path: str
    # Format of its files. Default: corpus.source.
    source: Literal["auto"] | SourceName | None = None
    # Language of files that do not state it. Default: corpus.lang.
    lang: Lang | None = None


@dataclass(config=STRICT, frozen=True)
class CorpusConfig:
    """Inputs of the corpus, and what to keep of their text."""

    input: str | list[str | CorpusInput] = "demo"
    source: Literal["auto"] | SourceName = "auto"
    lang: Lang = "auto"
    license: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9.-]*$")] | None = None
    book_paragraphs: Literal["auto", "line", "blank_line"] = "auto"
    list_items: ListItems = "drop"
    page_kinds: tuple[PageKind, ...] = ("article",)
    templates: str | None = None
    min_characters: Annotated[int, Field(ge=1)] = 20
    files: Annotated[int, Field(gt=0)] = 8

    def inputs(self) -> list[CorpusInput]:
        """Return all entries of `input` as CorpusInput."""
        entries = [self.input] if isinstance(self.input, str) else self.input
        return [CorpusInput(entry) if isinstance(entry, str) else entry for entry in entries]


@dataclass(config=STRICT, frozen=True)
class CleaningConfig:
    """Cleaning steps. null switches a step off."""

    evaluation: list[str] = field(default_factory=list)
    filters: Filters = field(default_factory=Filters)
    main_content: Share | None = None
    # Minimum Jaccard similarity of 5-word shingles with an earlier document; 1: exact copies only.
    duplicate_documents: Similarity | None = 0.8
    # The same for paragraphs.
    duplicate_paragraphs: Similarity | None = 0.8

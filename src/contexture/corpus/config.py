"""What a user may turn about the corpus."""

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
    """One of several inputs, with its own source and language where they differ from the others'."""

    # A file, a folder or a glob.
    path: str
    # As in CorpusConfig; null: what CorpusConfig says.
    source: Literal["auto"] | SourceName | None = None
    lang: Lang | None = None


@dataclass(config=STRICT, frozen=True)
class CorpusConfig:
    """Where the text comes from and what is kept of it."""

    # A file, a folder with its subfolders or a glob, or a list of them; "demo": the made-up world.
    input: str | list[str | Input] = "demo"
    # Which kind of files is taken; auto: all, told apart by their names.
    source: Literal["auto"] | SourceName = "auto"
    # The language where the files do not say it (books, documentation, JSON lines without "lang"): its code, or "auto",
    # found by the text.
    lang: Lang = "auto"
    # What ends a paragraph of a book; auto: found out for each book.
    book_paragraphs: Literal["auto", "line", "blank_line"] = "auto"
    # Items of lists: left out and counted, kept with the kind "list_item", or kept as prose.
    list_items: ListItems = "drop"
    # Pages whose paragraphs are taken; the others are marked in the table of pages, and counted.
    page_kinds: tuple[PageKind, ...] = ("article",)
    # A YAML file of templates of wikis whose text belongs to the sentence, beside those that are known.
    templates: str | None = None
    # Shorter paragraphs are dropped and counted: rests of markup, labels of lists.
    min_characters: Annotated[int, Field(ge=1)] = 20
    # Characters of each language from which abbreviations and the like are learned, to find sentences by.
    sentence_sample: Annotated[int, Field(gt=0)] = 1_000_000
    # Files of a table, whatever the number of cores: about one per GB of compressed export.
    files: Annotated[int, Field(gt=0)] = 8

    def inputs(self) -> list[Input]:
        """Every input, on its own."""
        listed = [self.input] if isinstance(self.input, str) else self.input
        return [Input(one) if isinstance(one, str) else one for one in listed]


@dataclass(config=STRICT, frozen=True)
class CleaningConfig:
    """Which paragraphs are dropped. null switches a step off."""

    # tasks whose documents, those that dev and test questions are about, are kept out of the corpus
    evaluation: list[str] = field(default_factory=list)
    # by what the paragraph says
    filters: Filters = field(default_factory=Filters)
    # drop what the trained classifier holds for main content with a smaller probability than this
    main_content: Share | None = None
    # Jaccard similarity of 5-word shingles from which on a document repeats an earlier one; 1: exact copies only
    duplicate_documents: Similarity | None = 0.8
    # the same for paragraphs
    duplicate_paragraphs: Similarity | None = 0.8
    # dropped paragraphs to show for each reason
    sample: Annotated[int, Field(ge=0)] = 20

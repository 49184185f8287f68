"""What a user may turn about the corpus."""

from typing import Annotated

from pydantic import Field
from pydantic.dataclasses import dataclass

from contexture.strict import STRICT


@dataclass(config=STRICT, frozen=True)
class CorpusConfig:
    """Where the text comes from and what is kept of it."""

    # A MediaWiki export (.xml, .xml.bz2, .xml.gz, .xml.xz), a folder of them or a glob; "demo": the made-up world.
    input: str = "demo"
    # Shorter paragraphs are dropped and counted: rests of markup, labels of lists.
    min_characters: Annotated[int, Field(ge=1)] = 20
    # Files of a table, whatever the number of cores: about one per GB of compressed export.
    files: Annotated[int, Field(gt=0)] = 8

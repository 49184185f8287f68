"""The Amazon reviews of Prettenhofer and Stein (2010), as published: `<language>/<category>/{train,test}.review`."""

from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pandas as pd

from contexture.splits import uniform
from contexture.tasks.missing import BenchmarkMissing

#: Folders by language; models learn from the first.
LANGUAGES = ("en", "de", "fr", "jp")
CATEGORIES = ("books", "dvd", "music")
#: Share of the reviews to learn from by which the strength is chosen.
DEV_SHARE = 0.1
#: More stars than these are praise.
MAX_NEGATIVE_STARS = 3
#: The data set in records and reports.
AMAZON = "amazon"

_REMEDY = (
    "It is the folder that cls-acl10-unprocessed.tar.gz (Webis-CLS-10, zenodo.org/record/3251672) is unpacked into."
)


def read_reviews(folder: Path) -> tuple[pd.DataFrame, dict[str, str]]:
    """All reviews that are learned from or tested, and why a language is missing.

    Returns one row a review: `part` (train, dev or test), `language`, `category`, `text` (the headline, then the
    review) and `label` (1 for praise). A tenth of English's to learn from is of dev, drawn by a hash of the text.
    Raises BenchmarkMissing without English reviews to learn from, and ValueError, naming it, for a file in another
    format.
    """
    train = _read_language(folder, LANGUAGES[0], "train")
    held_out = [uniform("dev", text) < DEV_SHARE for text in train["text"]]
    tables, missing = [train.assign(part=train["part"].mask(pd.Series(held_out), "dev"))], {}
    for language in LANGUAGES:
        try:
            tables.append(_read_language(folder, language, "test"))
        except BenchmarkMissing as error:
            missing[f"{AMAZON}_{language}"] = str(error)
    return pd.concat(tables, ignore_index=True), missing


def _read_language(folder: Path, language: str, part: str) -> pd.DataFrame:
    rows = []
    for category in CATEGORIES:
        path = folder / language / category / f"{part}.review"
        if not path.exists():
            raise BenchmarkMissing(f"{AMAZON}_{language}", path, _REMEDY)
        rows += [(part, language, category, text, label) for text, label in _parse_reviews(path)]
    return pd.DataFrame(rows, columns=["part", "language", "category", "text", "label"])


class _PlainTreeBuilder(ElementTree.TreeBuilder):
    """XML without a document type, which could declare entities that expand without end."""

    def doctype(self, name: str, *_: object) -> None:
        """Called before any entity is declared."""
        raise ValueError(f"declares a document type, {name}, which reviews have no need of")


def _parse_reviews(path: Path) -> Iterator[tuple[str, int]]:
    """Text and label of each review."""
    try:
        items = ElementTree.parse(path, ElementTree.XMLParser(target=_PlainTreeBuilder())).getroot().iter("item")
    except (ElementTree.ParseError, ValueError) as error:
        raise ValueError(f"{path} cannot be read ({error}); fetch it again") from error
    number = 0
    for number, item in enumerate(items, start=1):
        text = " ".join(f"{item.findtext('summary', '')} {item.findtext('text', '')}".split())
        try:
            stars = float(item.findtext("rating", ""))
        except ValueError:
            stars = 0
        if not (text and 1 <= stars <= 5):
            raise ValueError(
                f"{path}, review {number}: it must have words in <text> or <summary> and a <rating> of 1 to 5 stars; "
                "fetch the file again"
            )
        yield text, int(stars > MAX_NEGATIVE_STARS)
    if not number:
        raise ValueError(f"{path} has no <item>; fetch it again")

"""Reader of the Amazon reviews of Prettenhofer and Stein (2010): `<language>/<category>/{train,test}.review`."""

from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pandas as pd

from contexture.splits import uniform
from contexture.tasks.missing import BenchmarkMissing

#: Folders by language; models are trained on the first.
LANGUAGES = ("en", "de", "fr", "jp")
CATEGORIES = ("books", "dvd", "music")
#: Share of the training reviews on which the regularisation strength is chosen.
DEV_SHARE = 0.1
#: Reviews with more stars are positive.
MAX_NEGATIVE_STARS = 3
#: Name of the data set in records and reports.
AMAZON = "amazon"

_REMEDY = "Unpack cls-acl10-unprocessed.tar.gz (Webis-CLS-10, zenodo.org/record/3251672) and name its folder."


def read_reviews(folder: Path) -> tuple[pd.DataFrame, dict[str, str]]:
    """Return the reviews, and the reason for each missing language.

    Columns: `part` (train, dev or test), `language`, `category`, `text` (headline and review) and `label` (1:
    positive). A hash of the text assigns a tenth of the English training reviews to dev.

    Raises BenchmarkMissing without English training reviews, and ValueError, naming the file, for another format.
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
    """Return the reviews of all categories of a language and part."""
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
        """Raise ValueError for a document type. The parser calls this before it expands any entity."""
        raise ValueError(f"declares a document type, {name}, which is not allowed")


def _parse_reviews(path: Path) -> Iterator[tuple[str, int]]:
    """Yield text and label (1: positive) of each review of a file."""
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
                f"{path}, review {number}: needs words in <text> or <summary> and a <rating> of 1 to 5 stars; "
                "fetch the file again"
            )
        yield text, int(stars > MAX_NEGATIVE_STARS)
    if not number:
        raise ValueError(f"{path} has no <item>; fetch it again")

"""Small made-up paragraphs for the tests."""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from pyspark.sql import DataFrame, SparkSession

WORDS = ["amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "heath", "inlet", "jetty", "knoll", "larch"]
SCHEMA = (
    "doc_id string, title string, section_index int, section string, paragraph_index int, text string, "
    "sentences array<string>, links array<struct<target string, start int, end int, doc_id string>>"
)


class Made(NamedTuple):
    """A paragraph; a word in it that is a key of `links` links to the page that this names, None to none."""

    doc_id: str
    paragraph_index: int
    sentences: list[str]
    section_index: int = 0
    title: str = "Amber grove"
    links: dict[str, str | None] = {}  # noqa: RUF012
    section: str = ""

    def row(self) -> tuple[Any, ...]:
        text = " ".join(self.sentences)
        links = [
            (word, start, start + len(word), doc_id)
            for word, doc_id in self.links.items()
            for start in range(len(text))
            if text.startswith(word, start)
        ]
        links.sort(key=lambda link: link[1])
        place = (self.section_index, self.section, self.paragraph_index)
        return self.doc_id, self.title, *place, text, self.sentences, links


def table(spark: SparkSession, paragraphs: list[Made]) -> DataFrame:
    """The paragraphs table."""
    return spark.createDataFrame([paragraph.row() for paragraph in paragraphs], SCHEMA)


def made_up_paragraphs(documents: int = 24, seed: int = 3) -> list[Made]:
    """Paragraphs of random words; the later ones of a page are in later sections, and some words are links."""
    rng = random.Random(seed)
    made = []
    for document in range(documents):
        for paragraph in range(rng.randint(1, 4)):
            sentences = [" ".join(rng.choices(WORDS, k=rng.randint(3, 16))) + "." for _ in range(rng.randint(1, 5))]
            links = {word: f"en:{i * documents // len(WORDS)}" for i, word in enumerate(WORDS[:4])}
            made.append(Made(f"en:{document}", paragraph, sentences, paragraph // 2, f"Delta {document}", {**links}))
    return made


@contextmanager
def settings(spark: SparkSession, **values: str) -> Iterator[None]:
    """Spark settings for a while; "__" in a name stands for "."."""
    names = {key: key.replace("__", ".") for key in values}
    before = {name: spark.conf.get(name) for name in names.values()}
    for key, value in values.items():
        spark.conf.set(names[key], value)
    yield
    for name, old in before.items():
        if old is not None:
            spark.conf.set(name, old)

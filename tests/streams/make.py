"""Small made-up paragraphs for the tests."""

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.parquet as pq
from pyspark.sql import DataFrame, Row, SparkSession

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
        section = (self.section_index, self.section)
        return self.doc_id, self.title, *section, self.paragraph_index, text, self.sentences, links


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
    previous = {name: spark.conf.get(name) for name in names.values()}
    for key, value in values.items():
        spark.conf.set(names[key], value)
    yield
    for name, old in previous.items():
        if old is not None:
            spark.conf.set(name, old)


def the_same_however_cut(spark: SparkSession, files: int, make: Callable[[int], DataFrame]) -> list[Row]:
    """The rows of a table made of inputs of so many partitions: the same in `files` partitions, however Spark works."""
    results = []
    for partitions, shuffles, adaptive, batch in ((3, "7", "false", "1"), (1, "2", "true", "0")):
        with settings(
            spark,
            spark__sql__shuffle__partitions=shuffles,
            spark__sql__adaptive__enabled=adaptive,
            spark__sql__autoBroadcastJoinThreshold="-1" if partitions == 3 else "10485760",
            spark__sql__execution__arrow__maxRecordsPerBatch=batch,
        ):
            rows = make(partitions).rdd.glom().collect()
        assert len(rows) == files
        results.append(rows)
    assert results[0] == results[1]
    return [row for part in results[0] for row in part]


def saved(rows: DataFrame, folder: Path) -> DataFrame:
    """The rows, read from disk."""
    rows.write.parquet(str(folder))
    return rows.sparkSession.read.parquet(str(folder))


def written(rows: DataFrame, folder: Path) -> list[list[dict[str, Any]]]:
    """What training reads: the rows of each file, the files in the order of their names."""
    saved(rows, folder)
    return [pq.read_table(file).to_pylist() for file in sorted(folder.glob("*.parquet"))]


def sentences_of(passage: Row) -> list[list[int]]:
    """The sentences of a row of passages, as token ids."""
    ends = [0, *accumulate(passage["sentence_lengths"])]
    return [passage["tokens"][start:end] for start, end in pairwise(ends)]

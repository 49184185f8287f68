"""Small random paragraphs, and helpers for tests with Spark."""

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


class MadeParagraph(NamedTuple):
    """A paragraph. `links`: word → id of the linked page, or None."""

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


def paragraphs_table(spark: SparkSession, paragraphs: list[MadeParagraph]) -> DataFrame:
    """Return the paragraphs table."""
    return spark.createDataFrame([paragraph.row() for paragraph in paragraphs], SCHEMA)


def random_paragraphs(documents: int = 24, seed: int = 3) -> list[MadeParagraph]:
    """Return paragraphs of random words. Later paragraphs are in later sections; some words are links."""
    rng = random.Random(seed)
    made = []
    for document in range(documents):
        for paragraph in range(rng.randint(1, 4)):
            sentences = [" ".join(rng.choices(WORDS, k=rng.randint(3, 16))) + "." for _ in range(rng.randint(1, 5))]
            links = {word: f"en:{i * documents // len(WORDS)}" for i, word in enumerate(WORDS[:4])}
            made.append(
                MadeParagraph(f"en:{document}", paragraph, sentences, paragraph // 2, f"Delta {document}", {**links})
            )
    return made


@contextmanager
def spark_settings(spark: SparkSession, **values: str) -> Iterator[None]:
    """Change settings of Spark within a block. "__" in a name stands for "."."""
    names = {key: key.replace("__", ".") for key in values}
    previous = {name: spark.conf.get(name) for name in names.values()}
    for key, value in values.items():
        spark.conf.set(names[key], value)
    yield
    for name, old in previous.items():
        if old is not None:
            spark.conf.set(name, old)


def collect_for_any_partitions(spark: SparkSession, files: int, make: Callable[[int], DataFrame]) -> list[Row]:
    """Make a table from differently partitioned inputs. Return its rows, which must be the same."""
    results = []
    for partitions, shuffles, adaptive, batch in ((3, "7", "false", "1"), (1, "2", "true", "0")):
        with spark_settings(
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


def save_table(rows: DataFrame, folder: Path) -> DataFrame:
    """Write a table and read it from disk."""
    rows.write.parquet(str(folder))
    return rows.sparkSession.read.parquet(str(folder))


def write_files(rows: DataFrame, folder: Path) -> list[list[dict[str, Any]]]:
    """Write a table. Return the rows of each file in the order of file names, as training reads them."""
    save_table(rows, folder)
    return [pq.read_table(file).to_pylist() for file in sorted(folder.glob("*.parquet"))]


def split_sentences(passage: Row) -> list[list[int]]:
    """Split a passage into its sentences (token ids)."""
    ends = [0, *accumulate(passage["sentence_lengths"])]
    return [passage["tokens"][start:end] for start, end in pairwise(ends)]

"""Documents of a corpus that an evaluation asks about, so that nothing learns from them.

A document is one of them if its title is, or if it shares a run of RUN words with their texts: the length by which
Brown et al. (2020, appendix C) found what a benchmark and their corpus have in common. As there, runs that more than
MOST_DOCUMENTS documents share tell nothing: set phrases, boilerplate.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import compress
from typing import Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from contexture.corpus.duplicates import few, on_disk
from contexture.text.quality import normalized
from contexture.text.word_runs import Hashes, WordRuns, words_alone

RUN = 13  # words
MOST_DOCUMENTS = 10
_SEED = 0
_ROWS = 1_000  # that are hashed at a time


@dataclass(frozen=True)
class Evaluation:
    """What the documents of an evaluation are known by."""

    #: Normalized.
    titles: frozenset[str]
    #: Hashes of the runs in their texts, each once, in order.
    runs: Hashes

    @classmethod
    def of(cls, titles: Iterable[str], texts: Iterable[str]) -> Self:
        """Of documents with these titles and of these texts, or parts of them."""
        hashes, _ = _word_runs()(map(words_alone, texts))
        return cls(frozenset(map(normalized, titles)) - {""}, np.unique(hashes))

    def shares(self, hashes: Hashes) -> NDArray[np.bool_]:
        """Which of these runs are in the texts."""
        if not len(self.runs):
            return np.zeros(len(hashes), bool)
        # Of what lies behind the last one, the place is that of the first, which it is not either.
        found: NDArray[np.bool_] = self.runs[np.searchsorted(self.runs, hashes) % len(self.runs)] == hashes
        return found


def evaluation_documents(paragraphs: DataFrame, evaluation: Evaluation) -> DataFrame:
    """The documents (one column, doc_id) of a table with doc_id, title and text that belong to an evaluation.

    Runs Spark jobs at once.
    """
    known = paragraphs.sparkSession.sparkContext.broadcast(evaluation)
    rows = paragraphs.select("doc_id", "title", "text")

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        find = _word_runs()
        for batch in _slices(batches):
            ids, titles, texts = (column.to_pylist() for column in batch.columns)
            of_title = {title: normalized(title or "") in known.value.titles for title in set(titles)}
            named = list(compress(ids, map(of_title.__getitem__, titles)))
            hashes, counts = find(map(words_alone, texts))
            shared = known.value.shares(hashes)
            found = np.repeat(np.arange(len(ids)), counts)[shared]
            hits = pa.array([*named, *(ids[place] for place in found)], pa.string())
            marks = pa.array([*[None] * len(named), *hashes[shared].view(np.int64).tolist()], pa.int64())
            yield pa.RecordBatch.from_arrays([hits, marks], names=["doc_id", "run"])

    # A row a document and run, or no run where it is the title.
    hits = on_disk(rows.mapInArrow(run, "doc_id string, run bigint").distinct())
    common = hits.where("run is not null").groupBy("run").count().where(F.col("count") > MOST_DOCUMENTS).select("run")
    return few(on_disk(hits.join(common, "run", "left_anti").select("doc_id").distinct()))


def _slices(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for start in range(0, batch.num_rows, _ROWS):
            yield batch.slice(start, _ROWS)


def _word_runs() -> WordRuns:
    return WordRuns(RUN, np.random.Generator(np.random.PCG64(_SEED)))

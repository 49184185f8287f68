"""Documents of a corpus that an evaluation asks about, so that nothing learns from them.

They have the title of one of its documents, or share RUN words in a row with one: the length of Brown et al. (2020,
appendix C). As there, runs that more than MOST_DOCUMENTS documents share do not count: set phrases, boilerplate.
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
from contexture.text.minhash import Hashes, WordRuns, words_alone
from contexture.text.quality import normalized

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
    def from_documents(cls, titles: Iterable[str], texts: Iterable[str]) -> Self:
        """Of documents with these titles and of these texts, or parts of them."""
        hashes, _ = _word_runs()(map(words_alone, texts))
        return cls(frozenset(map(normalized, titles)) - {""}, np.unique(hashes))

    def shares(self, hashes: Hashes) -> NDArray[np.bool_]:
        """Which of these runs are in the texts."""
        if not len(self.runs):
            return np.zeros(len(hashes), bool)
        # What lies behind the last one is compared with the first, which it is not either.
        shared: NDArray[np.bool_] = self.runs[np.searchsorted(self.runs, hashes) % len(self.runs)] == hashes
        return shared


def evaluation_documents(paragraphs: DataFrame, evaluation: Evaluation) -> DataFrame:
    """The doc_ids of the evaluation's documents in a table with doc_id, title and text. Runs Spark jobs at once."""
    known = paragraphs.sparkSession.sparkContext.broadcast(evaluation)
    rows = paragraphs.select("doc_id", "title", "text")

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        find = _word_runs()
        for part in (batch.slice(start, _ROWS) for batch in batches for start in range(0, batch.num_rows, _ROWS)):
            ids, titles, texts = (column.to_pylist() for column in part.columns)
            of_title = {title: normalized(title or "") in known.value.titles for title in set(titles)}
            named = list(compress(ids, map(of_title.__getitem__, titles)))
            hashes, counts = find(map(words_alone, texts))
            shared = known.value.shares(hashes)
            hits = pa.array([*named, *np.repeat(np.array(ids, object), counts)[shared]], pa.string())
            marks = pa.array([*[None] * len(named), *hashes[shared].view(np.int64).tolist()], pa.int64())
            yield pa.RecordBatch.from_arrays([hits, marks], names=["doc_id", "run"])

    # A row a document and run, or no run where it is the title.
    hits = on_disk(rows.mapInArrow(run, "doc_id string, run bigint").distinct())
    common = hits.where("run is not null").groupBy("run").count().where(F.col("count") > MOST_DOCUMENTS).select("run")
    return few(on_disk(hits.join(common, "run", "left_anti").select("doc_id").distinct()))


def _word_runs() -> WordRuns:
    return WordRuns(RUN, np.random.Generator(np.random.PCG64(_SEED)))

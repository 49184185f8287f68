"""Find documents of the corpus that also occur in an evaluation, to exclude them from training.

They have the title of an evaluation document, or share RUN_WORDS consecutive words with one (Brown et al. 2020,
appendix C). Like there, runs in more than MAX_DOCUMENTS documents do not count: they are set phrases or boilerplate.
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

from contexture.corpus.duplicates import checkpoint_and_broadcast, checkpoint_on_disk
from contexture.text.minhash import Hashes, WordRunHasher, split_bare_words
from contexture.text.quality import normalize_text

RUN_WORDS = 13
MAX_DOCUMENTS = 10
_SEED = 0
_BATCH_ROWS = 1_000  # hashed at a time


@dataclass(frozen=True)
class EvaluationTexts:
    """Titles and word runs of the documents of an evaluation."""

    #: Normalized.
    titles: frozenset[str]
    #: Sorted unique hashes.
    runs: Hashes

    @classmethod
    def from_documents(cls, titles: Iterable[str], texts: Iterable[str]) -> Self:
        """Return the normalized titles, and the hashes of the word runs, of documents with these titles and texts."""
        hashes, _ = _make_run_hasher()(map(split_bare_words, texts))
        return cls(frozenset(map(normalize_text, titles)) - {""}, np.unique(hashes))

    def contains_runs(self, hashes: Hashes) -> NDArray[np.bool_]:
        """Return for each hash of a word run whether the evaluation's texts have that run."""
        if not len(self.runs):
            return np.zeros(len(hashes), bool)
        # Hashes above the last run are compared with the first run, which never equals them.
        shared: NDArray[np.bool_] = self.runs[np.searchsorted(self.runs, hashes) % len(self.runs)] == hashes
        return shared


def find_evaluation_documents(paragraphs: DataFrame, evaluation: EvaluationTexts) -> DataFrame:
    """Return the doc_ids of documents that also occur in the evaluation.

    `paragraphs` has doc_id, title and text. Runs Spark jobs immediately.
    """
    shared_texts = paragraphs.sparkSession.sparkContext.broadcast(evaluation)
    rows = paragraphs.select("doc_id", "title", "text")

    def match_batches(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield doc_id and hash of each word run that the evaluation has too; null for a title that it has too."""
        hash_runs = _make_run_hasher()
        slices = (
            batch.slice(start, _BATCH_ROWS) for batch in batches for start in range(0, batch.num_rows, _BATCH_ROWS)
        )
        for part in slices:
            ids, titles, texts = (column.to_pylist() for column in part.columns)
            is_known = {title: normalize_text(title or "") in shared_texts.value.titles for title in set(titles)}
            ids_by_title = list(compress(ids, map(is_known.__getitem__, titles)))
            hashes, counts = hash_runs(map(split_bare_words, texts))
            shared = shared_texts.value.contains_runs(hashes)
            hit_ids = pa.array([*ids_by_title, *np.repeat(np.array(ids, object), counts)[shared]], pa.string())
            hit_runs = pa.array([*[None] * len(ids_by_title), *hashes[shared].view(np.int64).tolist()], pa.int64())
            yield pa.RecordBatch.from_arrays([hit_ids, hit_runs], names=["doc_id", "run"])

    # One row for each document and run. The run is null if the title matches.
    hits = checkpoint_on_disk(rows.mapInArrow(match_batches, "doc_id string, run bigint").distinct())
    run_counts = hits.where("run is not null").groupBy("run").count()
    common_runs = run_counts.where(F.col("count") > MAX_DOCUMENTS).select("run")
    return checkpoint_and_broadcast(hits.join(common_runs, "run", "left_anti").select("doc_id").distinct())


def _make_run_hasher() -> WordRunHasher:
    """Return a hasher of runs of RUN_WORDS words; all instances give the same hashes."""
    return WordRunHasher(RUN_WORDS, np.random.Generator(np.random.PCG64(_SEED)))

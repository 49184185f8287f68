"""Every contestant's ranking of a set's documents beside BM25's, and both fused."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from contexture.metrics.graded import METRICS, RECALL_AT, graded_metrics
from contexture.metrics.scores import RUN, to_records
from contexture.retrieval.fusion import EVEN, fuse
from contexture.retrieval.parquet_rows import ParquetRows
from contexture.retrieval.top import NOTHING, Rows
from contexture.tasks.base import Contestant, Each, Results, measure_encoders, seeds_of
from contexture.tasks.beir.config import BeirSettings
from contexture.tasks.beir.files import DOCUMENTS, QUERIES
from contexture.tasks.passage_ranking import BM25, by_vectors, by_words, intervals
from contexture.tasks.retrieval.evaluation import FROZEN, HYBRID

NAME = "beir"
#: Documents that are ranked for each query.
DEPTH = max(RECALL_AT)


@dataclass(frozen=True)
class BeirSet:
    """A set that `files.write_set` wrote, and where vectors of its documents are kept."""

    name: str
    folder: Path
    place: Path
    split: str

    @property
    def documents(self) -> ParquetRows:
        """The file, opened."""
        return ParquetRows(self.folder / DOCUMENTS)

    @property
    def queries(self) -> pd.DataFrame:
        """id, text, documents and scores of each query."""
        return pd.read_parquet(self.folder / QUERIES)


def evaluate_beir(
    settings: BeirSettings, contestants: Sequence[Contestant], sets: Sequence[BeirSet], each: Each
) -> Results:
    """nDCG@10 and recall of BM25, of all contestants and of those fused with it, on every set.

    The table `queries` has every query's, the fact `intervals` what `intervals` makes of them.
    """
    tables = [_evaluate(settings, contestants, one, each) for one in sets if contestants]
    if not tables:
        return Results()
    records = [
        record for one, table in zip(sets, tables, strict=True) for record in to_records(table, METRICS, NAME, one.name)
    ]
    told = {one.name: intervals(table) for one, table in zip(sets, tables, strict=True)}
    return Results(records, {"intervals": told}, {"queries": pd.concat(tables, ignore_index=True)})


def measure(encoders: Sequence[str], one: BeirSet) -> Rows:
    """What the vectors of encoders find of a set, see `without_own`."""
    documents, queries = one.documents, one.queries
    rows = by_vectors(encoders, documents, queries["text"].tolist(), one.place, DEPTH + 1)
    return without_own(rows, own_rows(documents, queries))


def own_rows(documents: ParquetRows, queries: pd.DataFrame) -> Rows:
    """The row (Q,) of the document that has the id of the query; −1 where none has."""
    rows = _rows_of(documents, set(queries["id"]))
    return np.array([rows.get(name, NOTHING) for name in queries["id"]], np.int64)


def without_own(found: Rows, own: Rows) -> Rows:
    """The first DEPTH rows of each ranking, the query's own document left out, as BEIR leaves it out.

    Args:
        found: (Q, DEPTH + 1) rows, best first, −1 where nothing was found.
        own: (Q,), see `own_rows`.
    """
    left = np.where(found == own[:, None], NOTHING, found)
    order = np.argsort(left == NOTHING, axis=1, kind="stable")
    return np.take_along_axis(left, order, axis=1)[:, :DEPTH]


def _evaluate(settings: BeirSettings, contestants: Sequence[Contestant], one: BeirSet, each: Each) -> pd.DataFrame:
    """RUN, data, query_id and METRICS of each query."""
    documents, queries = one.documents, one.queries
    words = by_words(documents, queries["text"].tolist(), one.place, settings.bm25, DEPTH + 1)
    words = without_own(words, own_rows(documents, queries))
    vectors = measure_encoders(measure, contestants, each, one)
    rankings = {(BM25, seed): words for seed in seeds_of(contestants)}
    for contestant in contestants:
        rows = vectors[contestant.encoders]
        rankings[contestant.variant, contestant.seed] = rows
        if contestant.variant in settings.hybrid:
            rankings[contestant.variant + HYBRID, contestant.seed] = fuse(rows, words, EVEN, DEPTH)[1]
    known = _rows_of(documents, set(queries["documents"].explode()))
    relevant = [
        # A document that is not there has no row: by its name it is never found.
        {known.get(name, name): score for name, score in zip(names, scores, strict=True)}
        for names, scores in zip(queries["documents"], queries["scores"], strict=True)
    ]
    tables = [
        graded_metrics(rows.tolist(), relevant).assign(
            variant=variant, seed=seed, split=one.split, protocol=FROZEN, data=one.name, query_id=queries["id"]
        )
        for (variant, seed), rows in rankings.items()
    ]
    return pd.concat(tables, ignore_index=True)[[*RUN, "data", "query_id", *METRICS]]


def _rows_of(documents: ParquetRows, names: set[str]) -> dict[str, int]:
    return {name: row for row, (name,) in enumerate(documents.tuples(["id"])) if name in names}

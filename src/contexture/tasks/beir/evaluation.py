"""Evaluate rankings by encoders, by BM25, and by both fused."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from contexture.metrics.graded import METRICS, graded_metrics
from contexture.metrics.measures import RECALL_DEPTHS
from contexture.metrics.scores import RUN_COLUMNS, to_records
from contexture.retrieval.fusion import EQUAL_WEIGHT, fuse_ranks
from contexture.retrieval.parquet_rows import ParquetRows
from contexture.retrieval.top import NO_ROW
from contexture.tasks.base import EvaluatedEncoder, ParallelMap, Results
from contexture.tasks.beir.config import BeirSettings
from contexture.tasks.beir.files import DOCUMENTS_FILE, QUERIES_FILE
from contexture.tasks.passage_ranking import BM25, FROZEN, HYBRID, drop_row, measure_intervals, rank_all

NAME = "beir"
#: Number of documents that are ranked for each query.
RANK_DEPTH = max(RECALL_DEPTHS)


@dataclass(frozen=True)
class BeirSet:
    """A set in a folder of `files.write_set`, and the folder for vectors of its documents."""

    name: str
    folder: Path
    vectors_dir: Path
    split: str


def evaluate_beir(
    settings: BeirSettings, encoders: Sequence[EvaluatedEncoder], sets: Sequence[BeirSet], parallel_map: ParallelMap
) -> Results:
    """Measure nDCG@10 and recall of BM25, of encoders and of both fused, on each set.

    The table `queries` has the metrics of each query; `details["intervals"]` has confidence intervals by set.
    """
    if not encoders or not sets:
        return Results()
    tables = {beir_set.name: _evaluate_set(settings, encoders, beir_set, parallel_map) for beir_set in sets}
    records = [record for name, table in tables.items() for record in to_records(table, METRICS, NAME, name)]
    details = {"intervals": {name: measure_intervals(table) for name, table in tables.items()}}
    return Results(records, details, {"queries": pd.concat(tables.values(), ignore_index=True)})


def _evaluate_set(
    settings: BeirSettings, encoders: Sequence[EvaluatedEncoder], beir_set: BeirSet, parallel_map: ParallelMap
) -> pd.DataFrame:
    """Return RUN, data, query_id and METRICS of each query."""
    queries = pd.read_parquet(beir_set.folder / QUERIES_FILE)
    file = beir_set.folder / DOCUMENTS_FILE
    names = {*queries["id"], *queries["documents"].explode()}
    row_of = {name: row for row, (name,) in enumerate(ParquetRows(file).tuples(["id"])) if name in names}
    own_rows = np.array([row_of.get(name, NO_ROW) for name in queries["id"]], np.int64)
    rankings = rank_all(
        encoders,
        parallel_map,
        file,
        queries["text"].tolist(),
        beir_set.vectors_dir,
        settings.bm25,
        RANK_DEPTH + 1,
        lambda ranking: drop_row(ranking, own_rows, RANK_DEPTH),  # as BEIR does
    )
    for encoder in encoders:
        if encoder.variant in settings.hybrid:
            vectors, words = (rankings[name, encoder.seed][1] for name in (encoder.variant, BM25))
            rankings[encoder.variant + HYBRID, encoder.seed] = fuse_ranks(vectors, words, EQUAL_WEIGHT, RANK_DEPTH)
    relevant = [
        # A document that is not in the corpus has no row; its id matches no result.
        {row_of.get(name, name): score for name, score in zip(documents, scores, strict=True)}
        for documents, scores in zip(queries["documents"], queries["scores"], strict=True)
    ]
    tables = [
        graded_metrics(rows.tolist(), relevant).assign(
            variant=variant,
            seed=seed,
            split=beir_set.split,
            protocol=FROZEN,
            data=beir_set.name,
            query_id=queries["id"],
        )
        for (variant, seed), (_, rows) in rankings.items()
    ]
    return pd.concat(tables, ignore_index=True)[[*RUN_COLUMNS, "data", "query_id", *METRICS]]

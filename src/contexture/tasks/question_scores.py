"""Scores of single questions, from the tables that tasks save with their records."""

from pathlib import Path

import pandas as pd

from contexture.metrics.scores import RUN_COLUMNS

#: Columns that name a question.
ID_COLUMNS = ("question_id", "query_id", "claim_id")
#: Metric at a depth → column with the rank of the first right candidate; 0: none.
RANK_COLUMNS = {"recall": "rank", "sentence_recall": "sentence_rank"}


def read_question_scores(results_dir: Path, data: str, metric: str) -> pd.DataFrame | None:
    """Return the scores of each question of a data set, or None if no table in a task's results has them.

    The table has the columns variant, seed, split, protocol, `question` and `value` (0..1).
    """
    for file in sorted(results_dir.glob("*.parquet")):
        # Answer selection saves a table for each set: questions-wikiqa.parquet.
        _, separator, name = file.stem.partition("-")
        if separator and name != data:
            continue
        table = pd.read_parquet(file)
        if "data" in table:
            table = table[table["data"] == data]
        identifier = next((column for column in ID_COLUMNS if column in table), None)
        values = _get_values(table, metric)
        if identifier is not None and values is not None and {*RUN_COLUMNS} <= {*table}:
            return table[RUN_COLUMNS].assign(question=table[identifier], value=values)
    return None


def _get_values(table: pd.DataFrame, metric: str) -> "pd.Series[float] | None":
    """Return the metric of each row, from its column or from those that it follows from; None without them."""
    kind, _, depth = metric.rpartition("_at_")
    if metric in table:
        return table[metric].astype("float64")
    rank = RANK_COLUMNS.get(kind)
    if rank in table:
        return table[rank].between(1, int(depth)).astype("float64")
    if metric == "accuracy" and {"label", "given"} <= set(table):
        return (table["label"] == table["given"]).astype("float64")
    return None

"""The tables of retrieval that are not of models by metrics: counts, the ablation, indexes and speed."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from contexture.reporting.records import Record
from contexture.reporting.tables import NOTHING, Column, Table, best, by_seed, mean_std, required
from contexture.systems.two_tower.published import (
    ABLATION,
    ABLATION_SHARES,
    LABELS,
    PAIRS,
    REQA,
    SETS,
)

PAIR_COLUMNS = {
    "pairs": "Pairs",
    "tokens": "Tokens",
    "mean_query_tokens": "Tokens a query",
    "mean_document_tokens": "Tokens a document",
}
SET_COLUMNS = {"queries": "Questions", "candidates": "Candidates", "tuples": "Tuples"}
INDEXES = {"flat": "Exact", "ivf": "IVF", "hnsw": "HNSW"}
#: The order of the ablation's rows within those of as many layers.
TASKS = ("none", "mlm", "ict", "bfs", "wlp", "ict_bfs_wlp")


def pairs_table(ours: Mapping[str, Mapping[str, float]]) -> Table:
    """Table 1: pairs and tokens of each pre-training task; no rows without ours.

    Raises:
        ValueError: naming the task and what its counts lack.
    """
    return _beside_the_paper(
        "Table 1: pairs of the pre-training tasks",
        "Task",
        PAIR_COLUMNS,
        ours,
        PAIRS,
        LABELS,
        "Sub-word tokens of queries and passages; ours without titles and special tokens. "
        "Paper: Chang et al. 2020, Table 1, all of English Wikipedia.",
    )


def sets_table(ours: Mapping[str, Mapping[str, float]]) -> Table:
    """Table 2 without its lengths: what is asked and what is searched; no rows without ours.

    Raises:
        ValueError: naming the set and what its counts lack.
    """
    return _beside_the_paper(
        "Table 2: questions and candidates",
        "Set",
        SET_COLUMNS,
        ours,
        {name: counts for name, counts in REQA.items() if name in ours},
        SETS,
        "Candidates are the distinct (sentence, passage) pairs, tuples the questions with each gold pair. "
        "Paper: Chang et al. 2020, Table 2.",
    )


def ablation_table(records: Sequence[Record], task: str, where: str) -> Table:
    """Table 5: ours above the paper's, as ours are of other sizes; no rows without ours.

    Args:
        records: variants are named "layers=2 ict dim=64", splits are shares.
        task: such as "squad_ablation".
        where: the name of our set.

    Raises:
        ValueError: naming the record whose variant is not named so.
    """
    own = [r for r in records if r["task"] == task and r["metric"] == "recall_at_100"]
    shares = sorted({r["split"] for r in own} | set(ABLATION_SHARES), key=lambda share: float(share.rstrip("%")))
    ours = {}
    for configuration, variant in sorted({(_configuration(r), r["variant"]) for r in own}, key=_place):
        values = [list(by_seed(own, variant, task, share, "recall_at_100").values()) for share in shares]
        ours[configuration] = [mean_std(seeds) for seeds in values]
    paper = {
        configuration: [f"{by_share[share]:.2f}" if share in by_share else NOTHING for share in shares]
        for configuration, recalls in ABLATION.items()
        for by_share in [dict(zip(ABLATION_SHARES, recalls, strict=True))]
    }
    rows = [
        (str(layers), LABELS.get(name, name), str(dimension), *cells)
        for block in (ours, paper)
        for (layers, name, dimension), cells in block.items()
    ]
    columns = [Column("Layers", numeric=True), Column("Pre-training"), Column("Dimension", numeric=True)]
    columns += [Column(share, "R@100, trained on", numeric=True) for share in shares]
    places = range(3, len(columns))
    return Table(
        title="Table 5: layers, tasks and size of the embedding",
        columns=tuple(columns),
        rows=tuple(rows) if own else (),
        caption="Percent, mean (standard deviation over seeds); the best of each column in bold, ours and the paper's. "
        "Paper: Chang et al. 2020, Table 5.",
        bold=frozenset(best(rows, range(len(ours)), places) | best(rows, range(len(ours), len(rows)), places)),
        headings={0: f"Ours, {where}", len(ours): "Paper, Natural Questions"},
    )


def index_table(rows: Sequence[Mapping[str, Any]]) -> Table:
    """What approximate search gives up and what it gains.

    Args:
        rows: one an index, with the keys kind, recall_against_exact (0..1), queries_per_second, build_seconds.

    Raises:
        ValueError: naming what a row lacks.
    """
    keys = ("kind", "recall_against_exact", "queries_per_second", "build_seconds")
    return Table(
        title="Exact and approximate search",
        columns=(
            Column("Index"),
            Column("Recall against exact", numeric=True),
            Column("Queries a second", numeric=True),
            Column("Seconds to build", numeric=True),
        ),
        rows=tuple(
            (INDEXES.get(kind, str(kind)), f"{100 * recall:.1f}", f"{speed:,.0f}", f"{seconds:,.1f}")
            for kind, recall, speed, seconds in (required("an index", row, keys) for row in rows)
        ),
        caption="Recall: percent of the candidates found by exact search that the index finds, too.",
    )


def speed_table(rows: Sequence[Mapping[str, Any]]) -> Table:
    """How fast the parts of retrieval are.

    Args:
        rows: with the keys what, unit (such as "queries") and per_second.

    Raises:
        ValueError: naming what a row lacks.
    """
    return Table(
        title="Speed of retrieval",
        columns=(Column("What"), Column("a second", numeric=True), Column("of")),
        rows=tuple(
            (str(what), f"{speed:,.0f}" if speed >= 100 else f"{speed:.3g}", str(unit))
            for what, speed, unit in (required("a speed", row, ("what", "per_second", "unit")) for row in rows)
        ),
    )


def _beside_the_paper(
    title: str,
    kind: str,
    columns: Mapping[str, str],
    ours: Mapping[str, Mapping[str, float]],
    paper: Mapping[str, Mapping[str, float]],
    labels: Mapping[str, str],
    caption: str,
) -> Table:
    rows = []
    for name in dict.fromkeys([*paper, *ours]) if ours else ():
        own = required(name, ours[name], columns) if name in ours else [None] * len(columns)
        theirs = [paper[name][key] for key in columns] if name in paper else [None] * len(columns)
        cells = [text for pair in zip(map(_count, own), map(_count, theirs), strict=True) for text in pair]
        rows.append((labels.get(name, name), *cells))
    heads = [Column(whose, label, numeric=True) for label in columns.values() for whose in ("ours", "paper")]
    return Table(title, (Column(kind), *heads), tuple(rows), caption)


def _count(value: float | None) -> str:
    """Integers in full, averages with two decimals, and what the paper gives in millions or billions as it does."""
    if value is None:
        return NOTHING
    if isinstance(value, int):
        return f"{value:,}"
    for unit, size in (("B", 1e9), ("M", 1e6)):
        if value >= size:
            return f"{value / size:.1f}{unit}"
    return f"{value:.2f}"


def _configuration(record: Record) -> tuple[int, str, int]:
    found = re.fullmatch(r"layers=(\d+) (\w+) dim=(\d+)", record["variant"])
    if not found:
        raise ValueError(f"a variant of the ablation is named like 'layers=2 ict dim=64': {record!r}")
    return int(found[1]), found[2], int(found[3])


def _place(item: tuple[tuple[int, str, int], str]) -> tuple[int, int, str, int]:
    (layers, name, dimension), _ = item
    return layers, TASKS.index(name) if name in TASKS else len(TASKS), name, dimension

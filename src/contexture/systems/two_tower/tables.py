"""Tables of pairs, data sets, the ablation, indexes and speed."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from contexture.reporting.names import DATA
from contexture.reporting.published import Published
from contexture.reporting.records import Record, ScoreKey, values_by_seed
from contexture.reporting.tables import (
    INTERVAL,
    NOTHING,
    Column,
    Table,
    best,
    columns,
    format_mean,
    published_cell,
    require_keys,
)

TASK = "retrieval"
#: Ends the names of the ablation's protocols (Table 5).
ABLATION_SUFFIX = " ablation"
#: Order of the ablation's rows with the same number of layers.
TASKS = ("none", "mlm", "ict", "bfs", "wlp", "ict_bfs_wlp")
INDEX_LABELS = {"flat": "Exact", "ivf": "IVF", "hnsw": "HNSW"}


def index_table(rows: Sequence[Mapping[str, Any]]) -> Table:
    """Return the table that compares approximate with exact search; ValueError if a row lacks a key."""
    keys = ("kind", "recall_against_exact", "queries_per_second", "build_seconds")
    return Table(
        title="Exact and approximate search",
        columns=columns("Index", numbers=["Recall of exact results", "Queries per second", "Seconds to build"]),
        rows=tuple(
            (INDEX_LABELS.get(kind, str(kind)), f"{100 * recall:.1f}", f"{speed:,.0f}", f"{seconds:,.1f}")
            for kind, recall, speed, seconds in (require_keys("an index", row, keys) for row in rows)
        ),
        caption="Recall: percent of the results of exact search that the index returns, too.",
    )


def speed_table(rows: Sequence[Mapping[str, Any]]) -> Table:
    """Return the table of the speed of the parts of retrieval; ValueError if a row lacks a key."""
    return Table(
        title="Speed of retrieval",
        columns=(*columns("Step", numbers=["Per second"]), Column("Unit")),
        rows=tuple(
            (str(part), f"{speed:,.0f}" if speed >= 100 else f"{speed:.3g}", str(unit))
            for part, speed, unit in (require_keys("a speed", row, ("what", "per_second", "unit")) for row in rows)
        ),
    )


def pairs_table(ours: Mapping[str, Mapping[str, float]], published: Published) -> Table:
    """Return Table 1: pairs and tokens of each pre-training task; no rows without ours."""
    return _compare_counts("Task", ours, published, "table_1", published.labels)


def sets_table(ours: Mapping[str, Mapping[str, float]], published: Published) -> Table:
    """Return Table 2 without lengths: counts of questions and candidates; no rows without ours."""
    table = published.tables["table_2"]
    rows = tuple(row for row in table.rows if row.label in ours) or table.rows[:1]
    selected = replace(published, tables={"table_2": replace(table, rows=rows)})
    return _compare_counts("Set", ours, selected, "table_2", DATA)


def ablation_table(records: Sequence[Record], data: str, published: Published) -> Table:
    """Return Table 5: our rows, then the paper's, which have other sizes; no rows without ours.

    Variants and rows of the paper have names such as "ict layers=2 embedding_size=64" (else ValueError), protocols
    "1% ablation".
    """
    table = published.tables["table_5"]
    ablation_records = [
        r
        for r in records
        if r["protocol"].endswith(ABLATION_SUFFIX)
        and r["protocol"] != f"frozen{ABLATION_SUFFIX}"
        and (r["data"], r["metric"]) == (data, "recall_at_100")
    ]
    ran = {r["protocol"].removesuffix(ABLATION_SUFFIX) for r in ablation_records}
    shares = sorted(ran | {column.key for column in table.columns}, key=lambda share: float(share.rstrip("%")))
    keys = [ScoreKey(TASK, data, share + ABLATION_SUFFIX, "recall_at_100") for share in shares]
    ours = {
        _parse_variant(variant): [
            format_mean([*values_by_seed(ablation_records, variant, key).values()]) for key in keys
        ]
        for variant in sorted({r["variant"] for r in ablation_records}, key=_ablation_order)
    }
    columns_by_share = {column.key: column for column in table.columns}
    paper = {
        _parse_variant(row.label): [
            published_cell(row.scores.get(column.key), column) if column else NOTHING
            for column in map(columns_by_share.get, shares)
        ]
        for row in table.rows
    }
    rows = [
        (str(layers), published.labels.get(name, name), str(dimension), *cells)
        for block in (ours, paper)
        for (layers, name, dimension), cells in block.items()
    ]
    heads = [Column("Layers", numeric=True), Column("Pre-training"), Column("Dimension", numeric=True)]
    numbers = range(len(heads), len(heads) + len(shares))
    return Table(
        title=table.title,
        columns=(*heads, *columns(numbers=shares, group="R@100, fine-tuned on")),
        rows=tuple(rows) if ablation_records else (),
        caption=f"Percent, {INTERVAL}; best of each column in bold, separately for ours and "
        "the paper. Paper: Chang et al. 2020, Table 5.",
        bold=frozenset(best(rows, range(len(ours)), numbers) | best(rows, range(len(ours), len(rows)), numbers)),
        headings={0: f"Ours, {DATA.get(data, data)}", len(ours): "Paper, Natural Questions"},
    )


def _compare_counts(
    kind: str, ours: Mapping[str, Mapping[str, float]], published: Published, name: str, labels: Mapping[str, str]
) -> Table:
    """Return a table of our counts next to the paper's, from its table `name`; no rows without ours."""
    table, paper = published.tables[name], published.numbers(name)
    keys = [column.key for column in table.columns]
    rows = []
    for row in dict.fromkeys([*paper, *ours]) if ours else ():
        our_counts = require_keys(row, ours[row], keys) if row in ours else [None] * len(keys)
        paper_counts = [paper[row][key] for key in keys] if row in paper else [None] * len(keys)
        cells = [
            text
            for pair in zip(map(_format_count, our_counts), map(_format_count, paper_counts), strict=True)
            for text in pair
        ]
        rows.append((labels.get(row, row), *cells))
    heads = [Column(source, column.name, numeric=True) for column in table.columns for source in ("ours", "paper")]
    return Table(table.title, (Column(kind), *heads), tuple(rows), f"{table.note} Paper: {table.source}.")


def _format_count(value: float | None) -> str:
    """Return a count as text: integers in full, averages with two decimals, large floats as "50.2M"; – for None."""
    if value is None:
        return NOTHING
    if isinstance(value, int):
        return f"{value:,}"
    for unit, size in (("B", 1e9), ("M", 1e6)):
        if value >= size:
            return f"{value / size:.1f}{unit}"
    return f"{value:.2f}"


def _parse_variant(variant: str) -> tuple[int, str, int]:
    """Return layers, pre-training and embedding size of a name such as "ict layers=2 embedding_size=64"."""
    match = re.fullmatch(r"(\w+) layers=(\d+) embedding_size=(\d+)", variant)
    if not match:
        raise ValueError(f"ablation variant: expected a name like 'ict layers=2 embedding_size=64', got {variant!r}")
    return int(match[2]), match[1], int(match[3])


def _ablation_order(variant: str) -> tuple[int, int, str, int]:
    """Return the sort key of an ablation's variant: layers, position in `TASKS`, pre-training, embedding size."""
    layers, name, dimension = _parse_variant(variant)
    return layers, TASKS.index(name) if name in TASKS else len(TASKS), name, dimension

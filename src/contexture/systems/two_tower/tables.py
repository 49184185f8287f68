"""The paper's tables that are not of models by metrics: pairs, sets of questions and the ablation."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from contexture.reporting.names import DATA
from contexture.reporting.published import Published
from contexture.reporting.records import Place, Record, by_seed
from contexture.reporting.tables import NOTHING, Column, Table, best, mean_std, published_cell, required

TASK = "retrieval"
#: What follows the share trained on in the names of the ablation's protocols (Table 5).
ABLATED = " ablation"
#: The order of the ablation's rows within those of as many layers.
TASKS = ("none", "mlm", "ict", "bfs", "wlp", "ict_bfs_wlp")


def pairs_table(ours: Mapping[str, Mapping[str, float]], published: Published) -> Table:
    """Table 1: pairs and tokens of each pre-training task; no rows without ours.

    Raises:
        ValueError: naming the task and what its counts lack.
    """
    return _beside_the_paper("Task", ours, published, "table_1", published.labels)


def sets_table(ours: Mapping[str, Mapping[str, float]], published: Published) -> Table:
    """Table 2 without its lengths: what is asked and what is searched; no rows without ours.

    Raises:
        ValueError: naming the set and what its counts lack.
    """
    table = published.tables["table_2"]
    rows = tuple(row for row in table.rows if row.label in ours) or table.rows[:1]
    shown = replace(published, tables={"table_2": replace(table, rows=rows)})
    return _beside_the_paper("Set", ours, shown, "table_2", DATA)


def ablation_table(records: Sequence[Record], data: str, published: Published) -> Table:
    """Table 5: ours above the paper's, as ours are of other sizes; no rows without ours.

    Args:
        records: variants of the ablation are named "ict layers=2 embedding_size=64", protocols "1% ablation".
        data: of ours.
        published: with the paper's numbers in its `table_5`, whose rows are named like variants.

    Raises:
        ValueError: naming the record whose variant is not named so.
    """
    table = published.tables["table_5"]
    own = [
        r
        for r in records
        if r["protocol"].endswith(ABLATED)
        and r["protocol"] != f"frozen{ABLATED}"
        and (r["data"], r["metric"]) == (data, "recall_at_100")
    ]
    ran = {r["protocol"].removesuffix(ABLATED) for r in own}
    shares = sorted(ran | {column.key for column in table.columns}, key=lambda share: float(share.rstrip("%")))
    places = [Place(TASK, data, share + ABLATED, "recall_at_100") for share in shares]
    ours = {}
    for configuration, variant in sorted({(_configuration(r["variant"]), r["variant"]) for r in own}, key=_place):
        ours[configuration] = [mean_std(list(by_seed(own, variant, place).values())) for place in places]
    paper = {
        _configuration(row.label): [published_cell(row.scores.get(share), decimals=2) for share in shares]
        for row in table.rows
    }
    rows = [
        (str(layers), published.labels.get(name, name), str(dimension), *cells)
        for block in (ours, paper)
        for (layers, name, dimension), cells in block.items()
    ]
    columns = [Column("Layers", numeric=True), Column("Pre-training"), Column("Dimension", numeric=True)]
    columns += [Column(share, "R@100, trained on", numeric=True) for share in shares]
    numbers = range(3, len(columns))
    return Table(
        title=table.title,
        columns=tuple(columns),
        rows=tuple(rows) if own else (),
        caption="Percent, mean (standard deviation over seeds); the best of each column in bold, ours and the paper's. "
        "Paper: Chang et al. 2020, Table 5.",
        bold=frozenset(best(rows, range(len(ours)), numbers) | best(rows, range(len(ours), len(rows)), numbers)),
        headings={0: f"Ours, {DATA.get(data, data)}", len(ours): "Paper, Natural Questions"},
    )


def _beside_the_paper(
    kind: str, ours: Mapping[str, Mapping[str, float]], published: Published, name: str, labels: Mapping[str, str]
) -> Table:
    table, paper = published.tables[name], published.numbers(name)
    keys = [column.key for column in table.columns]
    rows = []
    for row in dict.fromkeys([*paper, *ours]) if ours else ():
        own = required(row, ours[row], keys) if row in ours else [None] * len(keys)
        theirs = [paper[row][key] for key in keys] if row in paper else [None] * len(keys)
        cells = [text for pair in zip(map(_count, own), map(_count, theirs), strict=True) for text in pair]
        rows.append((labels.get(row, row), *cells))
    heads = [Column(whose, column.name, numeric=True) for column in table.columns for whose in ("ours", "paper")]
    return Table(table.title, (Column(kind), *heads), tuple(rows), f"{table.note} Paper: {table.source}.")


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


def _configuration(variant: str) -> tuple[int, str, int]:
    found = re.fullmatch(r"(\w+) layers=(\d+) embedding_size=(\d+)", variant)
    if not found:
        raise ValueError(f"a variant of the ablation is named like 'ict layers=2 embedding_size=64': {variant!r}")
    return int(found[2]), found[1], int(found[3])


def _place(item: tuple[tuple[int, str, int], str]) -> tuple[int, int, str, int]:
    (layers, name, dimension), _ = item
    return layers, TASKS.index(name) if name in TASKS else len(TASKS), name, dimension

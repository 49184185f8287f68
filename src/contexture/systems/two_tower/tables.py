"""The paper's tables that are not of models by metrics: pairs, sets of questions and the ablation."""

import re
from collections.abc import Mapping, Sequence

from contexture.reporting.names import DATA
from contexture.reporting.records import Place, Record, by_seed
from contexture.reporting.tables import NOTHING, Column, Table, best, mean_std, required
from contexture.systems.two_tower.published import (
    ABLATED,
    ABLATION,
    ABLATION_SHARES,
    LABELS,
    PAIRS,
    REQA,
    TASK,
)

PAIR_COLUMNS = {
    "pairs": "Pairs",
    "tokens": "Tokens",
    "mean_query_tokens": "Tokens a query",
    "mean_document_tokens": "Tokens a document",
}
SET_COLUMNS = {"queries": "Questions", "candidates": "Candidates", "tuples": "Tuples"}
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
        {name: counts for name, counts in REQA.items() if name in ours} or {"squad": REQA["squad"]},
        DATA,
        "Candidates are the distinct (sentence, passage) pairs, tuples the questions with each gold pair. "
        "Paper: Chang et al. 2020, Table 2.",
    )


def ablation_table(records: Sequence[Record], data: str) -> Table:
    """Table 5: ours above the paper's, as ours are of other sizes; no rows without ours.

    Args:
        records: variants of the ablation are named "ict layers=2 embedding_size=64", protocols "1% ablation".
        data: of ours.

    Raises:
        ValueError: naming the record whose variant is not named so.
    """
    own = [
        r
        for r in records
        if r["protocol"].endswith(ABLATED)
        and r["protocol"] != f"frozen{ABLATED}"
        and (r["data"], r["metric"]) == (data, "recall_at_100")
    ]
    ran = {r["protocol"].removesuffix(ABLATED) for r in own}
    shares = sorted(ran | set(ABLATION_SHARES), key=lambda share: float(share.rstrip("%")))
    places = [Place(TASK, data, share + ABLATED, "recall_at_100") for share in shares]
    ours = {}
    for configuration, variant in sorted({(_configuration(r), r["variant"]) for r in own}, key=_place):
        ours[configuration] = [mean_std(list(by_seed(own, variant, place).values())) for place in places]
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
    numbers = range(3, len(columns))
    return Table(
        title="Table 5: layers, tasks and size of the embedding",
        columns=tuple(columns),
        rows=tuple(rows) if own else (),
        caption="Percent, mean (standard deviation over seeds); the best of each column in bold, ours and the paper's. "
        "Paper: Chang et al. 2020, Table 5.",
        bold=frozenset(best(rows, range(len(ours)), numbers) | best(rows, range(len(ours), len(rows)), numbers)),
        headings={0: f"Ours, {DATA.get(data, data)}", len(ours): "Paper, Natural Questions"},
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
    found = re.fullmatch(r"(\w+) layers=(\d+) embedding_size=(\d+)", record["variant"])
    if not found:
        raise ValueError(f"a variant of the ablation is named like 'ict layers=2 embedding_size=64': {record!r}")
    return int(found[2]), found[1], int(found[3])


def _place(item: tuple[tuple[int, str, int], str]) -> tuple[int, int, str, int]:
    (layers, name, dimension), _ = item
    return layers, TASKS.index(name) if name in TASKS else len(TASKS), name, dimension

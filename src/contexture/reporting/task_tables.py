"""Tables with a column per task: rows of the paper, each followed by our corresponding variant."""

from collections.abc import Sequence
from dataclasses import replace
from statistics import mean

from contexture.reporting.names import DATA, label_variant, protocol_name
from contexture.reporting.phrases import count_noun, join_names
from contexture.reporting.published import ScoreColumn, ScoreTable
from contexture.reporting.records import METRICS, Record, list_data, list_seeded, values_by_seed
from contexture.reporting.seed_scores import SeedScores, pair_by_seed
from contexture.reporting.tables import (
    INTERVAL,
    Column,
    Comparison,
    Table,
    best,
    columns,
    list_variants,
    measured_cells,
    published_cell,
)

#: Index of the first column of numbers.
FIRST_NUMBER = 2


def task_tables(records: Sequence[Record], published: ScoreTable) -> list[Table]:
    """Return a `task_table` for each data set with scores of ours, or one of the paper's rows only."""
    return [task_table(records, published, data) for data in measured_data(records, published) or [published.data]]


def measured_data(records: Sequence[Record], published: ScoreTable) -> list[str]:
    """List the data sets with scores of ours in a table's columns; if all columns name their data, the table's."""
    if all(column.data for column in published.columns):
        return [published.data]
    measurements = {(c.task, c.protocol, c.metric) for c in published.columns}
    return list_data(r for r in records if (r["task"], r["protocol"], r["metric"]) in measurements)


def task_table(records: Sequence[Record], published: ScoreTable, data: str) -> Table:
    """Return a table of the paper's rows, each followed by our variant's scores, then our other variants.

    Our scores are means with 95% intervals over seeds. The best of each column is bold, separately for the
    paper and for ours. A variant with several rows in the paper follows the first one.
    """
    ours = {variant: _our_row(records, variant, published, data) for variant in list_variants(records, published, data)}
    cells: list[tuple[str, ...]] = []
    above: dict[int, str] = {}
    paper: list[int] = []
    for row in published.rows:
        if row.heading:
            above[len(cells)] = row.heading
        paper.append(len(cells))
        numbers = (published_cell(row.scores.get(column.key), column) for column in published.columns)
        cells.append((row.label, "paper", *numbers))
        if row.variant in ours:
            cells.append(ours.pop(row.variant))
    if ours and paper:
        above[len(cells)] = "Ours, not in the paper"
    cells += ours.values()
    our_rows = [row for row in range(len(cells)) if row not in paper]
    positions = range(FIRST_NUMBER, FIRST_NUMBER + len(published.columns))
    lower = [
        position for position, c in zip(positions, published.columns, strict=True) if METRICS[c.metric].lower_is_better
    ]
    return Table(
        title=published.make_title(data),
        columns=(*columns("Model", "Source"), *(Column(c.name, c.group, True) for c in published.columns)),
        rows=tuple(cells),
        caption=_caption(published, data),
        bold=frozenset(best(cells, our_rows, positions, lower) | best(cells, paper, positions, lower)),
        headings=above,
        paper=frozenset(paper),
    )


def compare(
    records: Sequence[Record],
    published: ScoreTable,
    data: str,
    pairs: Sequence[tuple[str, str]],
    metric: str,
    protocol: str = "",
    baseline_protocol: str = "",
) -> list[Comparison]:
    """Return the differences in a metric of each (variant, baseline) in `pairs`, over their shared seeds.

    Pairs without a shared seed are left out. `protocol` selects the rows of a table with several protocols, and
    `baseline_protocol` those of the baselines, if it differs.
    """
    rows = tuple(row for row in published.rows if not protocol or row.protocol in (protocol, baseline_protocol))
    columns = [replace(c, protocol=protocol or c.protocol) for c in published.columns if c.metric == metric]
    split = columns[0].split
    titles = [protocol_name(name) for name in (protocol, baseline_protocol if protocol else "") if name]
    where = (DATA.get(data, data), " against ".join(titles), f"{split} split" if split != "test" else "")
    table = replace(published, rows=rows)
    gains = compare_means(records, table, data, columns, pairs, "", baseline_protocol=baseline_protocol)
    return [replace(gain, setting=", ".join(filter(None, where))) for gain in gains]


def compare_means(
    records: Sequence[Record],
    published: ScoreTable,
    data: str,
    columns: Sequence[ScoreColumn],
    pairs: Sequence[tuple[str, str]],
    setting: str,
    baseline_protocol: str = "",
) -> list[Comparison]:
    """Return the differences between means of variants and baselines over their shared columns, in points.

    Points are hundredths. All `columns` have one metric. Pairs (variant, baseline) without a shared column or seed are
    left out. Baselines are measured by `baseline_protocol`; empty: by the protocols of the columns.
    """
    comparisons = []
    for variant, baseline in pairs:
        protocols = {variant: "", baseline: baseline_protocol}
        shared = [
            column
            for column in columns
            if all(values_by_seed(records, name, column.score_key(data, p)) for name, p in protocols.items())
        ]
        above, below = (_means(records, name, shared, data, protocol) for name, protocol in protocols.items())
        if differences := pair_by_seed(above, below):
            paper = [_published_mean(published, name, shared) for name in (variant, baseline)]
            gain = None if paper[0] is None or paper[1] is None else paper[0] - paper[1]
            labels = [label_variant(name, published.labels) for name in (variant, baseline)]
            where = f"{setting}, mean of {len(shared)}"
            comparisons.append(Comparison(where, shared[0].metric, labels[0], labels[1], differences, gain))
    return comparisons


def compare_each_data(
    records: Sequence[Record],
    published: ScoreTable,
    columns: Sequence[ScoreColumn],
    pairs: Sequence[tuple[str, str]],
    setting: str,
) -> list[Comparison]:
    """Return the comparisons of `compare_means` on each data set with scores of ours."""
    all_data = measured_data(records, published)
    return [
        gain
        for data in all_data
        for where in [setting if len(all_data) == 1 else f"{setting}, {data}"]
        for gain in compare_means(records, published, data, columns, pairs, where)
    ]


def _means(
    records: Sequence[Record], variant: str, columns: Sequence[ScoreColumn], data: str, protocol: str
) -> SeedScores:
    """Return a variant's means over the columns in hundredths, for seeds with all columns.

    A `protocol` replaces those of the columns.
    """
    values_by_column = [values_by_seed(records, variant, column.score_key(data, protocol)) for column in columns]
    seeds = set.intersection(*map(set, values_by_column)) if values_by_column else set()
    by_seed = {
        seed: mean(
            100 / METRICS[c.metric].scale * values[seed] for c, values in zip(columns, values_by_column, strict=True)
        )
        for seed in seeds
    }
    return SeedScores(by_seed, any(name == variant for _, name in list_seeded(records)))


def _published_mean(published: ScoreTable, variant: str, columns: Sequence[ScoreColumn]) -> float | None:
    """Return a variant's published mean over the columns in hundredths; None if a score is missing."""
    row = next((row for row in published.rows if row.variant == variant), None)
    known = [row.scores[column.key].value for column in columns if column.key in row.scores] if row else []
    return 100 / METRICS[columns[0].metric].scale * mean(known) if known and len(known) == len(columns) else None


def _our_row(records: Sequence[Record], variant: str, published: ScoreTable, data: str) -> tuple[str, ...]:
    """Return the row of one of our variants: label, number of seeds, and scores as text."""
    seeds, cells = measured_cells(records, variant, published, data)
    return (label_variant(variant, published.labels), f"ours, {count_noun(seeds, 'seed')}", *cells)


def _caption(published: ScoreTable, data: str) -> str:
    """Return the caption of a task table: units, what is bold, and remarks."""
    plain = dict.fromkeys(column.name for column in published.columns if METRICS[column.metric].scale == 1)
    percent = [column for column in published.columns if column.name not in plain]
    unit = f"Percent{f' except {join_names(plain)}' if plain else ''}, {INTERVAL}" if percent else INTERVAL.capitalize()
    among = ", separately for ours and the paper" if published.rows else ""
    caption = [f"{unit}; best of each column in bold{among}."]
    if lower := dict.fromkeys(c.name for c in published.columns if METRICS[c.metric].lower_is_better):
        caption.append(f"Lower is better: {join_names(lower)}.")
    return " ".join([*caption, *published.make_remarks(data)])

"""Tables with a column for each task: the paper's rows, and ours below those that they correspond to."""

from collections.abc import Container, Sequence
from dataclasses import replace
from statistics import mean

from contexture.reporting.names import DATA
from contexture.reporting.phrases import join_names
from contexture.reporting.published import ScoreColumn, ScoreTable
from contexture.reporting.records import METRICS, Record, list_data, values_by_seed
from contexture.reporting.tables import (
    Column,
    Comparison,
    Table,
    best,
    columns,
    list_variants,
    measured_cells,
    pair_by_seed,
    published_cell,
)

#: The first column of numbers.
FIRST_NUMBER = 2


def task_tables(records: Sequence[Record], published: ScoreTable) -> list[Table]:
    """`task_table` for each data that the records of its columns have; without any, the paper's rows alone."""
    return [task_table(records, published, data) for data in measured_data(records, published) or [published.data]]


def measured_data(records: Sequence[Record], published: ScoreTable) -> list[str]:
    """The data of which we have numbers for the table; if all columns name their own data, the table's alone."""
    if all(column.data for column in published.columns):
        return [published.data]
    measurements = {(c.task, c.protocol, c.metric) for c in published.columns}
    return list_data(r for r in records if (r["task"], r["protocol"], r["metric"]) in measurements)


def task_table(records: Sequence[Record], published: ScoreTable, data: str) -> Table:
    """The paper's rows, each with ours (mean and sample std. dev. over seeds) below it, then our other variants.

    The best of each column stands out, among the paper's rows and among ours. A variant that corresponds to several
    rows of the paper stands below the first.
    """
    ours = {variant: _ours(records, variant, published, data) for variant in list_variants(records, published, data)}
    cells: list[tuple[str, ...]] = []
    above: dict[int, str] = {}
    paper: list[int] = []
    for row in published.rows:
        if row.heading:
            above[len(cells)] = row.heading
        paper.append(len(cells))
        numbers = (published_cell(row.scores.get(column.key), column.decimals) for column in published.columns)
        cells.append((row.label, "paper", *numbers))
        if row.variant in ours:
            cells.append(ours.pop(row.variant))
    if ours and paper:
        above[len(cells)] = "Ours, without a row in the paper"
    cells += ours.values()
    our_rows = [row for row in range(len(cells)) if row not in paper]
    positions = range(FIRST_NUMBER, FIRST_NUMBER + len(published.columns))
    lower = [
        position for position, c in zip(positions, published.columns, strict=True) if METRICS[c.metric].lower_is_better
    ]
    return Table(
        title=published.make_title(data),
        columns=(*columns("Model", "From"), *(Column(c.name, c.group, True) for c in published.columns)),
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
) -> list[Comparison]:
    """For each (variant, baseline) in `pairs` that share a seed: the differences over the shared seeds.

    `protocol` is one of those that make up the table, if it has headings.
    """
    rows = tuple(row for row in published.rows if protocol in ("", row.protocol))
    columns = [replace(c, protocol=protocol or c.protocol) for c in published.columns if c.metric == metric]
    split = columns[0].split
    setting = ", ".join(filter(None, (DATA.get(data, data), protocol, split if split != "test" else "")))
    gains = compare_means(records, replace(published, rows=rows), data, columns, pairs, "")
    return [replace(gain, setting=setting) for gain in gains]


def compare_means(
    records: Sequence[Record],
    published: ScoreTable,
    data: str,
    columns: Sequence[ScoreColumn],
    pairs: Sequence[tuple[str, str]],
    setting: str,
    unseeded: Container[str] = (),
) -> list[Comparison]:
    """How far variants are above their baselines in the mean over the columns that both have, in points (hundredths).

    All `columns` have one metric. Of `pairs` (variant, baseline), those that share neither a column nor a seed
    are left out. No seed changes the baselines `unseeded`: their one measurement stands for every seed.
    """
    comparisons = []
    for variant, baseline in pairs:
        shared = [c for c in columns if all(values_by_seed(records, v, c.score_key(data)) for v in (variant, baseline))]
        above, below = (_means(records, name, shared, data) for name in (variant, baseline))
        if differences := pair_by_seed(above, below, baseline in unseeded):
            paper = [_published_mean(published, name, shared) for name in (variant, baseline)]
            gain = None if paper[0] is None or paper[1] is None else paper[0] - paper[1]
            labels = [published.labels.get(name, name) for name in (variant, baseline)]
            where = f"{setting}, mean of {len(shared)}"
            comparisons.append(Comparison(where, shared[0].metric, labels[0], labels[1], differences, gain))
    return comparisons


def compare_each_data(
    records: Sequence[Record],
    published: ScoreTable,
    columns: Sequence[ScoreColumn],
    pairs: Sequence[tuple[str, str]],
    setting: str,
    unseeded: Container[str] = (),
) -> list[Comparison]:
    """`compare_means` of each data that we have numbers of, which is named if there are several."""
    all_data = measured_data(records, published)
    return [
        gain
        for data in all_data
        for where in [setting if len(all_data) == 1 else f"{setting}, {data}"]
        for gain in compare_means(records, published, data, columns, pairs, where, unseeded)
    ]


def _means(records: Sequence[Record], variant: str, columns: Sequence[ScoreColumn], data: str) -> dict[int, float]:
    """Seed → mean over the columns in hundredths, of the seeds that have them all."""
    values_by_column = [values_by_seed(records, variant, column.score_key(data)) for column in columns]
    seeds = set.intersection(*map(set, values_by_column)) if values_by_column else set()
    return {
        seed: mean(
            100 / METRICS[c.metric].scale * values[seed] for c, values in zip(columns, values_by_column, strict=True)
        )
        for seed in seeds
    }


def _published_mean(published: ScoreTable, variant: str, columns: Sequence[ScoreColumn]) -> float | None:
    row = next((row for row in published.rows if row.variant == variant), None)
    known = [row.scores[column.key].value for column in columns if column.key in row.scores] if row else []
    return 100 / METRICS[columns[0].metric].scale * mean(known) if known and len(known) == len(columns) else None


def _ours(records: Sequence[Record], variant: str, published: ScoreTable, data: str) -> tuple[str, ...]:
    seeds, cells = measured_cells(records, variant, published, data)
    return (published.labels.get(variant, variant), f"ours, {seeds} seed{'s' if seeds > 1 else ''}", *cells)


def _caption(published: ScoreTable, data: str) -> str:
    plain = dict.fromkeys(column.name for column in published.columns if METRICS[column.metric].scale == 1)
    percent = [column for column in published.columns if column.name not in plain]
    unit = f"Percent{f', but for {join_names(plain)}' if plain else ''}, mean" if percent else "Mean"
    among = ", among ours and the paper's" if published.rows else ""
    caption = [f"{unit} (standard deviation over seeds); the best of each column in bold{among}."]
    if lower := dict.fromkeys(c.name for c in published.columns if METRICS[c.metric].lower_is_better):
        caption.append(f"Lower is better: {join_names(lower)}.")
    return " ".join([*caption, *published.make_remarks(data)])

"""Metrics records → tables with the published numbers beside ours."""

from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby, pairwise
from math import sqrt
from statistics import mean, stdev
from typing import Any

from scipy import stats

from contexture.reporting.phrases import lower_first
from contexture.reporting.published import Score, ScoreRow, ScoreTable
from contexture.reporting.records import METRICS, Record, list_data, score_key, values_by_seed

NOTHING = "–"
#: Differences between seeds below this many points are rounding, not variance.
ROUNDING = 1e-6


@dataclass(frozen=True)
class Column:
    """A column's heading; neighbours of one group stand under a common one."""

    name: str
    group: str = ""
    numeric: bool = False


@dataclass(frozen=True)
class Table:
    """A table of text."""

    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]
    caption: str = ""
    bold: frozenset[tuple[int, int]] = frozenset()  # (row, column) of the cells to stand out
    headings: Mapping[int, str] = field(default_factory=dict)  # what stands above the row of this number
    paper: frozenset[int] = frozenset()  # rows that hold nothing of ours
    notes: Mapping[int, str] = field(default_factory=dict)  # what explains the first cell of the row of this number
    shades: Mapping[tuple[int, int], float] = field(default_factory=dict)  # (row, column) → how deep its colour: 0..1

    @property
    def groups(self) -> list[tuple[str, int]]:
        """Common headings and how many columns each spans."""
        return [(group, len(list(members))) for group, members in groupby(self.columns, lambda c: c.group)]


def columns(*names: str, numbers: Iterable[str] = (), group: str = "") -> tuple[Column, ...]:
    """Columns of text, then columns of numbers, which `group` stands above."""
    return (*map(Column, names), *(Column(name, group, numeric=True) for name in numbers))


@dataclass(frozen=True)
class Estimate:
    """Mean over seeds and half the width of its 95% interval; no interval with one seed."""

    mean: float
    interval: float | None

    def overlaps(self, other: "Estimate") -> bool:
        """Whether the intervals of both do; a number without one is a point."""
        return abs(self.mean - other.mean) <= (self.interval or 0.0) + (other.interval or 0.0)


def estimate(values: Sequence[float]) -> Estimate | None:
    """Mean and Student's t interval of one value a seed; None for no values."""
    if len(values) < 2:
        return Estimate(values[0], None) if values else None
    t = float(stats.t.ppf(0.975, len(values) - 1))
    return Estimate(mean(values), t * stdev(values) / sqrt(len(values)))


@dataclass(frozen=True)
class Comparison:
    """How far a variant is above its baseline, seed by seed, in points (percent) of one metric."""

    setting: str  # the data, and the protocol if a table has several
    metric: str
    variant: str  # label
    baseline: str  # label
    differences: tuple[float, ...]  # one a seed that both have
    published: float | None

    @property
    def test(self) -> tuple[float, float] | None:
        """t and p of Student's paired t-test, two-sided; None with one seed or seeds that do not differ.

        Paired, as both models of a seed see the fine-tuning data in one order; nor does it assume that the two
        vary alike, which they do not if a baseline fails to converge.
        """
        if len(self.differences) < 2 or max(self.differences) - min(self.differences) < ROUNDING:
            return None
        result = stats.ttest_1samp(self.differences, 0.0)
        return float(result.statistic), float(result.pvalue)

    @property
    def verdict(self) -> str:
        """The test in words."""
        if self.test is None:
            return "no test with one seed" if len(self.differences) == 1 else "no test: all seeds alike"
        t, p = self.test
        word = "significant" if p < 0.05 else "not significant"
        return f"t({len(self.differences) - 1}) = {t:.2f}, p = {p:.2g}: {word} at 95%"

    @property
    def sentence(self) -> str:
        """The gain in words, with the paper's."""
        paper = "" if self.published is None else f" The paper: {self.published:+.1f}."
        return (
            f"{self.variant}: {mean(self.differences):+.1f} points of {METRICS[self.metric].label} over "
            f"{lower_first(self.baseline)} ({self.verdict}).{paper}"
        )


def results_tables(
    records: Sequence[Record], published: ScoreTable, headings: Mapping[str, str] | None = None, full_command: str = ""
) -> list[Table]:
    """`results_table` for each data that we have numbers of; without any, the paper's rows alone."""
    first = published.columns[0]
    protocols = {*headings} if headings else {first.protocol, *(row.protocol for row in published.rows)}
    measured = list_data(r for r in records if r["task"] == first.task and r["protocol"] in protocols)
    return [results_table(records, published, data, headings, full_command) for data in measured or [published.data]]


def results_table(
    records: Sequence[Record],
    published: ScoreTable,
    data: str,
    headings: Mapping[str, str] | None = None,
    full_command: str = "",
) -> Table:
    """Ours (mean and sample std. dev. over seeds) beside the published numbers, in percent; the best stand out.

    The paper's rows come first, also those that we have not run; then further variants. `headings` has the protocols
    that make up the table, in order, and what stands above the rows of each; without them, further variants are those
    of the columns' protocol. `full_command` is the command of a longer run, if this one is short.
    """
    sources = ("ours", "paper") if any(row.scores for row in published.rows) else ("ours",)
    metrics = [METRICS[column.metric] for column in published.columns]
    heads = columns("Model", numbers=["Seeds"])
    for metric in metrics:
        heads += columns(numbers=sources, group=metric.label) if len(sources) > 1 else columns(numbers=[metric.label])
    per_metric = [metric.lower_is_better for metric in metrics for _ in sources]
    lower = {position for position, is_lower in enumerate(per_metric, start=2) if is_lower}
    cells: list[tuple[str, ...]] = []
    bold: set[tuple[int, int]] = set()
    above = {}
    for protocol, heading in (headings or {"": ""}).items():
        rows = _rows(records, published, data, protocol)
        if rows and heading:
            above[len(cells)] = heading
        block = range(len(cells), len(cells) + len(rows))
        cells += [_cells(records, row, published, data, len(sources)) for row in rows]
        bold |= best(cells, block, range(2, len(heads)), lower)
    split = published.columns[0].split
    where = "" if headings and split == "test" else f" on the {split} split"
    caption = [f"Percent{where}, mean (standard deviation over seeds); the best of each column in bold."]
    if any(score.significant for row in published.rows for score in row.scores.values()):
        caption.append("† marks a significant gain over its pairwise baseline.")
    caption += published.make_remarks(data)
    if records:
        caption += _not_run(cells, above, full_command)
    return Table(published.make_title(data), heads, tuple(cells), " ".join(caption), frozenset(bold), above)


def _not_run(cells: Sequence[Sequence[str]], headings: Mapping[int, str], full_command: str) -> list[str]:
    """Name the rows, or the headings of all rows, that hold nothing of ours, and what runs them."""
    empty = {row for row, (_, seeds, *_) in enumerate(cells) if seeds == NOTHING}
    blocks = {first: {*range(first, last)} for first, last in pairwise([*sorted(headings), len(cells)])}
    bare = [first for first, block in blocks.items() if block <= empty]
    rows = [cells[row][0] for row in sorted(empty) if not any(row in blocks[first] for first in bare)]
    names = list(dict.fromkeys([*(headings[first] for first in bare), *rows]))
    if not names:
        return []
    sentence = "Not run here: " + ("all rows" if len(empty) == len(cells) else "; ".join(names)) + "."
    return [sentence, f"{full_command} runs those that the configuration names."] if full_command else [sentence]


def best(
    cells: Sequence[Sequence[str]], rows: Collection[int], among: Iterable[int], lower: Container[int] = ()
) -> set[tuple[int, int]]:
    """The cells with the best number of each column `among`, as shown, within `rows`; none if only one has a number.

    The best is the highest, in the columns `lower` the lowest.
    """
    cells_in_bold = set()
    for column in among:
        values = {row: _number(cells[row][column]) for row in rows if cells[row][column] != NOTHING}
        if len(values) > 1:
            top = min(values.values()) if column in lower else max(values.values())
            cells_in_bold |= {(row, column) for row, value in values.items() if value == top}
    return cells_in_bold


def pair_by_seed(above: Mapping[int, float], below: Mapping[int, float], unseeded: bool = False) -> tuple[float, ...]:
    """The differences of the seeds that both have.

    If no seed changes what is `below` (`unseeded`), its one measurement stands for every seed.
    """
    if unseeded and len(below) == 1:
        below = dict.fromkeys(above, *below.values())
    return tuple(above[seed] - below[seed] for seed in sorted(above) if seed in below)


def comparison_table(comparisons: Sequence[Comparison]) -> Table:
    """One row a comparison."""
    hundredths = any(METRICS[c.metric].scale == 1 for c in comparisons)
    points = " Points of a correlation are hundredths." if hundredths else ""
    return Table(
        title="Gains, seed by seed",
        columns=(
            *columns("Model", "over", "Task", numbers=["Seeds"]),
            *columns(numbers=["ours", "paper"], group="Gain in points"),
            Column("Student's paired t-test"),
        ),
        rows=tuple(
            (
                c.variant,
                c.baseline,
                c.setting,
                str(len(c.differences)),
                f"{METRICS[c.metric].label} {mean_std(c.differences, signed=True)}",
                NOTHING if c.published is None else f"{c.published:+.1f}",
                c.verdict,
            )
            for c in comparisons
        ),
        caption="On the test data, unless another split is told: mean (standard deviation) of the differences between "
        f"models of one seed.{points}",
    )


def counts_table(title: str, counts: Mapping[str, object]) -> Table:
    """Counts, nested or not, one row each: {"dropped": {"redirect": 3}} → "dropped: redirect", 3."""
    return Table(title, columns("What", numbers=["Count"]), tuple(_flat(counts)))


def to_markdown(table: Table) -> str:
    """A GitHub-style pipe table without title and caption."""
    header = [f"{column.group} {column.name}".strip() for column in table.columns]
    lines = [header, ["---:" if column.numeric else "---" for column in table.columns]]
    for number, row in enumerate(table.rows):
        if number in table.headings:
            lines.append([f"**{_escaped(table.headings[number])}**", *[""] * (len(row) - 1)])
        cells = [f"**{_escaped(c)}**" if (number, i) in table.bold else _escaped(c) for i, c in enumerate(row)]
        if number in table.notes:
            cells[0] += f": {_escaped(table.notes[number])}"
        lines.append(cells)
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def mean_std(values: Sequence[float], signed: bool = False, decimals: int = 1) -> str:
    """ "53.0 (3.6)", with the sample standard deviation of several values; "–" for none."""
    if not values:
        return NOTHING
    spread = f" ({stdev(values):.{decimals}f})" if len(values) > 1 else ""
    return f"{mean(values):{'+' if signed else ''}.{decimals}f}{spread}"


def order_by_label(names: Collection[str], labels: Iterable[str]) -> list[str]:
    """Those that have labels in the order of the labels, then the others as they come."""
    return list(dict.fromkeys(name for name in (*labels, *names) if name in names))


def require_keys(name: str, row: Mapping[str, Any], keys: Iterable[str]) -> list[Any]:
    """The values of `keys` in what the report was told of `name`; ValueError naming those that are missing."""
    if missing := [key for key in keys if key not in row]:
        raise ValueError(f"what the report is told of {name} lacks {missing}: {dict(row)!r}")
    return [row[key] for key in keys]


def list_variants(records: Sequence[Record], table: ScoreTable, data: str, protocol: str = "") -> list[str]:
    """Our variants that have a number in the table: those with labels in their order, then others by name."""
    keys = {column.score_key(data, protocol) for column in table.columns}
    return order_by_label(sorted({r["variant"] for r in records if score_key(r) in keys}), table.labels)


def measured_cells(
    records: Sequence[Record], variant: str, table: ScoreTable, data: str, protocol: str = ""
) -> tuple[int, list[str]]:
    """How many seeds of a variant were measured, and its mean and deviation in each column of a table."""
    variant_records = [r for r in records if r["variant"] == variant]
    values = [values_by_seed(variant_records, variant, column.score_key(data, protocol)) for column in table.columns]
    cells = [
        mean_std([*of_seed.values()], decimals=METRICS[column.metric].decimals)
        for column, of_seed in zip(table.columns, values, strict=True)
    ]
    return max(map(len, values)), cells


def published_cell(score: Score | None, decimals: int) -> str:
    """A published number as it is shown."""
    if score is None:
        return NOTHING
    spread = "" if score.std is None else f" ({score.std:.{decimals}f})"
    return f"{score.value:.{decimals}f}{spread}{'†' if score.significant else ''}"


def _rows(records: Sequence[Record], published: ScoreTable, data: str, protocol: str) -> list[ScoreRow]:
    """The paper's rows, of a protocol if the table is made up of several, then our variants that it lacks."""
    rows = [row for row in published.rows if protocol in ("", row.protocol)]
    known = {row.variant for row in rows}
    further = [name for name in list_variants(records, published, data, protocol) if name not in known]
    return rows + [ScoreRow(published.labels.get(name, name), {}, name, protocol) for name in further]


def _cells(records: Sequence[Record], row: ScoreRow, published: ScoreTable, data: str, sources: int) -> tuple[str, ...]:
    seeds, ours = measured_cells(records, row.variant, published, data, row.protocol)
    theirs = (published_cell(row.scores.get(column.key), column.decimals) for column in published.columns)
    numbers = [cell for pair in zip(ours, theirs, strict=True) for cell in pair[:sources]]
    return (row.label, str(seeds or NOTHING), *numbers)


def _number(cell: str) -> float:
    return float(cell.split()[0].rstrip("†"))


def _flat(counts: Mapping[str, object], prefix: str = "") -> list[tuple[str, str]]:
    rows = []
    for name, value in counts.items():
        label = prefix + name.replace("_", " ")
        if isinstance(value, Mapping):
            rows += _flat(value, f"{label}: ")
        else:
            number = isinstance(value, int | float) and not isinstance(value, bool)
            rounded = round(value, 2) if isinstance(value, float) else value
            rows.append((label, f"{rounded:,}" if number else str(value)))
    return rows


def _escaped(cell: str) -> str:
    return cell.replace("\\", "\\\\").replace("|", "\\|").replace("*", "\\*").replace("\n", " ")

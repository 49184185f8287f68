"""Tables of our scores compared with published numbers."""

from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby, pairwise
from math import sqrt
from statistics import mean, stdev
from typing import Any

from scipy import stats

from contexture.reporting.names import label_variant
from contexture.reporting.phrases import lower_first
from contexture.reporting.published import PERCENT, Score, ScoreColumn, ScoreRow, ScoreTable
from contexture.reporting.records import METRICS, Record, list_data, score_key, values_by_seed

#: Cell without a value.
NOTHING = "–"
#: What a cell with a mean of ours shows.
INTERVAL = "mean ± half of its 95% interval over seeds"
#: Points: smaller differences between seeds are rounding errors.
ROUNDING = 1e-6


@dataclass(frozen=True)
class Column:
    """Heading of a column; neighbouring columns of one group share a heading above."""

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
    bold: frozenset[tuple[int, int]] = frozenset()  # (row, column)
    headings: Mapping[int, str] = field(default_factory=dict)  # row → heading above it
    paper: frozenset[int] = frozenset()  # rows of published numbers only
    notes: Mapping[int, str] = field(default_factory=dict)  # row → explanation of its first cell
    shades: Mapping[tuple[int, int], float] = field(default_factory=dict)  # (row, column) → depth of colour, 0..1

    @property
    def groups(self) -> list[tuple[str, int]]:
        """Headings of groups of neighbouring columns, each with its number of columns."""
        return [(group, len(list(members))) for group, members in groupby(self.columns, lambda c: c.group)]

    @property
    def has_values(self) -> bool:
        """Whether it has rows and, if it has numeric columns besides "Seeds", any number in them."""
        numeric = [i for i, column in enumerate(self.columns) if column.numeric and column.name != "Seeds"]
        return any(not numeric or any(row[i] != NOTHING for i in numeric) for row in self.rows)

    def select(self, rows: Sequence[int], columns: Sequence[int]) -> "Table":
        """Select rows and columns by index; headings are above the first selected row of their block."""
        headings = {}
        for first, last in pairwise([*sorted(self.headings), len(self.rows)]):
            if block := [position for position, row in enumerate(rows) if first <= row < last]:
                headings[block[0]] = self.headings[first]
        cells = {(row, column): (i, j) for i, row in enumerate(rows) for j, column in enumerate(columns)}
        return replace(
            self,
            columns=tuple(self.columns[column] for column in columns),
            rows=tuple(tuple(self.rows[row][column] for column in columns) for row in rows),
            bold=frozenset(cells[cell] for cell in self.bold if cell in cells),
            headings=headings,
            paper=frozenset(position for position, row in enumerate(rows) if row in self.paper),
            notes={position: self.notes[row] for position, row in enumerate(rows) if row in self.notes},
            shades={cells[cell]: shade for cell, shade in self.shades.items() if cell in cells},
        )


def columns(*names: str, numbers: Iterable[str] = (), group: str = "") -> tuple[Column, ...]:
    """Return columns of text, then columns of numbers under the heading `group`."""
    return (*map(Column, names), *(Column(name, group, numeric=True) for name in numbers))


@dataclass(frozen=True)
class Estimate:
    """Mean over seeds and half of its 95% interval; no interval with one seed."""

    mean: float
    interval: float | None

    def overlaps(self, other: "Estimate") -> bool:
        """Whether both intervals overlap; a mean without interval is a point."""
        return abs(self.mean - other.mean) <= (self.interval or 0.0) + (other.interval or 0.0)


def estimate(values: Sequence[float]) -> Estimate | None:
    """Return the mean and the half width of Student's 95% interval of one value per seed; None without values."""
    if len(values) < 2:
        return Estimate(values[0], None) if values else None
    t = float(stats.t.ppf(0.975, len(values) - 1))
    return Estimate(mean(values), t * stdev(values) / sqrt(len(values)))


@dataclass(frozen=True)
class Comparison:
    """Difference between a variant and its baseline for each seed, in points of one metric."""

    setting: str  # data, and the protocol if a table has several
    metric: str
    variant: str  # label
    baseline: str  # label
    differences: tuple[float, ...]  # one per shared seed
    published: float | None

    @property
    def test(self) -> tuple[float, float] | None:
        """t and p of Student's paired t-test, two-sided; None with one seed or equal differences.

        The test is paired because both models of a seed see the fine-tuning data in the same order. It does not assume
        equal variances, which fail if a baseline does not converge.
        """
        if len(self.differences) < 2 or max(self.differences) - min(self.differences) < ROUNDING:
            return None
        result = stats.ttest_1samp(self.differences, 0.0)
        return float(result.statistic), float(result.pvalue)

    @property
    def verdict(self) -> str:
        """Result of the paired t-test in words."""
        if self.test is None:
            return "1 seed: preliminary" if len(self.differences) == 1 else "no test: same difference for all seeds"
        t, p = self.test
        word = "significant" if p < 0.05 else "not significant"
        return f"t({len(self.differences) - 1}) = {t:.2f}, p = {p:.2g}: {word} at 95%"

    def describe(self, where: str = "") -> str:
        """Return a sentence on the difference, its test and the paper's difference; `where` says what it is on."""
        points = round(mean(self.differences), 1)
        paper = "" if self.published is None else f" Paper: {self.published:+z.1f} points."
        return (
            f"{self.variant} scores {abs(points):.1f} {METRICS[self.metric].label} points "
            f"{'less' if points < 0 else 'more'} than {lower_first(self.baseline)} "
            f"({where}{'; ' * bool(where)}{self.verdict}).{paper}"
        )


def results_tables(
    records: Sequence[Record], published: ScoreTable, headings: Mapping[str, str] | None = None, full_command: str = ""
) -> list[Table]:
    """Return a `results_table` for each data set with scores of ours, or one of the paper's rows only."""
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
    """Return a table of our scores (mean and 95% interval over seeds) and the published ones, in percent.

    The paper's rows come first, including those that we did not run, then our other variants. `headings` maps the
    protocols of the table, in order, to the heading of their rows; without it, all rows use the columns' protocol.
    `full_command` is the command of the full run, if this run is the demo.
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
        made = (
            _row_cells(records, row, published, data, len(sources))
            for row in _list_rows(records, published, data, protocol)
        )
        rows = [row for row in made if any(cell != NOTHING for cell in row[1:])]
        if rows and heading:
            above[len(cells)] = heading
        block = range(len(cells), len(cells) + len(rows))
        cells += rows
        bold |= best(cells, block, range(2, len(heads)), lower)
    split = published.columns[0].split
    where = "" if headings and split == "test" else f" on the {split} split"
    caption = [f"Percent{where}, {INTERVAL}; best of each column in bold."]
    if any(score.significant for row in published.rows for score in row.scores.values()):
        caption.append("†: significant gain over the pairwise baseline.")
    caption += published.make_remarks(data)
    if records:
        caption += _not_run(cells, above, full_command)
    return Table(published.make_title(data), heads, tuple(cells), " ".join(caption), frozenset(bold), above)


def _not_run(cells: Sequence[Sequence[str]], headings: Mapping[int, str], full_command: str) -> list[str]:
    """Return sentences on the rows, or blocks of rows, without scores of ours and the command that runs them."""
    empty = {row for row, (_, seeds, *_) in enumerate(cells) if seeds == NOTHING}
    blocks = {first: {*range(first, last)} for first, last in pairwise([*sorted(headings), len(cells)])}
    bare = [first for first, block in blocks.items() if block <= empty]
    rows = [cells[row][0] for row in sorted(empty) if not any(row in blocks[first] for first in bare)]
    names = list(dict.fromkeys([*(headings[first] for first in bare), *rows]))
    if not names:
        return []
    sentence = "Not run: " + ("all rows" if len(empty) == len(cells) else "; ".join(names)) + "."
    return [sentence, f"To run those in the configuration: {full_command}."] if full_command else [sentence]


def best(
    cells: Sequence[Sequence[str]], rows: Collection[int], among: Iterable[int], lower: Container[int] = ()
) -> set[tuple[int, int]]:
    """Return the positions (row, column) of the best number of each column in `among`, within `rows`.

    The best is the highest number, in the columns `lower` the lowest. Columns with fewer than two numbers have none.
    """
    cells_in_bold = set()
    for column in among:
        values = {row: _parse_number(cells[row][column]) for row in rows if cells[row][column] != NOTHING}
        if len(values) > 1:
            top = min(values.values()) if column in lower else max(values.values())
            cells_in_bold |= {(row, column) for row, value in values.items() if value == top}
    return cells_in_bold


def comparison_table(comparisons: Sequence[Comparison]) -> Table:
    """Return a table of gains over baselines with their t-tests, one row per comparison."""
    hundredths = any(METRICS[c.metric].scale == 1 for c in comparisons)
    points = " Points of correlations are hundredths." if hundredths else ""
    return Table(
        title="Gains over baselines",
        columns=(
            *columns("Model", "Baseline", "Data", numbers=["Seeds"]),
            *columns(numbers=["ours", "paper"], group="Gain in points"),
            Column("Test"),
        ),
        rows=tuple(
            (
                c.variant,
                c.baseline,
                c.setting,
                str(len(c.differences)),
                f"{METRICS[c.metric].label} {format_mean(c.differences, signed=True)}",
                NOTHING if c.published is None else f"{c.published:+z.1f}",
                c.verdict,
            )
            for c in comparisons
        ),
        caption="Scores on the test split unless named otherwise. Differences between models of the same seed, "
        f"{INTERVAL}.{points} Test: Student's paired t-test over the seeds.",
    )


def counts_table(title: str, counts: Mapping[str, object]) -> Table:
    """Return a table with one row per count; {"dropped": {"redirect": 3}} becomes "dropped: redirect", 3."""
    return Table(title, columns("Item", numbers=["Count"]), tuple(_flatten_counts(counts)))


def to_markdown(table: Table) -> str:
    """Return a GitHub-style pipe table without title and caption."""
    header = [f"{column.group} {column.name}".strip() for column in table.columns]
    lines = [header, ["---:" if column.numeric else "---" for column in table.columns]]
    for number, row in enumerate(table.rows):
        if number in table.headings:
            lines.append([f"**{_escape(table.headings[number])}**", *[""] * (len(row) - 1)])
        cells = [f"**{_escape(c)}**" if (number, i) in table.bold else _escape(c) for i, c in enumerate(row)]
        if number in table.notes:
            cells[0] += f": {_escape(table.notes[number])}"
        lines.append(cells)
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def format_estimate(score: Estimate | None, decimals: int = 1, signed: bool = False) -> str:
    """Format a mean and half of its 95% interval: "53.0 ±8.9", "53.0" without interval, "–" for None."""
    if score is None:
        return NOTHING
    interval = "" if score.interval is None else f" ±{score.interval:.{decimals}f}"
    return f"{score.mean:{'+' if signed else ''}z.{decimals}f}{interval}"


def format_mean(values: Sequence[float], decimals: int = 1, signed: bool = False) -> str:
    """Format the mean of one value per seed and half of its 95% interval, as `format_estimate`."""
    return format_estimate(estimate(values), decimals, signed)


def order_by_label(names: Collection[str], labels: Iterable[str]) -> list[str]:
    """Sort names with labels by the order of labels; other names follow in their order."""
    return list(dict.fromkeys(name for name in (*labels, *names) if name in names))


def require_keys(name: str, row: Mapping[str, Any], keys: Iterable[str]) -> list[Any]:
    """Return the values of `keys` in a row of report data; ValueError for missing keys."""
    if missing := [key for key in keys if key not in row]:
        raise ValueError(f"report data of {name}: missing keys {missing} in {dict(row)!r}")
    return [row[key] for key in keys]


def list_variants(records: Sequence[Record], table: ScoreTable, data: str, protocol: str = "") -> list[str]:
    """List our variants with scores in a table: by the order of labels, then by name."""
    keys = {column.score_key(data, protocol) for column in table.columns}
    return order_by_label(sorted({r["variant"] for r in records if score_key(r) in keys}), table.labels)


def measured_cells(
    records: Sequence[Record], variant: str, table: ScoreTable, data: str, protocol: str = ""
) -> tuple[int, list[str]]:
    """Return the number of seeds of a variant, and its mean and interval in each column as text."""
    variant_records = [r for r in records if r["variant"] == variant]
    values = [values_by_seed(variant_records, variant, column.score_key(data, protocol)) for column in table.columns]
    cells = [
        format_mean([*of_seed.values()], METRICS[column.metric].decimals)
        for column, of_seed in zip(table.columns, values, strict=True)
    ]
    return max(map(len, values)), cells


def published_cell(score: Score | None, column: ScoreColumn) -> str:
    """Format a published number: percentages with one decimal, others with those of the paper."""
    if score is None:
        return NOTHING
    percent = METRICS[column.metric].scale == 100 if column.metric else column.unit == PERCENT
    decimals = 1 if percent else column.decimals
    spread = "" if score.std is None else f" ({score.std:.{decimals}f})"
    return f"{score.value:z.{decimals}f}{spread}{'†' if score.significant else ''}"


def _list_rows(records: Sequence[Record], published: ScoreTable, data: str, protocol: str) -> list[ScoreRow]:
    """Return the paper's rows, of one protocol if given, then rows for our variants that are not in the paper."""
    rows = [row for row in published.rows if protocol in ("", row.protocol)]
    known = {row.variant for row in rows}
    further = [name for name in list_variants(records, published, data, protocol) if name not in known]
    return rows + [ScoreRow(label_variant(name, published.labels), {}, name, protocol) for name in further]


def _row_cells(
    records: Sequence[Record], row: ScoreRow, published: ScoreTable, data: str, sources: int
) -> tuple[str, ...]:
    """Return a row's cells: label, seeds, and per column our score and, if `sources` is 2, the paper's."""
    seeds, ours = measured_cells(records, row.variant, published, data, row.protocol)
    theirs = (published_cell(row.scores.get(column.key), column) for column in published.columns)
    numbers = [cell for pair in zip(ours, theirs, strict=True) for cell in pair[:sources]]
    return (row.label, str(seeds or NOTHING), *numbers)


def _parse_number(cell: str) -> float:
    """Return the number at the start of a cell, such as "53.0 ±3.6", "53.0 (3.6)" or "53.0†"."""
    return float(cell.split()[0].rstrip("†"))


def _flatten_counts(counts: Mapping[str, object], prefix: str = "") -> list[tuple[str, str]]:
    """Flatten nested counts into rows (label, number): ("dropped: redirect", "3")."""
    rows = []
    for name, value in counts.items():
        label = prefix + name.replace("_", " ")
        if isinstance(value, Mapping):
            rows += _flatten_counts(value, f"{label}: ")
        else:
            rows.append((label, format_number(value)))
    return rows


def format_number(value: object) -> str:
    """Return a count with thousands separators, or another number with two decimals; other values as text."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:z,.2f}"


def _escape(cell: str) -> str:
    """Escape characters with a meaning in Markdown tables."""
    return cell.replace("\\", "\\\\").replace("|", "\\|").replace("*", "\\*").replace("\n", " ")

"""Metrics records → tables with the published numbers beside ours."""

from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby, pairwise
from statistics import mean, stdev
from typing import Any

from scipy import stats

from contexture.reporting.phrases import within_sentence
from contexture.reporting.published import Score, ScoreRow, ScoreTable
from contexture.reporting.records import METRICS, Record, by_seed, data_of, place_of

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
        return [(group, len(list(columns))) for group, columns in groupby(self.columns, lambda c: c.group)]


@dataclass(frozen=True)
class Comparison:
    """How far a variant is above its baseline, seed by seed, in points (percent) of one metric."""

    setting: str  # the data, and the protocol where a table has several
    metric: str
    variant: str  # label
    baseline: str  # label
    differences: tuple[float, ...]  # one a seed that both have
    published: float | None

    @property
    def test(self) -> tuple[float, float] | None:
        """t and p of Student's paired t-test, two-sided; None with one seed or seeds that do not differ.

        Paired, as both models of a seed see the fine-tuning data in one order; nor does it assume that the two
        vary alike, which they do not where a baseline fails to converge.
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
            f"{within_sentence(self.baseline)} ({self.verdict}).{paper}"
        )


def results_tables(
    records: Sequence[Record], published: ScoreTable, headings: Mapping[str, str] | None = None, whole: str = ""
) -> list[Table]:
    """`results_table` for each data that we have numbers of; without any, the paper's rows alone."""
    task, own = published.columns[0].task, published.columns[0].protocol
    protocols = {*headings} if headings else {own, *(row.protocol for row in published.rows)}
    ran = data_of(r for r in records if r["task"] == task and r["protocol"] in protocols)
    return [results_table(records, published, data, headings, whole) for data in ran or [published.data]]


def results_table(
    records: Sequence[Record],
    published: ScoreTable,
    data: str,
    headings: Mapping[str, str] | None = None,
    whole: str = "",
) -> Table:
    """Ours (mean and sample std. dev. over seeds) beside the published numbers, in percent; the best stand out.

    The paper's rows come first, also those that we have not run; then further variants.

    Args:
        records: those of the system.
        published: the paper's table, with a column for each metric of one task.
        data: of ours.
        headings: the protocols that make up the table, in order, and what stands above the rows of each; without
            them further variants are those of the columns' protocol.
        whole: what runs more than this run did, where it was a short one.
    """
    whose = ("ours", "paper") if any(row.scores for row in published.rows) else ("ours",)
    metrics = [METRICS[column.metric] for column in published.columns]
    lower = [metric.lower_is_better for metric in metrics for _ in whose]
    cells: list[tuple[str, ...]] = []
    bold: set[tuple[int, int]] = set()
    above = {}
    for protocol, heading in (headings or {"": ""}).items():
        rows = _rows(records, published, data, protocol)
        if rows and heading:
            above[len(cells)] = heading
        block = range(len(cells), len(cells) + len(rows))
        cells += [_cells(records, row, published, data, whose) for row in rows]
        bold |= best(cells, block, range(2, 2 + len(lower)), {2 + place for place, less in enumerate(lower) if less})
    columns = [Column("Model"), Column("Seeds", numeric=True)]
    for label in (metric.label for metric in metrics):
        columns += [Column(w, label, True) for w in whose] if len(whose) > 1 else [Column(label, numeric=True)]
    split = published.columns[0].split
    where = "" if headings and split == "test" else f" on the {split} split"
    caption = [f"Percent{where}, mean (standard deviation over seeds); the best of each column in bold."]
    if any(score.significant for row in published.rows for score in row.scores.values()):
        caption.append("† marks a significant gain over its pairwise baseline.")
    caption += published.remarks_for(data)
    if records:
        caption += _not_run(cells, above, whole)
    title = published.title_for(data)
    return Table(title, tuple(columns), tuple(cells), " ".join(caption), frozenset(bold), above)


def _not_run(cells: Sequence[Sequence[str]], headings: Mapping[int, str], whole: str) -> list[str]:
    """Which rows, or all rows under which headings, hold nothing of ours, and what runs them."""
    empty = {row for row, (_, seeds, *_) in enumerate(cells) if seeds == NOTHING}
    starts = sorted(headings)
    blocks = {first: {*range(first, last)} for first, last in pairwise([*starts, len(cells)])}
    bare = [first for first in starts if blocks[first] <= empty]
    rows = [cells[row][0] for row in sorted(empty) if not any(row in blocks[first] for first in bare)]
    names = list(dict.fromkeys([*(headings[first] for first in bare), *rows]))
    if not names:
        return []
    said = "Not run here: " + ("all rows" if len(empty) == len(cells) else "; ".join(names)) + "."
    return [said, f"{whole} runs those that the configuration names."] if whole else [said]


def best(
    cells: Sequence[Sequence[str]], rows: Collection[int], columns: Iterable[int], lower: Container[int] = ()
) -> set[tuple[int, int]]:
    """The places of the best number of each column, as shown, among `rows`; none where only one has a number.

    The best is the highest, in the columns `lower` the lowest.
    """
    found = set()
    for column in columns:
        values = {row: _number(cells[row][column]) for row in rows if cells[row][column] != NOTHING}
        if len(values) > 1:
            top = min(values.values()) if column in lower else max(values.values())
            found |= {(row, column) for row, value in values.items() if value == top}
    return found


def paired(above: Mapping[int, float], below: Mapping[int, float], unseeded: bool = False) -> tuple[float, ...]:
    """The differences of the seeds that both have.

    Where no seed changes what is `below` (`unseeded`), its one measurement stands for every seed.
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
            Column("Model"),
            Column("over"),
            Column("Task"),
            Column("Seeds", numeric=True),
            Column("ours", "Gain in points", numeric=True),
            Column("paper", "Gain in points", numeric=True),
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
    return Table(title, (Column("What"), Column("Count", numeric=True)), tuple(_flat(counts)))


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


def by_label(names: Collection[str], labels: Iterable[str]) -> list[str]:
    """Those that have labels in the order of the labels, then the others as they come."""
    return list(dict.fromkeys(name for name in (*labels, *names) if name in names))


def required(name: str, row: Mapping[str, Any], keys: Iterable[str]) -> list[Any]:
    """The values of `keys` in what the report was told of `name`; ValueError naming those that are missing."""
    if missing := [key for key in keys if key not in row]:
        raise ValueError(f"what the report is told of {name} lacks {missing}: {dict(row)!r}")
    return [row[key] for key in keys]


def variants_of(records: Sequence[Record], table: ScoreTable, data: str, protocol: str = "") -> list[str]:
    """Our variants that have a number in the table: those with labels in their order, then others by name."""
    places = {column.place(data, protocol) for column in table.columns}
    ran = {r["variant"] for r in records if place_of(r) in places}
    return by_label(sorted(ran), table.labels)


def published_cell(score: Score | None, decimals: int) -> str:
    """A published number as it is shown."""
    if score is None:
        return NOTHING
    spread = "" if score.std is None else f" ({score.std:.{decimals}f})"
    return f"{score.value:.{decimals}f}{spread}{'†' if score.significant else ''}"


def _rows(records: Sequence[Record], published: ScoreTable, data: str, protocol: str) -> list[ScoreRow]:
    """The paper's rows, of a protocol where the table is made up of several, then our variants that it lacks."""
    rows = [row for row in published.rows if protocol in ("", row.protocol)]
    known = {row.variant for row in rows}
    others = [name for name in variants_of(records, published, data, protocol) if name not in known]
    return rows + [ScoreRow(published.labels.get(name, name), {}, name, protocol) for name in others]


def _cells(
    records: Sequence[Record], row: ScoreRow, published: ScoreTable, data: str, whose: Sequence[str]
) -> tuple[str, ...]:
    ours = [by_seed(records, row.variant, column.place(data, row.protocol)) for column in published.columns]
    numbers = []
    for column, values in zip(published.columns, ours, strict=True):
        theirs = published_cell(row.scores.get(column.key), column.decimals)
        numbers += [mean_std(list(values.values()), decimals=METRICS[column.metric].decimals), theirs][: len(whose)]
    return (row.label, str(max(map(len, ours)) or NOTHING), *numbers)


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

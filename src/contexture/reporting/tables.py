"""Metrics records → tables with the published numbers beside ours."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from statistics import mean, stdev

from scipy import stats

from contexture.reporting.published import PublishedTable, Row, Score
from contexture.reporting.records import METRICS, Record

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

    @property
    def groups(self) -> list[tuple[str, int]]:
        """Common headings and how many columns each spans."""
        return [(group, len(list(columns))) for group, columns in groupby(self.columns, lambda c: c.group)]


@dataclass(frozen=True)
class Comparison:
    """How far a variant is above its baseline, seed by seed, in points (percent) of one metric."""

    task: str
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


def results_table(records: Sequence[Record], published: PublishedTable, split: str = "test") -> Table:
    """Ours (mean and sample std. dev. over seeds) beside the published numbers, in percent.

    The paper's rows come first, also those that we have not run; then further variants of the table's task.
    """
    known = {row.variant for row in published.rows}
    others = {r["variant"] for r in records if r["task"] == published.task and r["split"] == split} - known
    extra = [Row(variant, published.task, variant, {}) for variant in sorted(others)]
    rows = []
    for row in (*published.rows, *extra):
        ours = {metric: _by_seed(records, row.task, row.variant, metric, split) for metric in METRICS}
        seeds = max(len(values) for values in ours.values())
        cells = [(_ours(ours[metric]), _theirs(row.scores.get(metric))) for metric in METRICS]
        rows.append((row.label, str(seeds or NOTHING), *(text for pair in cells for text in pair)))
    columns = [Column(whose, label, numeric=True) for label in METRICS.values() for whose in ("ours", "paper")]
    stars = any(score.significant for row in published.rows for score in row.scores.values())
    return Table(
        title=published.title,
        columns=(Column("Model"), Column("Seeds", numeric=True), *columns),
        rows=tuple(rows),
        caption=f"Percent on the {split} split, mean (standard deviation over seeds). Paper: {published.source}"
        + ("; † marks a significant gain over its pairwise baseline." if stars else ".")
        + (f" {published.remark}" if published.remark else ""),
    )


def compare(
    records: Sequence[Record],
    published: PublishedTable,
    pairs: Sequence[tuple[str, str]],
    metric: str = "map",
    split: str = "test",
) -> list[Comparison]:
    """For each (variant, baseline) in `pairs` that share a seed: the differences over the shared seeds."""
    rows = {row.variant: row for row in published.rows}
    found = []
    for row, base in ((rows[variant], rows[baseline]) for variant, baseline in pairs):
        above = _by_seed(records, row.task, row.variant, metric, split)
        below = _by_seed(records, base.task, base.variant, metric, split)
        differences = tuple(above[seed] - below[seed] for seed in sorted(above) if seed in below)
        paper = row.scores[metric].mean - base.scores[metric].mean
        if differences:
            found.append(Comparison(published.task, metric, row.label, base.label, differences, paper))
    return found


def comparison_table(comparisons: Sequence[Comparison], split: str = "test") -> Table:
    """One row a comparison."""
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
                c.task,
                str(len(c.differences)),
                f"{METRICS[c.metric]} {_mean_std(c.differences, signed=True)}",
                NOTHING if c.published is None else f"{c.published:+.1f}",
                c.verdict,
            )
            for c in comparisons
        ),
        caption=f"On the {split} split, mean (standard deviation) of the differences between models of one seed.",
    )


def counts_table(title: str, counts: Mapping[str, object]) -> Table:
    """Counts, nested or not, one row each: {"dropped": {"redirect": 3}} → "dropped: redirect", 3."""
    return Table(title, (Column("What"), Column("Count", numeric=True)), tuple(_flat(counts)))


def to_markdown(table: Table) -> str:
    """A GitHub-style pipe table without title and caption."""
    header = [f"{column.group} {column.name}".strip() for column in table.columns]
    lines = [header, ["---:" if column.numeric else "---" for column in table.columns], *table.rows]
    return "\n".join("| " + " | ".join(_escaped(cell) for cell in line) + " |" for line in lines)


def _by_seed(records: Sequence[Record], task: str, variant: str, metric: str, split: str) -> dict[int, float]:
    """Seed → percent."""
    wanted = (task, variant, metric, split)
    return {
        r["seed"]: 100 * r["value"] for r in records if (r["task"], r["variant"], r["metric"], r["split"]) == wanted
    }


def _ours(by_seed: Mapping[int, float]) -> str:
    return _mean_std(list(by_seed.values())) if by_seed else NOTHING


def _theirs(score: Score | None) -> str:
    if score is None:
        return NOTHING
    spread = "" if score.std is None else f" ({score.std:.1f})"
    return f"{score.mean:.1f}{spread}{'†' if score.significant else ''}"


def _mean_std(values: Sequence[float], signed: bool = False) -> str:
    spread = f" ({stdev(values):.1f})" if len(values) > 1 else ""
    return f"{mean(values):{'+' if signed else ''}.1f}{spread}"


def _flat(counts: Mapping[str, object], prefix: str = "") -> list[tuple[str, str]]:
    rows = []
    for name, value in counts.items():
        label = prefix + name.replace("_", " ")
        if isinstance(value, Mapping):
            rows += _flat(value, f"{label}: ")
        else:
            number = isinstance(value, int | float) and not isinstance(value, bool)
            rows.append((label, f"{value:,}" if number else str(value)))
    return rows


def _escaped(cell: str) -> str:
    return cell.replace("\\", "\\\\").replace("|", "\\|").replace("*", "\\*").replace("\n", " ")

"""The report of a system, as Markdown and as one HTML page that needs no other file."""

from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import mean

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

from contexture.reporting.curves import History, learning_curves, to_png
from contexture.reporting.published import COMPARISONS, TABLES
from contexture.reporting.records import METRICS, check_records
from contexture.reporting.tables import (
    Comparison,
    compare,
    comparison_table,
    counts_table,
    results_table,
    to_markdown,
)


@dataclass(frozen=True)
class ReportContext:
    """What the report says beside the numbers. All of it is shown as plain text."""

    system: str  # whose records are shown, and which paper's tables
    title: str
    note: str  # in plain words: how far ours and the paper's numbers can be compared
    run: Mapping[str, str] = field(default_factory=dict)  # what was run: model size, seeds, text, minutes …
    counts: Mapping[str, Mapping[str, object]] = field(default_factory=dict)  # {"Corpus": {"pages_in": 300}}
    files: Mapping[str, str] = field(default_factory=dict)  # path → what lies there


@dataclass(frozen=True)
class Report:
    """The files of a report. The Markdown names the figures, which must lie beside it."""

    markdown: str
    html: str
    figures: Mapping[str, bytes]  # file name → PNG


def render_report(records: object, histories: Sequence[History], context: ReportContext) -> Report:
    """Draw the tables and learning curves of one system.

    Args:
        records: the content of `metrics.json`; records of other systems are left out.
        histories: training logs, if any.
        context: everything else that the page says.

    Raises:
        ValueError: for records that `check_records` refuses, a system without published tables, or a log
            without steps.
    """
    if context.system not in TABLES:
        raise ValueError(f"no published tables for system {context.system!r}, only for {sorted(TABLES)}")
    own = [record for record in check_records(records) if record["system"] == context.system]
    published = TABLES[context.system]
    comparisons = [compare(own, table, COMPARISONS[context.system]) for table in published]
    tables = [results_table(own, table) for table in published]
    if any(comparisons):
        tables.append(comparison_table([gain for gains in comparisons for gain in gains]))
    figures = {f"{name}.png": to_png(figure) for name, figure in learning_curves(histories).items()}
    content = {
        "context": context,
        "findings": [_sentence(gain) for gain in comparisons[0]],
        "tables": tables,
        "counts": [counts_table(title, counts) for title, counts in context.counts.items()],
        "figures": {name: b64encode(png).decode() for name, png in figures.items()},
    }
    return Report(render("report.md", content), render("report.html", content), figures)


def _sentence(comparison: Comparison) -> str:
    gain = mean(comparison.differences)
    paper = "" if comparison.published is None else f" The paper: {comparison.published:+.1f}."
    return (
        f"{comparison.variant}: {gain:+.1f} points of {METRICS[comparison.metric]} over "
        f"{comparison.baseline[0].lower()}{comparison.baseline[1:]} ({comparison.verdict}).{paper}"
    )


def render(template: str, content: Mapping[str, object]) -> str:
    """A template of this room, filled in; what goes into HTML is escaped."""
    environment = Environment(
        loader=PackageLoader("contexture.reporting"),
        autoescape=select_autoescape(["html"]),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["markdown"] = to_markdown
    return environment.get_template(template).render(**content)

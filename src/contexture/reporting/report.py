"""The report of a system, as Markdown and as one HTML page that needs no other file."""

from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

from contexture.reporting.curves import History, learning_curves, to_png
from contexture.reporting.page import Page, ReportContext, Retrieval, SentenceFacts
from contexture.reporting.records import Record, check_records
from contexture.reporting.tables import counts_table, to_markdown
from contexture.systems.mspp import page as mspp
from contexture.systems.quick_thoughts import page as quick_thoughts
from contexture.systems.two_tower import page as two_tower

__all__ = ["Report", "ReportContext", "Retrieval", "SentenceFacts", "render", "render_report"]

PAGES: dict[str, Callable[[Sequence[Record], ReportContext], Page]] = {
    "mspp": mspp.page,
    "quick_thoughts": quick_thoughts.page,
    "two_tower": two_tower.page,
}


@dataclass(frozen=True)
class Report:
    """The files of a report. The Markdown names the figures, which must lie beside it."""

    markdown: str
    html: str
    figures: Mapping[str, bytes]  # file name → PNG


def render_report(records: object, histories: Sequence[History], context: ReportContext) -> Report:
    """Draw the tables, pictures and learning curves of one system.

    Args:
        records: the content of `metrics.json`; records of other systems are left out.
        histories: training logs, if any.
        context: everything else that the page says.

    Raises:
        ValueError: for records that `check_records` or the system's page refuses, a system without a page, counts
            or speeds without the keys that `Retrieval` or `SentenceFacts` name, or a log without steps.
    """
    if context.system not in PAGES:
        raise ValueError(f"no published tables for system {context.system!r}, only for {sorted(PAGES)}")
    own = [record for record in check_records(records) if record["system"] == context.system]
    page = PAGES[context.system](own, context)
    curves = learning_curves(histories, page.variants)
    figures = {f"{name}.png": to_png(figure) for name, figure in {**page.figures, **curves}.items()}
    content = {
        "context": context,
        "page": page,
        "curves": [f"{name}.png" for name in curves],
        "counts": [counts_table(title, counts) for title, counts in context.counts.items()],
        "figures": {name: b64encode(png).decode() for name, png in figures.items()},
    }
    return Report(render("report.md", content), render("report.html", content), figures)


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

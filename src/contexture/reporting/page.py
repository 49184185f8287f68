"""Parts of a report page."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from matplotlib.figure import Figure

from contexture.reporting.curves import Series
from contexture.reporting.records import Record
from contexture.reporting.tables import Table

#: Begins the verdict of a card.
RECOMMENDATION = "Recommendation: "


@dataclass(frozen=True)
class ReportContext:
    """Content of a report besides its scores, shown as plain text; empty fields are left out."""

    system: str
    title: str
    note: str  # how far our numbers and the paper's are comparable
    run: Mapping[str, str] = field(default_factory=dict)  # description of the run: encoders, seeds, text …
    counts: Mapping[str, Mapping[str, object]] = field(default_factory=dict)  # {"Corpus": {"pages_in": 300}}
    files: Mapping[str, str] = field(default_factory=dict)  # path → content
    # Task → results besides records. All tasks: "name" and "counts" of the data, and "missing": {name: reason}
    details: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)  # variant or run → label
    full_command: str = ""  # command of the full run, if this run is the demo
    examples: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # stream → counts of the sampler
    # Run → {"seconds", "steps", "tokens", "flops", "parameters", "tokens_per_second"} and, if known, "examples"
    trainings: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    # Run → objective → details at the end of training (`Objective.shown`)
    objective_details: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    series: Mapping[str, Series] = field(default_factory=dict)  # objective → how its learning curve is drawn
    workspace: str | None = None  # the workspace that has the files, for commands


@dataclass(frozen=True)
class Section:
    """A table, figures, or a text."""

    title: str
    table: Table | None = None
    figures: Sequence[str] = ()  # names of the page's figures
    text: str = ""


@dataclass(frozen=True)
class Bar:
    """A bar of a card; `value` is within 0..100."""

    label: str
    value: float
    best: bool = False


@dataclass(frozen=True)
class Card:
    """A summary box at the top of a page."""

    title: str
    subtitle: str
    headline: str
    sentences: Sequence[str]
    unit: str = ""  # of the bars
    bars: Sequence[Bar] = ()


@dataclass(frozen=True)
class Page:
    """The system-specific part of a report."""

    findings: Sequence[str]  # main results, one sentence each
    sections: Sequence[Section]
    figures: Mapping[str, Figure] = field(default_factory=dict)  # by name in the sections
    variants: Sequence[str] = ()  # in the order of colours of learning curves
    cards: Sequence[Card] = ()  # at the top
    scores: Sequence[str] = ()  # the main scores as lines of text, which a run prints at its end


#: Function that draws the page of a system's records.
MakePage = Callable[[Sequence[Record], ReportContext], Page]


def sections(parts: Iterable[Table | Section]) -> list[Section]:
    """Wrap tables in sections; leave out sections whose table shows no value."""
    made = (Section(part.title, part) if isinstance(part, Table) else part for part in parts)
    return [section for section in made if section.table is None or section.table.has_values]

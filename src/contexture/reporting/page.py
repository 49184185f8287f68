"""What the page of every system is made of."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from matplotlib.figure import Figure

from contexture.reporting.curves import Series
from contexture.reporting.records import Record
from contexture.reporting.tables import Table


@dataclass(frozen=True)
class ReportContext:
    """What the report says beside the numbers. All of it is shown as plain text; what is empty is left out."""

    system: str  # whose records are shown
    title: str
    note: str  # in plain words: how far ours and the paper's numbers can be compared
    run: Mapping[str, str] = field(default_factory=dict)  # what was run: model size, seeds, text, minutes …
    counts: Mapping[str, Mapping[str, object]] = field(default_factory=dict)  # {"Corpus": {"pages_in": 300}}
    files: Mapping[str, str] = field(default_factory=dict)  # path → what lies there
    # Task → its results beside records. Of any task "name" and "counts" of its data, and "missing": {name: reason}
    details: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)  # of variants and runs, if not their names
    full_command: str = ""  # the command of a longer run, if this one is short
    examples: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # stream → what the sampler counted
    # Run → {"seconds", "steps", "tokens", "flops", "parameters", "tokens_per_second"} and, if known, "examples"
    trainings: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    # Run → objective → what training showed at its end (`Objective.shown`)
    objective_details: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    series: Mapping[str, Series] = field(default_factory=dict)  # of learning curves, by their name after "train/"


@dataclass(frozen=True)
class Section:
    """A table, pictures, or a sentence that says why there are none."""

    title: str
    table: Table | None = None
    figures: Sequence[str] = ()  # names of the page's figures
    text: str = ""


@dataclass(frozen=True)
class Bar:
    """A number to be seen, within 0..100."""

    label: str
    value: float
    best: bool = False


@dataclass(frozen=True)
class Card:
    """One finding, to be read at a glance."""

    title: str
    subtitle: str
    headline: str
    sentences: Sequence[str]
    unit: str = ""  # of the bars
    bars: Sequence[Bar] = ()


@dataclass(frozen=True)
class Page:
    """A system's own part of the report."""

    findings: Sequence[str]  # the first thing that a reader wants to know, in a sentence each
    sections: Sequence[Section]
    figures: Mapping[str, Figure] = field(default_factory=dict)  # those that the sections name
    variants: Sequence[str] = ()  # in the order of colours of learning curves
    cards: Sequence[Card] = ()  # shown above all


#: What makes a page of a system's records.
MakePage = Callable[[Sequence[Record], ReportContext], Page]


def sections(parts: Iterable[Table | Section]) -> list[Section]:
    """Sections, with each table that has rows under its own title."""
    made = (Section(part.title, part) if isinstance(part, Table) else part for part in parts)
    return [section for section in made if section.table is None or section.table.rows]

"""What the page of every system is made of."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from matplotlib.figure import Figure

from contexture.reporting.tables import Table


@dataclass(frozen=True)
class Retrieval:
    """What the report of a retrieval system shows beside its records; what is empty is left out."""

    # by pre-training task: {"pairs", "tokens", "mean_query_tokens", "mean_document_tokens"}
    pairs: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    # by the task of the records: {"queries", "candidates", "tuples"}
    sets: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    # {"kind", "recall_against_exact" (0..1), "queries_per_second", "build_seconds"}, one an index
    indexes: Sequence[Mapping[str, Any]] = ()
    # {"what": "BM25 search", "unit": "queries", "per_second": 812.0}
    speeds: Sequence[Mapping[str, Any]] = ()
    # what makes the records of a table that is left out without them: {"squad_open": "kedro run …"}
    commands: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class SentenceFacts:
    """What the report of an encoder of sentences shows beside its records; what is empty is left out."""

    # {"query", "model" (a variant), "neighbour", "cosine"}
    neighbours: Sequence[Mapping[str, Any]] = ()
    # {"variant", "task", "protocol", "c": [the strength of each outer fold]}, one a seed
    chosen: Sequence[Mapping[str, Any]] = ()
    # snapshots: {"run" (a variant), "seed", "step", "seconds" (of training), "task", "metric", "value"}
    quality_over_time: Sequence[Mapping[str, Any]] = ()
    # by task: why it was not measured
    missing: Mapping[str, str] = field(default_factory=dict)
    # by run (a variant): {"sentences_per_second", "words_per_second", "seconds", "parameters"} of its training
    speed: Mapping[str, Mapping[str, float]] = field(default_factory=dict)


@dataclass(frozen=True)
class ReportContext:
    """What the report says beside the numbers. All of it is shown as plain text."""

    system: str  # whose records are shown, and which paper's tables
    title: str
    note: str  # in plain words: how far ours and the paper's numbers can be compared
    run: Mapping[str, str] = field(default_factory=dict)  # what was run: model size, seeds, text, minutes …
    counts: Mapping[str, Mapping[str, object]] = field(default_factory=dict)  # {"Corpus": {"pages_in": 300}}
    files: Mapping[str, str] = field(default_factory=dict)  # path → what lies there
    retrieval: Retrieval = field(default_factory=Retrieval)
    sentences: SentenceFacts = field(default_factory=SentenceFacts)


@dataclass(frozen=True)
class Section:
    """A table, a picture, or a sentence that says why there is none."""

    title: str
    table: Table | None = None
    figure: str = ""  # name of one of the page's figures
    text: str = ""


@dataclass(frozen=True)
class Page:
    """A system's own part of the report."""

    findings: Sequence[str]  # the first thing that a reader wants to know, in a sentence each
    sections: Sequence[Section]
    figures: Mapping[str, Figure] = field(default_factory=dict)  # those that the sections name
    variants: Sequence[str] = ()  # the order of colours, where learning curves shall share it

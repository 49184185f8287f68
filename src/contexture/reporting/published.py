"""Published results, typed from the papers' tables, to stand beside our own: one module a system."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Score:
    """A published number, in percent."""

    mean: float
    std: float | None = None  # over the paper's runs, where it gives one
    significant: bool = False  # underlined in the paper: a gain over its baseline, Student t-test at 95%


@dataclass(frozen=True)
class Row:
    """One model of a published table."""

    variant: str  # our variant that corresponds to it
    task: str  # and the task of our records that does
    label: str
    scores: Mapping[str, Score]  # by metric
    split: str = "test"  # and their split


@dataclass(frozen=True)
class PublishedTable:
    """A table of a paper, as far as we measure the same."""

    title: str
    source: str  # empty: the paper has no such table, all rows are ours
    task: str  # rows that the paper does not have are taken from our records of this task
    rows: tuple[Row, ...]
    metrics: tuple[str, ...]
    labels: Mapping[str, str] = field(default_factory=dict)  # how variants that the paper lacks are called
    decimals: int = 1  # of the paper's numbers
    remark: str = ""  # how our numbers are counted, where the paper leaves it open


@dataclass(frozen=True)
class TaskColumn:
    """A column of a table whose columns are tasks: where its numbers stand among our records."""

    task: str
    split: str
    metric: str
    name: str
    group: str = ""  # the heading that it shares with its neighbours
    decimals: int = 1  # of the paper's numbers


@dataclass(frozen=True)
class TaskRow:
    """One model of such a table."""

    label: str
    scores: tuple[float | None, ...]  # one a column, as it is shown; None where the paper has none
    variant: str = ""  # ours that corresponds to it, if there is one
    heading: str = ""  # what stands above it


@dataclass(frozen=True)
class TaskTable:
    """A table of a paper with a column for each task, as far as we measure the same."""

    title: str
    source: str  # empty: the paper has no such table, all rows are ours
    columns: tuple[TaskColumn, ...]
    rows: tuple[TaskRow, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)  # how our variants are called, in their order
    remark: str = ""  # how our numbers are made, where the paper leaves it open or differs

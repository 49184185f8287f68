"""Tables of scores, and the published figures among them, of the `published.yml` beside a system's page."""

import dataclasses
from collections.abc import Mapping
from dataclasses import field, replace
from functools import cache
from importlib import resources
from typing import Any

import yaml
from pydantic import StrictFloat, StrictInt
from pydantic.dataclasses import dataclass

from contexture.reporting.names import DATA, REFERENCES
from contexture.reporting.records import METRICS, ScoreKey
from contexture.strict import STRICT, checked

try:
    from yaml import CSafeLoader as SafeLoader  # ten times as fast
except ImportError:  # PyYAML was built without libyaml
    from yaml import SafeLoader  # type: ignore[assignment]

FILE = "published.yml"
PERCENT = "percent"
Number = StrictInt | StrictFloat


@dataclass(config=STRICT, frozen=True)
class Score:
    """A published number, in the unit of its column."""

    value: Number
    std: Number | None = None  # over the paper's runs, where it gives one
    significant: bool = False  # marked in the paper: a gain over its baseline, Student's t-test at 95%


@dataclass(config=STRICT, frozen=True)
class ScoreColumn:
    """A column: which of our records it shows, and how."""

    task: str = ""
    protocol: str = ""
    metric: str = ""
    name: str = ""
    group: str = ""  # the heading that it shares with its neighbours
    decimals: int = 1  # of the paper's numbers
    subset: str = ""  # of the task's data; empty: all of it
    data: str = ""  # its own, in a table whose columns are of several; empty: the table's
    split: str = "test"
    unit: str = PERCENT
    key: str = ""  # its name in the rows of the paper

    def score_key(self, data: str, protocol: str = "") -> ScoreKey:
        """Where our records of `data` have the scores, by this protocol or its own."""
        whole = self.data or data
        name = f"{whole}/{self.subset}" if self.subset else whole
        return ScoreKey(self.task, name, protocol or self.protocol, self.metric, self.split)


@dataclasses.dataclass(frozen=True)
class ScoreRow:
    """One model of a published table."""

    label: str
    scores: Mapping[str, Score]  # by the key of the column
    variant: str = ""  # ours that corresponds to it, if there is one
    protocol: str = ""  # of our records; empty: that of the column
    heading: str = ""  # what stands above it
    data: str = ""  # in a table of several data sets


@dataclasses.dataclass(frozen=True)
class ScoreTable:
    """A table of a paper, as far as we measure the same, or one of our scores alone."""

    title: str
    columns: tuple[ScoreColumn, ...]
    source: str = ""  # empty: no paper has such a table, all rows are ours
    data: str = ""  # what the paper measured on; empty: columns say it
    rows: tuple[ScoreRow, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)  # of our variants, in their order
    note: str = ""  # how our numbers are made, where the paper leaves it open or differs

    def make_title(self, data: str) -> str:
        """The title with ours of `data`, which it names where the paper's are of another."""
        if data == self.data:
            return self.title
        return f"{self.title} ({'ours: ' if self.source else ''}{DATA.get(data, data)})"

    def make_remarks(self, data: str) -> list[str]:
        """Where the paper's numbers are from, whether ours are of the same data, and the note."""
        remarks = [f"Paper: {self.source}."] if self.source else []
        if self.source and data != self.data:
            ours, theirs = (DATA.get(name, name) for name in (data, self.data))
            remarks.append(f"Ours are of {ours}, the paper's of {theirs}: not comparable.")
        return [*remarks, self.note] if self.note else remarks

    def select_data(self, data: str) -> "ScoreTable":
        """The rows of one of its data sets, which the source may name."""
        rows = tuple(row for row in self.rows if row.data == data)
        return replace(self, data=data, rows=rows, source=self.source.format(data=DATA[data]))

    def with_protocol(self, protocol: str) -> "ScoreTable":
        """The same beside our records of another protocol."""
        return replace(self, columns=tuple(replace(column, protocol=protocol) for column in self.columns))

    def without_paper(self, title: str, note: str = "") -> "ScoreTable":
        """The same columns of our scores alone."""
        return replace(self, title=title, note=note, source="", data="", rows=())


@dataclass(config=STRICT, frozen=True)
class Claim:
    """A statement of a paper that is tested on our numbers, seed by seed."""

    statement: str
    variant: str
    baseline: str
    measures: tuple[str, ...]  # kinds of tasks that it is about
    higher: bool = True


@dataclasses.dataclass(frozen=True)
class Published:
    """What a paper says, and what of ours stands beside it."""

    paper: str
    title: str  # of the system's page
    note: str  # how far our numbers and the paper's can be compared
    labels: Mapping[str, str]  # of our variants, in the order of tables and colours
    tables: Mapping[str, ScoreTable]
    comparisons: tuple[tuple[str, str], ...] = ()  # (variant, baseline)
    claims: tuple[Claim, ...] = ()

    def numbers(self, table: str) -> dict[str, dict[str, int | float]]:
        """Row → column → number, of a table that has no scores."""
        return {row.label: {key: score.value for key, score in row.scores.items()} for row in self.tables[table].rows}


@dataclass(config=STRICT, frozen=True)
class _Block:
    """Rows of a file that share a heading, a protocol or a data set."""

    rows: dict[str, dict[str, Number | Score]]
    heading: str = ""
    protocol: str = ""
    data: str = ""


@dataclass(config=STRICT, frozen=True)
class _Table:
    """A table of a file: its rows, or blocks of rows."""

    title: str
    unit: str
    columns: dict[str, dict[str, Any]]  # key → fields of the column that differ from the others'
    section: str = ""  # of the paper
    data: str = ""
    note: str = ""
    labels: dict[str, str | None] | None = None  # where they differ from the file's
    every_column: dict[str, Any] = field(default_factory=dict)  # fields that columns share
    variants: dict[str, str] = field(default_factory=dict)  # row → ours that corresponds to it
    rows: dict[str, dict[str, Number | Score]] = field(default_factory=dict)
    blocks: tuple[_Block, ...] = ()


@dataclass(config=STRICT, frozen=True)
class _File:
    """A `published.yml`."""

    paper: str
    title: str
    note: str
    labels: dict[str, str | None]  # null: as the reference is called everywhere
    tables: dict[str, _Table]
    comparisons: tuple[tuple[str, str], ...] = ()
    claims: tuple[Claim, ...] = ()


class _Loader(SafeLoader):
    """Rejects a key that stands twice in one mapping."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        keys = [self.construct_object(key, deep=True) for key, _ in node.value]
        if twice := sorted({key for key in keys if keys.count(key) > 1}, key=str):
            raise yaml.constructor.ConstructorError(None, None, f"twice in one mapping: {twice}", node.start_mark)
        return super().construct_mapping(node, deep)


@cache
def read_published(package: str) -> Published:
    """The figures beside the page of a system, `contexture.systems.<system>`.

    Raises:
        ValueError: naming the file, and the table, row and column at fault.
    """
    try:
        raw = yaml.load((resources.files(package) / FILE).read_text("utf-8"), _Loader)
        file: _File = checked(_File, raw)
        labels = _labels(file.labels)
        tables = {key: _table(key, table, labels, file.paper) for key, table in file.tables.items()}
    except (yaml.YAMLError, ValueError) as error:
        raise ValueError(f"{package.rpartition('.')[2]}/{FILE}: {error}") from error
    return Published(file.paper, file.title, file.note, labels, tables, file.comparisons, file.claims)


def _labels(labels: Mapping[str, str | None]) -> dict[str, str]:
    return {name: label or REFERENCES.get(name, name) for name, label in labels.items()}


def _table(key: str, table: _Table, labels: Mapping[str, str], paper: str) -> ScoreTable:
    columns = {name: _column(name, fields, table, key) for name, fields in table.columns.items()}
    rows = []
    for block in table.blocks or (_Block(table.rows),):
        heading = block.heading
        for label, cells in block.rows.items():
            if unknown := sorted(set(cells) - set(columns)):
                raise ValueError(f"tables.{key}.rows.{label}: no columns {unknown}; there are {sorted(columns)}")
            scores = {name: cell if isinstance(cell, Score) else Score(cell) for name, cell in cells.items()}
            rows.append(ScoreRow(label, scores, table.variants.get(label, ""), block.protocol, heading, block.data))
            heading = ""  # stands above the first row alone
    if unknown := sorted(set(table.variants) - {row.label for row in rows}):
        raise ValueError(f"tables.{key}.variants: no rows {unknown}")
    return ScoreTable(
        title=table.title,
        columns=tuple(columns.values()),
        source=f"{paper}, {table.section}" if table.section else "",
        data=table.data,
        rows=tuple(rows),
        labels=labels if table.labels is None else _labels(table.labels),
        note=table.note,
    )


def _column(name: str, fields: dict[str, Any], table: _Table, key: str) -> ScoreColumn:
    values = {"name": name, "unit": table.unit} | table.every_column | fields | {"key": name}
    column: ScoreColumn = checked(ScoreColumn, values, "tables", key, "columns", name)
    if column.metric and column.metric not in METRICS:
        raise ValueError(f"tables.{key}.columns.{name}: no metric {column.metric}; there are {sorted(METRICS)}")
    if column.metric and (column.unit == PERCENT) != (METRICS[column.metric].scale == 100):
        raise ValueError(f"tables.{key}.columns.{name}: {column.metric} is not in {column.unit}")
    return column

"""Score tables with published numbers, from the `published.yml` of a system."""

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
from contexture.strict import STRICT, validate

try:
    from yaml import CSafeLoader as SafeLoader  # much faster
except ImportError:  # PyYAML was built without libyaml
    from yaml import SafeLoader  # type: ignore[assignment]

FILE = "published.yml"
PERCENT = "percent"
#: Of the key `<<`, which merges a mapping.
_MERGE_TAG = "tag:yaml.org,2002:merge"
Number = StrictInt | StrictFloat


@dataclass(config=STRICT, frozen=True)
class Score:
    """A published number, in the unit of its column."""

    value: Number
    std: Number | None = None  # over the paper's runs; None: not given
    significant: bool = False  # marked in the paper: gain over its baseline, Student's t-test at 95%


@dataclass(config=STRICT, frozen=True)
class ScoreColumn:
    """A column: the key of its scores in our records, and its heading."""

    task: str = ""
    protocol: str = ""
    metric: str = ""
    name: str = ""
    group: str = ""  # heading shared with neighbouring columns
    decimals: int = 1  # of published numbers
    subset: str = ""  # of the data; empty: all
    data: str = ""  # empty: the data of the table
    split: str = "test"
    unit: str = PERCENT
    key: str = ""  # in the rows of the paper

    def score_key(self, data: str, protocol: str = "") -> ScoreKey:
        """Return the key of the column's scores in our records of `data`; `protocol` replaces the column's."""
        name = self.data or data
        name += f"/{self.subset}" if self.subset else ""
        return ScoreKey(self.task, name, protocol or self.protocol, self.metric, self.split)


@dataclasses.dataclass(frozen=True)
class ScoreRow:
    """A row of a published table."""

    label: str
    scores: Mapping[str, Score]  # column key → score
    variant: str = ""  # our corresponding variant; empty: none
    protocol: str = ""  # of our records; empty: the column's
    heading: str = ""  # above the row
    data: str = ""  # if the table has several data sets


@dataclasses.dataclass(frozen=True)
class ScoreTable:
    """A table of a paper, limited to what we measure, or a table of our scores only."""

    title: str
    columns: tuple[ScoreColumn, ...]
    source: str = ""  # empty: our scores only
    data: str = ""  # of the paper; empty: the columns name it
    rows: tuple[ScoreRow, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)  # variant → label, in order
    note: str = ""  # differences between our measurement and the paper's

    def make_title(self, data: str) -> str:
        """Return the title for scores on `data`; it names `data` if the paper uses other data."""
        if data == self.data:
            return self.title
        return f"{self.title} ({'ours: ' if self.source else ''}{DATA.get(data, data)})"

    def make_remarks(self, data: str) -> list[str]:
        """Return the paper's reference, a warning if our data differ, and the note."""
        remarks = [f"Paper: {self.source}."] if self.source else []
        if self.source and data != self.data:
            ours, theirs = (DATA.get(name, name) for name in (data, self.data))
            remarks.append(f"Ours: {ours}, paper: {theirs}; not comparable.")
        if any(score.std is not None for row in self.rows for score in row.scores.values()):
            remarks.append("In parentheses: the paper's standard deviations.")
        return [*remarks, self.note] if self.note else remarks

    def select_data(self, data: str) -> "ScoreTable":
        """Return the table with the rows of one data set, whose name is put into title and source."""
        rows = tuple(row for row in self.rows if row.data == data)
        title, source = f"{self.title}, {DATA[data]}", self.source.format(data=DATA[data])
        return replace(self, title=title, data=data, rows=rows, source=source)

    def with_protocol(self, protocol: str) -> "ScoreTable":
        """Return the table with another protocol for our scores in all columns."""
        return replace(self, columns=tuple(replace(column, protocol=protocol) for column in self.columns))

    def without_paper(self, title: str, note: str = "") -> "ScoreTable":
        """Return a table with the same columns and our scores only."""
        return replace(self, title=title, note=note, source="", data="", rows=())


@dataclasses.dataclass(frozen=True)
class Published:
    """Content of a `published.yml`."""

    paper: str
    title: str  # of the system's page
    note: str  # how far our numbers and the paper's are comparable
    labels: Mapping[str, str]  # variant → label, in the order of tables and colours
    tables: Mapping[str, ScoreTable]
    comparisons: tuple[tuple[str, str], ...] = ()  # (variant, baseline)

    def numbers(self, table: str) -> dict[str, dict[str, int | float]]:
        """Return row → column → number of a table of the paper."""
        return {row.label: {key: score.value for key, score in row.scores.items()} for row in self.tables[table].rows}


@dataclass(config=STRICT, frozen=True)
class _Block:
    """Rows that share a heading, a protocol or a data set."""

    rows: dict[str, dict[str, Number | Score]]
    heading: str = ""
    protocol: str = ""
    data: str = ""


@dataclass(config=STRICT, frozen=True)
class _Table:
    """A table in a file, with rows or blocks of rows."""

    title: str
    unit: str
    columns: dict[str, dict[str, Any]]  # key → fields of the column
    section: str = ""  # of the paper
    data: str = ""
    note: str = ""
    labels: dict[str, str | None] | None = None  # default: those of the file
    every_column: dict[str, Any] = field(default_factory=dict)  # fields shared by all columns
    variants: dict[str, str] = field(default_factory=dict)  # row → our corresponding variant
    rows: dict[str, dict[str, Number | Score]] = field(default_factory=dict)
    blocks: tuple[_Block, ...] = ()


@dataclass(config=STRICT, frozen=True)
class _File:
    paper: str
    title: str
    note: str
    labels: dict[str, str | None]  # null: the label in `REFERENCES`
    tables: dict[str, _Table]
    comparisons: tuple[tuple[str, str], ...] = ()


class UniqueKeyLoader(SafeLoader):
    """Rejects duplicate keys of a mapping."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """Return a mapping of the YAML file; ConstructorError for duplicate keys."""
        named = [key for key, _ in node.value if key.tag != _MERGE_TAG]  # merged keys may be overridden
        keys = [self.construct_object(key, deep=True) for key in named]
        if twice := sorted({key for key in keys if keys.count(key) > 1}, key=str):
            raise yaml.constructor.ConstructorError(None, None, f"duplicate keys: {twice}", node.start_mark)
        return super().construct_mapping(node, deep)


@cache
def read_published(package: str) -> Published:
    """Read the published numbers of a system's package, `contexture.systems.<system>`.

    Raises:
        ValueError: with the file, table, row and column of the first fault.
    """
    try:
        raw = yaml.load((resources.files(package) / FILE).read_text("utf-8"), UniqueKeyLoader)
        file: _File = validate(_File, raw)
        labels = _fill_labels(file.labels)
        tables = {key: _parse_table(key, table, labels, file.paper) for key, table in file.tables.items()}
    except (yaml.YAMLError, ValueError) as error:
        raise ValueError(f"{package.rpartition('.')[2]}/{FILE}: {error}") from error
    return Published(file.paper, file.title, file.note, labels, tables, file.comparisons)


def _fill_labels(labels: Mapping[str, str | None]) -> dict[str, str]:
    """Return variant → label; a missing label is that in `REFERENCES`, or else the name."""
    return {name: label or REFERENCES.get(name, name) for name, label in labels.items()}


def _parse_table(key: str, table: _Table, labels: Mapping[str, str], paper: str) -> ScoreTable:
    """Convert a table of the file to a `ScoreTable`; ValueError for unknown columns or rows."""
    columns = {name: _parse_column(name, fields, table, key) for name, fields in table.columns.items()}
    rows = []
    for block in table.blocks or (_Block(table.rows),):
        heading = block.heading
        for label, cells in block.rows.items():
            if unknown := sorted(set(cells) - set(columns)):
                raise ValueError(f"tables.{key}.rows.{label}: unknown columns {unknown}; known: {sorted(columns)}")
            scores = {name: cell if isinstance(cell, Score) else Score(cell) for name, cell in cells.items()}
            rows.append(ScoreRow(label, scores, table.variants.get(label, ""), block.protocol, heading, block.data))
            heading = ""  # only above the first row
    if unknown := sorted(set(table.variants) - {row.label for row in rows}):
        raise ValueError(f"tables.{key}.variants: unknown rows {unknown}")
    return ScoreTable(
        title=table.title,
        columns=tuple(columns.values()),
        source=f"{paper}, {table.section}" if table.section else "",
        data=table.data,
        rows=tuple(rows),
        labels=labels if table.labels is None else _fill_labels(table.labels),
        note=table.note,
    )


def _parse_column(name: str, fields: dict[str, Any], table: _Table, key: str) -> ScoreColumn:
    """Return a column of a table with all defaults applied; ValueError for an unknown metric or a wrong unit."""
    values = {"name": name, "unit": table.unit} | table.every_column | fields | {"key": name}
    column: ScoreColumn = validate(ScoreColumn, values, "tables", key, "columns", name)
    if column.metric and column.metric not in METRICS:
        raise ValueError(f"tables.{key}.columns.{name}: unknown metric {column.metric}; known: {sorted(METRICS)}")
    if column.metric and (column.unit == PERCENT) != (METRICS[column.metric].scale == 100):
        raise ValueError(f"tables.{key}.columns.{name}: {column.metric} has another unit than {column.unit}")
    return column

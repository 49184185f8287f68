"""Tables of saved results within written pages, between the marks `<!-- table NAME -->` and `<!-- end of table -->`."""

import re
from collections.abc import Mapping
from dataclasses import field, replace
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic.dataclasses import dataclass

from contexture.messages import errors_at, explain_unknown
from contexture.reporting.published import UniqueKeyLoader
from contexture.reporting.saved_results import RowKey, SavedResults, format_score, group_by_row
from contexture.reporting.seed_scores import SeedScores, pair_by_seed, share_seeds
from contexture.reporting.tables import NOTHING, ROUNDING, Estimate, Table, columns, estimate, to_markdown
from contexture.strict import STRICT, validate

#: Defines the tables, in the folder of results.
FILE = "quoted.yml"
#: Some of the fields of `QuotedScore`.
Fields = dict[str, Any]
#: File → row → scores.
Scores = Mapping[str, Mapping[RowKey, SeedScores]]


@dataclass(config=STRICT, frozen=True)
class QuotedScore:
    """A cell: the score of a variant in a file, its difference to a baseline over shared seeds, or their number."""

    # Name of the saved results, and fields of their records.
    file: str
    system: str
    task: str
    data: str
    protocol: str
    metric: str
    variant: str
    # Another variant; or fields that differ from those above. null: the row has none.
    baseline: str | dict[str, str] | None = None
    # seeds: how many the difference is over; without a baseline, those of the score.
    show: Literal["score", "baseline", "difference", "seeds"] = "score"

    @property
    def key(self) -> RowKey:
        """Row of the variant in the file."""
        return RowKey(self.system, self.task, self.data, self.protocol, self.metric, self.variant)

    @property
    def baseline_key(self) -> RowKey:
        """Row of the baseline in the file."""
        fields = {"variant": self.baseline} if isinstance(self.baseline, str) else self.baseline or {}
        return replace(self.key, **fields)


@dataclass(config=STRICT, frozen=True)
class QuotedTable:
    """A table of a page. A cell has the fields of the table, replaced by those of its row, then of its column."""

    # Path in the project.
    page: str
    # Heading of the first column.
    label: str
    columns: dict[str, Fields]
    rows: dict[str, Fields]
    fields: Fields = field(default_factory=dict)


@dataclass(config=STRICT, frozen=True)
class _File:
    tables: dict[str, QuotedTable]


def read_quoted_tables(file: Path) -> dict[str, QuotedTable]:
    """Read the definitions of tables by name; ValueError with file, key and fault."""
    with errors_at(str(file)):
        try:
            parsed: _File = validate(_File, yaml.load(file.read_text(encoding="utf-8"), UniqueKeyLoader))
        except yaml.YAMLError as error:
            raise ValueError(str(error)) from error
    return parsed.tables


def quote_tables(page: str, text: str, tables: Mapping[str, QuotedTable], results: Mapping[str, SavedResults]) -> str:
    """Return the text of a page with its tables made anew; ValueError for a missing mark or score."""
    scores = {file: group_by_row(saved) for file, saved in results.items()}
    for name, definition in tables.items():
        if definition.page == page:
            with errors_at(f"{FILE}: {name}"):
                text = _replace_table(text, name, to_markdown(_make_table(definition, scores)))
    return text


def _replace_table(text: str, name: str, table: str) -> str:
    """Return the text with a table between the marks of `name`; ValueError unless it has them once."""
    marks = rf"(<!-- table {re.escape(name)} -->)(?:(?!<!-- table ).)*?(<!-- end of table -->)"
    replaced, number = re.subn(marks, lambda match: f"{match[1]}\n\n{table}\n\n{match[2]}", text, flags=re.DOTALL)
    if number != 1:
        raise ValueError(f"the page needs the lines <!-- table {name} --> and <!-- end of table --> once")
    return replaced


def _make_table(definition: QuotedTable, scores: Scores) -> Table:
    """Return the table; a difference whose interval does not contain 0 is bold."""
    rows, bold = [], set()
    for i, (label, row) in enumerate(definition.rows.items()):
        cells = [label]
        for j, (heading, column) in enumerate(definition.columns.items(), start=1):
            with errors_at(f"{label}, {heading}"):
                quoted: QuotedScore = validate(QuotedScore, {**definition.fields, **row, **column})
                text, is_significant = _format_cell(quoted, scores)
            cells.append(text)
            bold |= {(i, j)} if is_significant else set()
        rows.append(tuple(cells))
    return Table("", (*columns(definition.label, numbers=definition.columns),), tuple(rows), bold=frozenset(bold))


def _format_cell(quoted: QuotedScore, scores: Scores) -> tuple[str, bool]:
    """Return a mean with its interval, and whether it is a difference that is significant at 95%."""
    if quoted.file not in scores:
        raise ValueError(explain_unknown("results", [quoted.file], scores))
    if quoted.baseline is None and quoted.show in ("baseline", "difference"):
        return NOTHING, False
    above = _get_scores(quoted, quoted.key, scores)
    below = above if quoted.baseline is None else _get_scores(quoted, quoted.baseline_key, scores)
    if quoted.show == "seeds":
        return str(len(share_seeds([above, below]))), False
    is_difference = quoted.show == "difference"
    if is_difference:
        values = [*pair_by_seed(above, below)]
    else:
        values = [*(above if quoted.show == "score" else below).by_seed.values()]
    score = estimate(values)
    mean, ends = format_score(score, quoted.key, signed=is_difference)
    is_constant = not values or max(values) - min(values) < ROUNDING
    is_significant = is_difference and not is_constant and score is not None and not score.overlaps(Estimate(0, 0))
    return (mean if is_constant else f"{mean} ({ends})"), is_significant


def _get_scores(quoted: QuotedScore, key: RowKey, scores: Scores) -> SeedScores:
    """Return the scores of a row; ValueError if the file does not have it."""
    if key not in scores[quoted.file]:
        raise ValueError(f"{quoted.file} has no test scores of {', '.join(map(str, vars(key).values()))}")
    return scores[quoted.file][key]

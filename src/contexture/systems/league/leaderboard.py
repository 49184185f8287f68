"""Leaderboards: the scores of all saved results by use of encoders, in one table for each use and data set."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from statistics import mean

from contexture.reporting.phrases import join_names
from contexture.reporting.records import Record, ScoreKey, score_key
from contexture.reporting.run_records import RunRecords
from contexture.reporting.saved_results import SavedResults
from contexture.reporting.tables import NOTHING, Column, Estimate, Table, columns, format_estimate
from contexture.reporting.training_tables import format_count
from contexture.systems.league.scores import USES, League, LeagueColumn
from contexture.tasks.spec import LeagueUse

#: A use that the league itself does not have, because it trains in one language.
BITEXT = LeagueUse(
    "Finding translations",
    "Find the translation of a sentence.",
    "For finding translations",
    "accuracy",
    "accuracy",
    "percent of sentences whose nearest neighbour in the other language is the translation; mean over all directions",
    task="bitext_retrieval",
)
#: Trained rows in a table; rows without training are all shown.
MAX_TRAINED_ROWS = 15
MAX_TEXT_CHARS = 30


@dataclass(frozen=True)
class Entry:
    """A row of a leaderboard: a variant's score, and the cost of one of its trainings."""

    label: str
    system: str
    score: Estimate
    seeds: int | None  # None: it does not depend on a seed
    text: str
    flops: float | None  # None: not trained here
    minutes: float | None
    file: str

    @property
    def is_trained(self) -> bool:
        """Whether a training made the encoder."""
        return bool(self.flops)

    @property
    def cells(self) -> tuple[str, ...]:
        """The cells of the row, without the name of the file."""
        cost = [NOTHING, NOTHING]
        if self.flops is not None and self.minutes is not None:
            cost = [format_count(self.flops), f"{self.minutes:.1f}"]
        return (self.label, self.system, format_estimate(self.score), str(self.seeds or NOTHING), self.text, *cost)


def make_leaderboards(results: Mapping[str, SavedResults], labels: Mapping[str, Mapping[str, str]]) -> list[Table]:
    """Return a table for each column of scores, with all rows that have them, from the best.

    Args:
        results: File → saved results.
        labels: System → variant → label.
    """
    uses = (*USES, BITEXT)
    entries: dict[LeagueColumn, list[Entry]] = {}
    for file, saved in results.items():
        for system in saved.runs:
            records = [record for record in saved.records if record["system"] == system]
            league = League(_average_directions(records), labels.get(system), uses)
            for column, entry in _list_entries(league, saved, system, file):
                entries.setdefault(column, []).append(entry)
    order = sorted(entries, key=lambda column: (uses.index(column.use), column.data, not column.is_frozen))
    return [_make_table(column, entries[column]) for column in order]


def _average_directions(records: Iterable[Record]) -> list[Record]:
    """Return the records, with the mean over the directions of a data set instead of each direction's translations."""
    kept: list[Record] = []
    directions: dict[tuple[str, int, ScoreKey], list[Record]] = {}
    for record in records:
        if record["task"] == BITEXT.task:
            whole: Record = {**record, "data": record["data"].partition("/")[0]}
            directions.setdefault((whole["variant"], whole["seed"], score_key(whole)), []).append(whole)
        else:
            kept.append(record)
    means: list[Record] = [
        {**same[0], "value": mean(record["value"] for record in same)} for same in directions.values()
    ]
    for record in means:
        record.pop("examples", None)  # of one direction
    return kept + means


def _list_entries(league: League, saved: SavedResults, system: str, file: str) -> Iterator[tuple[LeagueColumn, Entry]]:
    """Yield the rows of one system of a file, with their columns."""
    run, records = saved.runs[system], RunRecords(saved.records)
    text = f"{_shorten(run.text or 'unknown')} ({(run.text_sha256 or 'unknown')[:8]})"
    for column, scores in league.scores.items():
        for variant, score in scores.items():
            costs, values = records.get_costs(system, variant).values(), league.values(variant, column)
            is_constant = variant not in league.seeded and len(set(values.values())) == 1
            yield (
                column,
                Entry(
                    league.label(variant),
                    system,
                    Estimate(score.mean, None) if is_constant else score,
                    None if is_constant else len(values),
                    text if any(cost["flops"] for cost in costs) else NOTHING,
                    mean(cost["flops"] for cost in costs) if costs else None,
                    mean(cost["seconds"] for cost in costs) / 60 if costs else None,
                    file,
                ),
            )


def _make_table(column: LeagueColumn, entries: list[Entry]) -> Table:
    """Return the table of a column: the best trained rows, and all rows without training."""
    ranked = sorted(entries, key=lambda entry: (-entry.score.mean, entry.label, entry.file))
    trained = [entry for entry in ranked if entry.is_trained]
    files: dict[tuple[str, ...], list[str]] = {}  # rows that several files share are shown once
    for entry in ranked:
        if not entry.is_trained or entry in trained[:MAX_TRAINED_ROWS]:
            files.setdefault(entry.cells, []).append(entry.file)
    caption = column.use.description
    if len(trained) > MAX_TRAINED_ROWS:
        caption += f" The best {MAX_TRAINED_ROWS} of {len(trained)} trained rows, and all rows without training."
    # SentEval's tasks have two protocols.
    title = column.title if column.use.task else f"{column.title}, protocol {column.keys[0].protocol}"
    names = (*columns("Model", "System", numbers=["Score", "Seeds"]), Column("Text"))
    return Table(
        title,
        (*names, *columns(numbers=["FLOPs", "Minutes"]), Column("File")),
        tuple((*cells, join_names(names)) for cells, names in files.items()),
        caption,
    )


def _shorten(name: str) -> str:
    """Return the beginning of a long name."""
    return name if len(name) <= MAX_TEXT_CHARS else f"{name[: MAX_TEXT_CHARS - 1]}…"

"""Results in a file of the repository: the records of a run, and how they were made."""

import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from contexture.messages import errors_at, explain_unknown
from contexture.paths import METRICS_FILE, RUN_FILE
from contexture.reporting.provenance import Provenance
from contexture.reporting.records import METRICS, Record, ScoreKey, check_records, list_seeded, score_key, select_final
from contexture.reporting.run_commands import hide_folders
from contexture.reporting.seed_scores import SeedScores, pair_by_seed
from contexture.reporting.tables import NOTHING, Estimate, Table, columns, estimate

_PROVENANCE = TypeAdapter(Provenance)
#: Fields of a record that the scores of a model do not share, in alphabetical order.
SCORE_KEYS = ("data", "metric", "protocol", "split", "task", "value")
#: The last value of a score, if it is known.
EXAMPLES = "examples"


@dataclass(frozen=True)
class TrainingCost:
    """Number of trainings, and their FLOPs and seconds together.

    Variants that share a training count it once. A variant that joins or continues trainings of other variants counts
    these again.
    """

    trainings: int
    flops: float
    seconds: float

    @classmethod
    def add(cls, trainings: Iterable[Record]) -> "TrainingCost":
        """Return the cost of trainings, given records of each."""
        # Two trainings never take the same time to the nanosecond.
        records = {(r["system"], r["seed"], r["seconds"], r["flops"]): r for r in trainings}.values()
        return cls(len(records), sum(r["flops"] for r in records), sum(r["seconds"] for r in records))

    @property
    def minutes(self) -> float:
        """Duration of all trainings, one after the other."""
        return self.seconds / 60


@dataclass(frozen=True)
class SavedResults:
    """The records of systems and how each of them was made."""

    runs: Mapping[str, Provenance]
    records: list[Record]

    @classmethod
    def collect(cls, reports_dir: Path, systems: Collection[str] | None = None) -> "SavedResults":
        """Read records and provenance of a folder `data/08_reporting`, by default of all systems with records.

        Commands have `DATA` instead of the folders of absolute paths. Raises ValueError for unknown systems and invalid
        records.
        """
        metrics_files = {file.parent.name: file for file in sorted(reports_dir.glob(f"*/{METRICS_FILE}"))}
        if not metrics_files:
            raise ValueError(f"{reports_dir}: no */{METRICS_FILE}; name a folder data/08_reporting of a run")
        if unknown := [system for system in systems or () if system not in metrics_files]:
            raise ValueError(explain_unknown("system", unknown, metrics_files))
        runs, records = {}, []
        for system in dict.fromkeys(systems or metrics_files):
            with errors_at(str(metrics_files[system])):
                records += check_records(json.loads(metrics_files[system].read_text(encoding="utf-8")))
            run = read_provenance(metrics_files[system].with_name(RUN_FILE))
            runs[system] = replace(run, command=run.command and hide_folders(run.command))
        return cls(runs, records)._add_minutes()

    @classmethod
    def read(cls, file: Path) -> "SavedResults":
        """Read a file that `to_json` wrote; ValueError if it is damaged."""
        with errors_at(str(file)):
            values = json.loads(file.read_text(encoding="utf-8"))
            if (
                not isinstance(values, dict)
                or values.keys() != {"runs", "models"}
                or not isinstance(values["runs"], dict)
            ):
                raise ValueError("expected the keys runs and models; contexture results save writes such files")
            runs = {system: _parse_provenance(run) for system, run in values["runs"].items()}
            return cls(runs, check_records(_read_scores(values["models"])))

    def to_json(self) -> str:
        """Return the results as JSON: what the scores of a model share once, and one score on each line."""
        runs = json.dumps({system: asdict(run) for system, run in self.runs.items()}, indent=1, ensure_ascii=False)
        models = []
        for model, records in groupby(self.records, _without_score):
            scores = ",\n".join(json.dumps(_list_score(record), ensure_ascii=False) for record in records)
            models.append(f'{json.dumps(model, ensure_ascii=False)[:-1]}, "scores": [\n{scores}\n]}}')
        all_models = ",\n".join(models)
        return f'{{"runs": {runs},\n"models": [\n{all_models}\n]}}\n'

    def add(self, other: "SavedResults") -> "SavedResults":
        """Return these results with the new records of `other`: of other systems, variants, seeds, tasks or data.

        A score that both have stays as it is here. How the systems with new records were made is joined, except for the
        command, which is that of `other`. Raises ValueError if such a system has another text or budget there, if
        nothing is new, and for a new score of a training that is here with another cost.
        """
        known = {_identify(record) for record in self.records}
        counted = self._list_unseeded()
        new = [
            self._name_text(record)
            for record in other.records
            if _identify(record) not in known and (*_name_measure(record), record["value"]) not in counted
        ]
        if not new:
            raise ValueError("it has all records of this run; nothing was added")
        self._check_trainings(new)
        records, runs = [*self.records, *new], dict(self.runs)
        for system in dict.fromkeys(record["system"] for record in new):
            seeds = len({record["seed"] for record in records if record["system"] == system})
            with errors_at(system):
                run = other.runs[system]
                runs[system] = runs[system].join(run, seeds) if system in runs else run
        return SavedResults(runs, records)._add_minutes()

    def _list_unseeded(self) -> set[tuple[Any, ...]]:
        """Return model, measure and value of the scores that count for all seeds."""
        seeded = list_seeded(self.records)
        unseeded = [record for record in self.records if (record["system"], record["variant"]) not in seeded]
        numbers = Counter(map(_name_measure, unseeded))
        named = ((_name_measure(record), record["value"]) for record in unseeded)
        return {(*name, value) for name, value in named if numbers[name] == 1}

    def _check_trainings(self, new: Iterable[Record]) -> None:
        """Raise ValueError if a new record is of a model that has another cost here: it was trained again."""
        costs = {(r["system"], r["variant"], r["seed"]): r["seconds"] for r in self.records if "seconds" in r}
        for record in new:
            model = record["system"], record["variant"], record["seed"]
            if model in costs and costs[model] != record.get("seconds", costs[model]):
                raise ValueError(
                    f"{record['system']}: {record['variant']} with seed {record['seed']} was trained again; add "
                    "scores of the first training, train with other seeds (first_seed), or save the run as another file"
                )

    def _name_text(self, record: Record) -> Record:
        """Return the record with this file's name of the text, which `add` compares by its checksum."""
        text = self.runs[record["system"]].text if record["system"] in self.runs else None
        return record if text is None or "training_text" not in record else {**record, "training_text": text}

    def _add_minutes(self) -> "SavedResults":
        """Return the results with the duration of all trainings in `runs`."""
        minutes = {system: round(cost.minutes, 1) for system, cost in self.training_costs.items()}
        runs = {system: replace(run, training_minutes=minutes[system]) for system, run in self.runs.items()}
        return replace(self, runs=runs)

    @property
    def trainings(self) -> dict[tuple[str, str, int], Record]:
        """System, variant and seed → one record of each training, with its cost."""
        return {(r["system"], r["variant"], r["seed"]): r for r in self.records if r.get("steps")}

    @property
    def training_costs(self) -> dict[str, TrainingCost]:
        """System → number and cost of all its trainings."""
        trainings = self.trainings.items()
        return {system: TrainingCost.add(r for key, r in trainings if key[0] == system) for system in self.runs}


def _identify(record: Record) -> tuple[Any, ...]:
    """Return what no other record of the same results shares: model and measure."""
    return (*_name_measure(record), record["seed"])


def _name_measure(record: Record) -> tuple[str, str, ScoreKey]:
    """Return the names of variant and measure, which the records of all seeds share."""
    return record["system"], record["variant"], score_key(record)


def _without_score(record: Record) -> dict[str, Any]:
    """Return what a record shares with others of its model: names, seed and cost."""
    return {key: value for key, value in record.items() if key not in (*SCORE_KEYS, EXAMPLES)}


def _list_score(record: Record) -> list[Any]:
    """Return a record's values of `SCORE_KEYS`, then its number of test examples if it is known."""
    values: dict[str, Any] = {**record}
    return [values[key] for key in (*SCORE_KEYS, EXAMPLES) if key in values]


def _parse_score(score: list[Any]) -> dict[str, Any]:
    """Return the keys and values of what `_list_score` wrote; ValueError for fewer or more values."""
    keys = SCORE_KEYS if len(score) == len(SCORE_KEYS) else (*SCORE_KEYS, EXAMPLES)
    return dict(zip(keys, score, strict=True))


def _read_scores(models: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the records of models whose `scores` were written by `_list_score`; ValueError for other models."""
    try:
        return [
            {key: value for key, value in model.items() if key != "scores"} | _parse_score(score)
            for model in models
            for score in model["scores"]
        ]
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ValueError(f"models without scores, or scores without {', '.join(SCORE_KEYS)}") from error


def read_provenance(file: Path) -> Provenance:
    """Read how records were made; everything is unknown without a file, which older versions did not write."""
    if not file.exists():
        return Provenance()
    with errors_at(str(file)):
        return _parse_provenance(json.loads(file.read_text(encoding="utf-8")))


def _parse_provenance(values: object) -> Provenance:
    """Return checked values; ValueError with the faulty key."""
    try:
        return _PROVENANCE.validate_python(values)
    except ValidationError as error:
        faults = (": ".join([*map(str, fault["loc"]), fault["msg"]]) for fault in error.errors())
        raise ValueError("; ".join(faults)) from None


@dataclass(frozen=True, order=True)
class RowKey:
    """What a row of the tables is of: a variant of a system, on a task."""

    system: str
    task: str
    data: str
    protocol: str
    metric: str
    variant: str

    @property
    def cells(self) -> tuple[str, ...]:
        """The cells of text of its row."""
        return (self.system, self.task, self.data, self.protocol, METRICS[self.metric].label, self.variant)


ROW_COLUMNS = columns("System", "Task", "Data", "Protocol", "Metric", "Variant")


def group_by_row(results: SavedResults, words: Iterable[str] = ()) -> dict[RowKey, SeedScores]:
    """Return row → final scores in the metric's unit (`select_final`), of rows that have all `words` as names."""
    rows: dict[RowKey, dict[int, float]] = {}
    for record in select_final(results.records):
        key = RowKey(*(record[name] for name in ("system", "task", "data", "protocol", "metric", "variant")))
        if {*key.cells, key.metric}.issuperset(words):
            rows.setdefault(key, {})[record["seed"]] = METRICS[key.metric].scale * record["value"]
    seeded = list_seeded(results.records)
    return {key: SeedScores(by_seed, (key.system, key.variant) in seeded) for key, by_seed in sorted(rows.items())}


def scores_table(results: SavedResults, words: Iterable[str] = ()) -> Table:
    """Return a table of mean scores with their 95% intervals over seeds."""
    rows = [
        (*key.cells, *format_score(estimate([*scores.by_seed.values()]), key), str(len(scores.by_seed)))
        for key, scores in group_by_row(results, words).items()
    ]
    return Table("Scores", (*ROW_COLUMNS, *columns(numbers=["Mean", "95% interval", "Seeds"])), tuple(rows))


def differences_table(results: SavedResults, other: SavedResults, words: Iterable[str] = ()) -> Table:
    """Return a table of the rows that both results have: means, and their difference over shared seeds.

    The difference is `other` − `results`, with the interval of Student's paired t-test.
    """
    first, second = group_by_row(results, words), group_by_row(other, words)
    rows = []
    for key in (key for key in first if key in second):
        differences = pair_by_seed(second[key], first[key])
        means = (format_score(estimate([*scores[key].by_seed.values()]), key)[0] for scores in (first, second))
        rows.append((*key.cells, *means, *format_score(estimate(differences), key, True), str(len(differences))))
    numbers = ["First", "Second", "Difference", "95% interval", "Shared seeds"]
    return Table("Differences", (*ROW_COLUMNS, *columns(numbers=numbers)), tuple(rows))


def format_score(score: Estimate | None, key: RowKey, signed: bool = False) -> tuple[str, str]:
    """Format a mean and the ends of its interval; an interval needs two seeds."""
    if score is None:
        return NOTHING, NOTHING
    style = f"{'+' if signed else ''}z.{METRICS[key.metric].decimals}f"
    if score.interval is None:
        return format(score.mean, style), NOTHING
    low, high = score.mean - score.interval, score.mean + score.interval
    # "-0.0" of a difference is below 0: the interval does not contain it.
    ends = style.replace("z", "") if signed else style
    return format(score.mean, style), f"{low:{ends}} to {high:{ends}}"


def runs_table(results: Mapping[str, SavedResults]) -> Table:
    """Return a table of results by name: one row for each system, with how it was made."""
    rows = [
        (
            name,
            system,
            run.text or NOTHING,
            (run.text_sha256 or NOTHING)[:8],
            ", ".join(commit[:8] for commit in (run.commit or NOTHING).split(", "))
            + ("+" if run.changed_files else ""),
            run.finished or NOTHING,
            run.processor or NOTHING,
            run.budget or NOTHING,
            str(len({record["seed"] for record in saved.records if record["system"] == system})),
            f"{saved.training_costs[system].minutes:.1f}",
            str(sum(record["system"] == system for record in saved.records)),
        )
        for name, saved in results.items()
        for system, run in saved.runs.items()
    ]
    text = columns("Name", "System", "Text", "Checksum", "Commit", "Finished", "Processor", "Budget")
    return Table("Results", (*text, *columns(numbers=["Seeds", "Training minutes", "Records"])), tuple(rows))

"""Scores and costs in the records of a run, by variant and seed."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

import pandas as pd

from contexture.paths import DataLayout
from contexture.reporting.names import RECORD_SPECS
from contexture.reporting.records import COST_KEYS, Record, ScoreKey, list_seeded, score_key
from contexture.reporting.saved_results import SavedResults
from contexture.reporting.seed_scores import SeedScores
from contexture.tasks.question_scores import read_question_scores

#: Largest difference between a record and the mean of its table of questions.
TABLE_TOLERANCE = 1e-6


class RunRecords:
    """The records of a run: a folder `data/08_reporting`, or a file of saved results."""

    def __init__(
        self, records: Iterable[Record], folder: Path | None = None, commands: Mapping[str, str | None] | None = None
    ) -> None:
        """`folder`: folder or file of the records; a folder has the tables of questions in `../07_model_output`.

        `commands`: system → command that repeats the run; None if it is unknown.
        """
        self.folder, self.commands = folder, commands or {}
        self._values: dict[tuple[str, str], dict[ScoreKey, dict[int, float]]] = {}
        self._costs: dict[tuple[str, str], dict[int, dict[str, Any]]] = {}
        self._examples: dict[tuple[str, str, ScoreKey], int] = {}
        all_records = list(records)
        self._seeded = list_seeded(all_records)
        for record in all_records:
            variant = record["system"], record["variant"]
            self._values.setdefault(variant, {}).setdefault(score_key(record), {})[record["seed"]] = record["value"]
            if "examples" in record:
                self._examples.setdefault((*variant, score_key(record)), record["examples"])
            if "seconds" in record:
                costs: dict[str, Any] = {key: record[key] for key in COST_KEYS}  # type: ignore[literal-required]
                self._costs.setdefault(variant, {})[record["seed"]] = costs

    @classmethod
    def read(cls, folder: Path) -> "RunRecords":
        """Read a file of saved results, or the `metrics.json` of all systems in a folder.

        Raises ValueError if there are none or one is invalid.
        """
        results = SavedResults.read(folder) if folder.is_file() else SavedResults.collect(folder)
        return cls.of_results(results, folder)

    @classmethod
    def of_results(cls, results: SavedResults, folder: Path) -> "RunRecords":
        """Return the records of results, which were read from a folder or file."""
        return cls(results.records, folder, {system: run.command for system, run in results.runs.items()})

    def get_costs(self, system: str, variant: str) -> dict[int, dict[str, Any]]:
        """Return seed → cost of a variant's training; {} if it was not trained here."""
        return self._costs.get((system, variant), {})

    def count_examples(self, system: str, variant: str, keys: Sequence[ScoreKey]) -> int | None:
        """Return the number of test examples of a variant's scores together, with its first seed; None if unknown."""
        counts = [self._examples.get((system, variant, key)) for key in keys]
        known = [count for count in counts if count is not None]
        return sum(known) if known and len(known) == len(counts) else None

    def list_keys(self, system: str, variant: str) -> set[ScoreKey]:
        """Return the keys of a variant's scores."""
        return set(self._values.get((system, variant), {}))

    def get_scores(self, system: str, variant: str, keys: Sequence[ScoreKey]) -> SeedScores:
        """Return a variant's mean over `keys` in points, for the seeds that have all of them."""
        by_key = [self._values.get((system, variant), {}).get(key, {}) for key in keys]
        seeds = set.intersection(*map(set, by_key)) if by_key else set()
        by_seed = {seed: 100 * mean(values[seed] for values in by_key) for seed in sorted(seeds)}
        return SeedScores(by_seed, (system, variant) in self._seeded)

    def get_steps_per_second(self, system: str, variant: str) -> SeedScores:
        """Return the speed of a variant's training by seed."""
        costs = self.get_costs(system, variant)
        return SeedScores({seed: c["steps"] / c["seconds"] for seed, c in costs.items() if c["steps"] and c["seconds"]})

    def read_questions(self, system: str, variant: str, seed: int, key: ScoreKey) -> "pd.Series[float] | None":
        """Return the score of each question, in points, by id; None if no saved table agrees with the record."""
        value = self._values[system, variant][key][seed]
        if self.folder is None or not self.folder.is_dir():
            return None
        results_dir = DataLayout(self.folder.parent).results_dir / system / RECORD_SPECS[key.task].name
        table = read_question_scores(results_dir, key.data, key.metric)
        if table is None:
            return None
        run = {"variant": variant, "seed": seed, "split": key.split, "protocol": key.protocol}
        rows = table[(table[list(run)] == pd.Series(run)).all(axis=1)].set_index("question")["value"]
        is_same = len(rows) > 0 and abs(float(rows.mean()) - value) <= TABLE_TOLERANCE
        return 100 * rows if is_same and rows.index.is_unique else None

"""Scores of the league: some columns per use of encoders, one score per variant and column."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import mean
from typing import overload

from contexture.reporting.names import DATA, REFERENCES, label_variant, protocol_name, sort_tasks
from contexture.reporting.phrases import count_noun
from contexture.reporting.records import COST_KEYS, Record, ScoreKey, list_data, list_seeded, score_key
from contexture.reporting.seed_scores import SeedScores, pair_by_seed
from contexture.reporting.tables import Comparison, Estimate, estimate
from contexture.tasks.registry import TASKS
from contexture.tasks.spec import LeagueUse

#: Objective that others are compared with.
BASELINE = "mlm"
#: Baselines without fine-tuning: they repeat their frozen score in the fine-tuned columns of a use.
WITHOUT_FINE_TUNING = ("bm25", "word_average", "word_overlap", "file_order", "random_order")
#: Smaller differences are not visible in one decimal.
MIN_SHOWN_POINTS = 0.05
#: With one seed, smaller differences in points count as ties.
TIE_POINTS = 2.0
FROZEN, TUNED = "frozen", "fine-tuned"
#: Uses of encoders.
USES = tuple(use for spec in TASKS.values() for use in spec.league)


@dataclass(frozen=True)
class LeagueColumn:
    """A column of scores: the mean over some keys of the records, in percent."""

    use: LeagueUse
    tuning: str  # `FROZEN`, or a description of the fine-tuning
    data: str
    keys: tuple[ScoreKey, ...]

    @property
    def is_frozen(self) -> bool:
        """Whether the encoders are frozen."""
        return self.tuning == FROZEN

    @property
    def name(self) -> str:
        """Name of the column within its use: how the encoders are tuned, or the number of tasks of the mean."""
        return self.tuning if self.use.task else "mean of " + count_noun(len(self.keys), "task")

    @property
    def title(self) -> str:
        """Title of the column alone: "Search, frozen: R@10, SQuAD"."""
        return f"{self.use.name}, {self.name}: {self.use.score}, {DATA.get(self.data, self.data)}"


class League:
    """Scores of all variants."""

    def __init__(
        self, records: Sequence[Record], labels: Mapping[str, str] | None = None, uses: Sequence[LeagueUse] = USES
    ) -> None:
        self.labels = REFERENCES | dict(labels or {})
        self.variants = list(dict.fromkeys(r["variant"] for r in records))
        self.costs = {r["variant"]: {key: r[key] for key in COST_KEYS} for r in records if "flops" in r}  # type: ignore[literal-required]
        #: Variant → passes over the text in training.
        self.epochs = {r["variant"]: r["epochs"] for r in records if "epochs" in r}
        #: Variant → the variant with its initial weights.
        self.starts = {r["variant"]: r["untrained_start"] for r in records if "untrained_start" in r}
        #: Variant → seed → loss on held-out documents before and after training, and whether it was stopped early.
        self.held_out: dict[str, dict[int, tuple[float, float, bool]]] = {}
        for record in records:
            if "held_out_loss" in record:
                losses = (record["held_out_loss_start"], record["held_out_loss"], record["stopped_early"])
                self.held_out.setdefault(record["variant"], {})[record["seed"]] = losses
        self._values: dict[tuple[str, ScoreKey], dict[int, float]] = {}
        seeds: dict[str, set[int]] = {}
        for record in records:
            self._values.setdefault((record["variant"], score_key(record)), {})[record["seed"]] = 100 * record["value"]
            seeds.setdefault(record["variant"], set()).add(record["seed"])
        #: Variants that depend on a seed.
        self.seeded = {variant for _, variant in list_seeded(records)}
        self.seeds = max(map(len, seeds.values()), default=0)
        self.columns = _list_columns(records, uses)
        self.columns = [c for c in self.columns if any(self.values(v, c) for v in self.variants)]

    def label(self, variant: str) -> str:
        """Return the label of a variant."""
        return label_variant(variant, self.labels)

    def values(self, variant: str, column: LeagueColumn) -> dict[int, float]:
        """Return seed → mean over the column's keys in percent, for seeds with all keys.

        Baselines without fine-tuning have their frozen score in fine-tuned columns.
        """
        values_by_key = [self._values.get((variant, key), {}) for key in column.keys]
        seeds = set.intersection(*map(set, values_by_key))
        if not seeds and variant in WITHOUT_FINE_TUNING and not column.is_frozen:
            frozen = [c for c in self.columns if (c.use, c.data) == (column.use, column.data) and c.is_frozen]
            return self.values(variant, frozen[0]) if frozen else {}
        return {seed: mean(values[seed] for values in values_by_key) for seed in sorted(seeds)}

    @cached_property
    def scores(self) -> dict[LeagueColumn, dict[str, Estimate]]:
        """Column → variant → mean score with its interval; variants without a score are left out."""
        return {
            column: {
                variant: score
                for variant in self.variants
                if (score := estimate([*self.values(variant, column).values()])) is not None
            }
            for column in self.columns
        }

    def compare(self, variant: str, baseline: str, column: LeagueColumn) -> Comparison | None:
        """Return a variant's differences to a baseline in a column, for their shared seeds; None without any."""
        above, below = (SeedScores(self.values(name, column), name in self.seeded) for name in (variant, baseline))
        differences = pair_by_seed(above, below)
        if not differences:
            return None
        labels = self.label(variant), self.label(baseline)
        return Comparison(f"{column.use.name}, {column.tuning}", column.use.metric, *labels, differences, None)

    def is_undecided(self, variant: str, other: str, column: LeagueColumn) -> bool:
        """Whether the seeds do not show which of two variants is better: by the paired test or overlapping intervals.

        With one seed, differences below `TIE_POINTS` are undecided.
        """
        gain = self.compare(variant, other, column)
        if gain is None:
            return False
        if gain.test is None:  # one seed, or equal differences
            return abs(gain.differences[0]) < (TIE_POINTS if len(gain.differences) < 2 else MIN_SHOWN_POINTS)
        scores = self.scores[column]
        return gain.test[1] >= 0.05 or scores[variant].overlaps(scores[other])

    @overload
    def best(self, column: LeagueColumn) -> str: ...

    @overload
    def best(self, column: LeagueColumn, among: Collection[str]) -> str | None: ...

    def best(self, column: LeagueColumn, among: Collection[str] | None = None) -> str | None:
        """Return the variant with the highest mean, optionally `among` some; None if none of them has a score."""
        scores = self.scores[column]
        variants = [variant for variant in scores if among is None or variant in among]
        return max(variants, key=lambda variant: scores[variant].mean, default=None)

    @cached_property
    def trained_variants(self) -> list[str]:
        """Variants that were trained here, by this system or an included one."""
        return [variant for kind in ("objectives", "included") for variant in self.groups.get(kind, ())]

    @cached_property
    def mean_ranks(self) -> dict[str, float]:
        """Variant → mean rank over the columns with its scores, sorted from the best."""
        ranks: dict[str, list[int]] = {}
        for scores in self.scores.values():
            for variant, score in scores.items():
                ranks.setdefault(variant, []).append(1 + sum(other.mean > score.mean for other in scores.values()))
        means = {variant: mean(variant_ranks) for variant, variant_ranks in ranks.items()}
        return dict(sorted(means.items(), key=lambda item: (item[1], item[0])))

    @cached_property
    def groups(self) -> dict[str, list[str]]:
        """Kind of variant (objectives, included, published, references) → its variants, sorted from the best."""
        groups: dict[str, list[str]] = {"objectives": [], "included": [], "published": [], "references": []}
        for variant in self.mean_ranks:
            groups[self._kind(variant)].append(variant)
        return {kind: variants for kind, variants in groups.items() if variants}

    @property
    def references(self) -> list[str]:
        """Variants without encoder training, sorted from the best."""
        return self.groups.get("references", [])

    @property
    def order(self) -> list[str]:
        """All variants, sorted by group and mean rank."""
        return [variant for variants in self.groups.values() for variant in variants]

    def _kind(self, variant: str) -> str:
        """Return the kind of a variant, a key of `groups`."""
        if variant in REFERENCES:
            return "references"
        if ": " in variant:
            return "included"
        if variant not in self.costs:
            return "published"
        return "objectives" if self.costs[variant]["steps"] else "references"


def _list_columns(records: Iterable[Record], uses: Iterable[LeagueUse]) -> list[LeagueColumn]:
    """Return the columns of scores for all measured uses, sorted by use, data, and from frozen to fine-tuned."""
    whole = [r for r in records if r["split"] == "test" and "/" not in r["data"]]
    columns = []
    for use in uses:
        use_records = [r for r in whole if r["metric"] == use.metric and (not use.task or r["task"] == use.task)]
        for data in list_data(use_records):
            protocols = {r["protocol"] for r in use_records if r["data"] == data}
            if use.task:
                columns += [
                    LeagueColumn(use, tuning, data, (ScoreKey(use.task, data, protocol, use.metric),))
                    for protocol, tuning in _select_protocols(use, protocols).items()
                ]
            elif ran := [protocol for protocol in use.protocols if protocol in protocols]:
                tasks = sort_tasks(r["task"] for r in use_records if (r["data"], r["protocol"]) == (data, ran[0]))
                keys = tuple(ScoreKey(task, data, ran[0], use.metric) for task in tasks)
                columns.append(LeagueColumn(use, FROZEN, data, keys))
    return columns


def _select_protocols(use: LeagueUse, protocols: Iterable[str]) -> dict[str, str]:
    """Return a use's shown protocols → `LeagueColumn.tuning`: frozen, and fine-tuned (on the largest share)."""
    names = set(protocols)
    tunings = {FROZEN: FROZEN} if FROZEN in names else {}
    tunings |= {protocol: protocol_name(protocol) for protocol in use.tuned if protocol in names}
    shares = [name for name in names if "%" in use.tuned and re.fullmatch(r"[\d.]+%", name)]
    if shares:
        largest = max(shares, key=lambda name: float(name[:-1]))
        tunings[largest] = f"{TUNED} on {largest}"
    return tunings


def data_name(column: LeagueColumn) -> str:
    """Return the title of a column's data set."""
    return DATA.get(column.data, column.data)

"""Scores of models by seed, and their differences."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class SeedScores:
    """Scores of a variant by seed."""

    by_seed: Mapping[int, float]
    #: Whether the variant depends on a seed (see `list_seeded`). One measurement of others counts for all seeds.
    is_seeded: bool = True

    @property
    def has_all_seeds(self) -> bool:
        """Whether the only measurement counts for all seeds."""
        return not self.is_seeded and len(self.by_seed) == 1

    def get(self, seed: int) -> float:
        """Return the score with a seed."""
        return next(iter(self.by_seed.values())) if self.has_all_seeds else self.by_seed[seed]


def share_seeds(scores: Sequence[SeedScores], seeds: Sequence[int] | None = None) -> list[int]:
    """Return the seeds that all scores have, among `seeds` if given."""
    if not all(score.by_seed for score in scores):
        return []
    measured = [set(score.by_seed) for score in scores if not score.has_all_seeds]
    if seeds is not None:
        measured.append(set(seeds))
    # Without seeds, there is one measurement.
    return sorted(set.intersection(*measured)) if measured else [0]


def pair_by_seed(above: SeedScores, below: SeedScores) -> tuple[float, ...]:
    """Return above − below for each shared seed."""
    return tuple(above.get(seed) - below.get(seed) for seed in share_seeds([above, below]))

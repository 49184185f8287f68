"""Tables of the sentence tasks, independent of file formats."""

from collections.abc import Iterable
from dataclasses import dataclass

import pandas as pd


@dataclass(frozen=True, eq=False)
class ClassificationTask:
    """Sentences, or pairs of sentences, and their classes.

    ``table`` has the columns ``split`` (``all``, or ``train``, ``dev`` and ``test``; MRPC has no ``dev``), ``text``,
    for pairs ``text2``, and ``label`` (int64, a position in ``classes``), in file order.
    """

    name: str
    classes: tuple[str, ...]
    table: pd.DataFrame
    #: Number of skipped lines with an empty sentence.
    dropped: int = 0

    @property
    def pairs(self) -> bool:
        """Whether the rows are pairs of sentences."""
        return "text2" in self.table


@dataclass(frozen=True, eq=False)
class RelatednessTask:
    """Pairs of sentences and their relatedness, which a regression learns.

    ``table`` has the columns ``split`` (``train``, ``dev``, ``test``), ``text``, ``text2`` and ``score`` (float64, from
    ``low`` to ``high``), in file order.
    """

    name: str
    low: float
    high: float
    table: pd.DataFrame


@dataclass(frozen=True, eq=False)
class SimilarityTask:
    """Pairs of sentences and their similarity, compared with the cosine of their vectors without training.

    ``table`` has the columns ``subset`` (the published name, as ``deft-forum``; ``test`` for tasks with one subset),
    ``text``, ``text2`` and ``score`` (float64), grouped by subset and in file order.
    """

    name: str
    table: pd.DataFrame
    #: Number of skipped lines without a score.
    dropped: int = 0


def distinct(texts: Iterable[Iterable[str]]) -> list[str]:
    """Return the distinct texts of several tables, in order of first occurrence."""
    return list(dict.fromkeys(text for table in texts for text in table))

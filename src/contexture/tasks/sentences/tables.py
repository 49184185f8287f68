"""The tasks by which encoders of sentences are compared, apart from the files that they come in."""

from collections.abc import Iterable
from dataclasses import dataclass

import pandas as pd


@dataclass(frozen=True, eq=False)
class ClassificationTask:
    """Sentences, or pairs of sentences, and their classes.

    ``table`` has the columns ``split`` (``all``, or ``train``, ``dev`` and ``test``; MRPC has no ``dev``), ``text``,
    for pairs ``text2``, and ``label`` (int64, a position in ``classes``); its rows stand in the files' order.
    """

    name: str
    classes: tuple[str, ...]
    table: pd.DataFrame
    #: Lines of the files that the table lacks because a sentence in them is empty.
    dropped: int = 0

    @property
    def pairs(self) -> bool:
        """Whether the classes are of pairs of sentences."""
        return "text2" in self.table


@dataclass(frozen=True, eq=False)
class RelatednessTask:
    """Pairs of sentences and their degree of relatedness, which a regression is trained to predict.

    ``table`` has the columns ``split`` (``train``, ``dev``, ``test``), ``text``, ``text2`` and ``score`` (float64,
    between ``low`` and ``high``), its rows in the files' order.
    """

    name: str
    low: float
    high: float
    table: pd.DataFrame


@dataclass(frozen=True, eq=False)
class SimilarityTask:
    """Pairs of sentences and their degree of similarity, to hold against the cosine of their vectors, untrained.

    ``table`` has the columns ``subset`` (the published name, as ``deft-forum``; ``test`` for tasks that have but one),
    ``text``, ``text2`` and ``score`` (float64), each subset's rows together and in its file's order.
    """

    name: str
    table: pd.DataFrame
    #: Lines of the files that the table lacks because nobody scored them.
    dropped: int = 0


def distinct(texts: Iterable[Iterable[str]]) -> list[str]:
    """The sentences of several tables, each once, in the order in which they come first."""
    return list(dict.fromkeys(text for table in texts for text in table))

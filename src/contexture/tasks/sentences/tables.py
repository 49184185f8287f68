"""The tasks by which encoders of sentences are compared, apart from the files that they come in."""

from collections.abc import Iterable
from dataclasses import dataclass

import pandas as pd


@dataclass(frozen=True, eq=False)
class ClassificationTask:
    """Sentences, or pairs of sentences, and their classes.

    ``table`` has the columns ``split`` (``all``, or ``train``, ``dev`` and ``test``; MRPC has no ``dev``), ``text``,
    for pairs ``text2``, and ``label`` (int64, a place in ``classes``); its rows stand in the files' order.
    """

    name: str
    """mr, cr, subj, mpqa, sst2, sst5, trec, mrpc or sick_e."""
    classes: tuple[str, ...]
    table: pd.DataFrame
    dropped: int = 0
    """Lines of the files that the table lacks because a sentence in them is empty."""

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
    """sick_r or stsb."""
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
    """sts12 to sts16, stsb or sick_r."""
    table: pd.DataFrame
    dropped: int = 0
    """Lines of the files that the table lacks because nobody scored them."""


def distinct(texts: Iterable[Iterable[str]]) -> list[str]:
    """The sentences of several tables, each once, in the order in which they come first."""
    return list(dict.fromkeys(text for table in texts for text in table))

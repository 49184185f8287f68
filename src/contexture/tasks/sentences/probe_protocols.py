"""Protocols of the published scripts: splits of a task and selection of the strength C.

Results depend on the protocol. Both select C by accuracy or F1 on held-out training rows; ties: the smaller C. Tasks
without splits use inner folds in every outer fold (10 × 10), tasks with a test part use folds of the training part, and
tasks with a development part use that. Folds are scikit-learn's, over the rows in the order of the scripts.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from sklearn.model_selection import KFold, StratifiedKFold
from torch import Tensor

Rows = NDArray[np.int64]


@dataclass(frozen=True)
class Protocol:
    """Choices in which the published probes differ."""

    name: str
    nested: tuple[float, ...]
    """Candidates for C with inner folds or a development part, ascending."""
    folds: tuple[float, ...]
    """Candidates for C with folds of a training part, ascending."""
    order: Literal["by_length", "shuffled"]
    """Order of the rows before splitting: by numbers of words (first, second sentence) and label, or shuffled."""
    stratified: bool
    """Whether folds are stratified and shuffled; otherwise they are consecutive rows."""
    seed: int
    pairs_by: Literal["accuracy", "f1"]
    """Score that selects C by folds for pairs of two classes (MRPC)."""
    rounded: bool
    """Whether mean validation scores are rounded to hundredths of a percent."""


#: SentEval's scikit-learn probe (Conneau and Kiela 2018): `LogisticRegression`, kfold 10.
SENTEVAL = Protocol(
    name="senteval",
    nested=tuple(2.0**power for power in range(-2, 4)),
    folds=tuple(2.0**power for power in range(-1, 6)),
    order="by_length",
    stratified=True,
    seed=1111,
    pairs_by="accuracy",
    rounded=True,
)
#: The scripts of Kiros et al. (2015), which Quick-Thoughts uses (section 4.4).
SKIP_THOUGHTS = Protocol(
    name="skip_thoughts",
    nested=tuple(2.0**power for power in range(9)),
    folds=tuple(2.0**power for power in range(9)),
    order="shuffled",
    stratified=False,
    seed=1234,
    pairs_by="f1",
    rounded=False,
)
PROTOCOLS = {protocol.name: protocol for protocol in (SENTEVAL, SKIP_THOUGHTS)}

NUM_FOLDS = 10


@dataclass(frozen=True, eq=False)
class OuterFold:
    """Rows of a test part, its training part, and the inner folds that select C."""

    train: Rows
    test: Rows
    inner: tuple[tuple[Rows, Rows], ...]
    """Rows to fit and rows to validate, by inner fold."""


def split_outer_folds(table: pd.DataFrame, protocol: Protocol) -> list[OuterFold]:
    """Return the outer folds of a task's table by a protocol; for a table with a test part, one with that part.

    Raises:
        ValueError: for fewer rows than folds, or splits other than `all`, or `train`, `test` and optionally `dev`.
    """
    parts = {str(name): np.flatnonzero(table["split"] == name) for name in table["split"].unique()}
    if set(parts) == {"all"}:
        rows = _order_rows(table, parts["all"], protocol)
        return [
            OuterFold(train, test, tuple(_split_folds(table, train, protocol)))
            for train, test in _split_folds(table, rows, protocol)
        ]
    if set(parts) == {"train", "test"}:
        rows = _order_rows(table, parts["train"], protocol)
        return [OuterFold(parts["train"], parts["test"], tuple(_split_folds(table, rows, protocol)))]
    if set(parts) == {"train", "dev", "test"}:
        return [OuterFold(parts["train"], parts["test"], ((parts["train"], parts["dev"]),))]
    raise ValueError(f"the splits are {sorted(parts)}: expected all; train and test; or train, dev and test")


def _order_rows(table: pd.DataFrame, rows: Rows, protocol: Protocol) -> Rows:
    """Return the rows in the order in which the protocol splits them into folds: shuffled, or by length."""
    labels = table["label"].to_numpy()[rows]
    if protocol.order == "shuffled":
        # Tasks in two files are shuffled with class 1 first.
        shuffled = rows[np.argsort(-labels, kind="stable")] if table["split"].iloc[0] == "all" else rows.copy()
        np.random.RandomState(protocol.seed).shuffle(shuffled)
        return shuffled
    texts = [column for column in ("text", "text2") if column in table]
    keys = [table[column].iloc[rows].str.split().str.len().to_numpy() for column in texts]
    return rows[np.lexsort([labels, *reversed(keys)])]


def _split_folds(table: pd.DataFrame, rows: Rows, protocol: Protocol) -> list[tuple[Rows, Rows]]:
    """Return (training rows, test rows) of each of `NUM_FOLDS` folds of the rows."""
    if len(rows) < NUM_FOLDS:
        raise ValueError(f"{len(rows)} rows are too few for {NUM_FOLDS} folds; add rows")
    labels = table["label"].to_numpy()[rows]
    if protocol.stratified:
        cut = StratifiedKFold(NUM_FOLDS, shuffle=True, random_state=protocol.seed).split(rows, labels)
    else:
        cut = KFold(NUM_FOLDS).split(rows)
    return [(rows[train], rows[test]) for train, test in cut]


def pair_features(left: Tensor, right: Tensor, with_vectors: bool = False) -> Tensor:
    """Return features of vectors u, v [N, D]: [|u−v|, u∗v], or [u, v, |u−v|, u∗v] as in SentEval's SNLI."""
    compared = [(left - right).abs(), left * right]
    return torch.cat([left, right, *compared] if with_vectors else compared, 1)

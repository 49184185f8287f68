"""How the published scripts split a task and choose the strength C of its logistic regression.

A figure depends on it, so a protocol has a name. Both choose C by accuracy, or F1, on rows held out of the training
part, and of equal scores take the smaller C: by inner folds in every outer fold where a task has no split (10 × 10), by
folds of the training part where there is a test part, by the development part where there is one. The folds are
scikit-learn's, over the rows in the order in which the scripts hold them.
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
    """The choices in which the published probes differ."""

    name: str
    nested: tuple[float, ...]
    """C to choose from by inner folds or by a development part, ascending."""
    folds: tuple[float, ...]
    """C to choose from by folds of a training part, ascending."""
    order: Literal["by_length", "shuffled"]
    """Of the rows before they are split: by words of the first and the second sentence and by label, or shuffled."""
    stratified: bool
    """Whether each fold has every class in equal shares; its rows are then drawn, else they are the next in order."""
    seed: int
    pairs_by: Literal["accuracy", "f1"]
    """What chooses C for pairs of two classes by folds (MRPC)."""
    rounded: bool
    """Whether mean validation scores are compared in hundredths of a percent."""


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
#: The scripts of Kiros et al. (2015), which Quick-Thoughts uses (section 4.2).
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
    """One test part, and what chooses C for it; all are rows of the task's table."""

    train: Rows
    test: Rows
    inner: tuple[tuple[Rows, Rows], ...]
    """Rows to fit and rows to validate on."""


def split_outer_folds(table: pd.DataFrame, protocol: Protocol) -> list[OuterFold]:
    """Split a task's table as the protocol does: one round an outer fold, or one for the test part.

    Raises:
        ValueError: if there are fewer rows than folds, or parts other than `all`, or `train`, `test` and perhaps `dev`.
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
    labels = table["label"].to_numpy()[rows]
    if protocol.order == "shuffled":
        # A task in two files is shuffled from where the file of class 1 stands first.
        shuffled = rows[np.argsort(-labels, kind="stable")] if table["split"].iloc[0] == "all" else rows.copy()
        np.random.RandomState(protocol.seed).shuffle(shuffled)
        return shuffled
    texts = [column for column in ("text", "text2") if column in table]
    keys = [table[column].iloc[rows].str.split().str.len().to_numpy() for column in texts]
    return rows[np.lexsort([labels, *reversed(keys)])]


def _split_folds(table: pd.DataFrame, rows: Rows, protocol: Protocol) -> list[tuple[Rows, Rows]]:
    if len(rows) < NUM_FOLDS:
        raise ValueError(f"{len(rows)} rows cannot be cut into {NUM_FOLDS} folds")
    labels = table["label"].to_numpy()[rows]
    if protocol.stratified:
        cut = StratifiedKFold(NUM_FOLDS, shuffle=True, random_state=protocol.seed).split(rows, labels)
    else:
        cut = KFold(NUM_FOLDS).split(rows)
    return [(rows[train], rows[test]) for train, test in cut]


def pair_features(left: Tensor, right: Tensor, with_vectors: bool = False) -> Tensor:
    """What a probe sees of two vectors u, v [N, D]: [|u−v|, u∗v], or [u, v, |u−v|, u∗v] as SentEval's SNLI has it."""
    compared = [(left - right).abs(), left * right]
    return torch.cat([left, right, *compared] if with_vectors else compared, 1)

"""Splits of labelled pairs into train, dev and test."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from contexture.splits import TEST_SHARE, draw_rows, uniform

#: Share of the training rows held out as dev, if a set has no dev part (Cross-Thought, section 4.1).
DEV_SHARE = 0.05
PARTS = ("train", "dev", "test")


@dataclass(frozen=True)
class PairSet:
    """Labelled pairs of a set."""

    #: `part` (train, dev or test), `genres`, `first`, `second`, `label`.
    rows: pd.DataFrame
    #: Dropped rows: `without_label`, `without_text`.
    dropped: dict[str, int]
    #: How the parts differ from the published ones; "" if they do not.
    note: str


def split_set(name: str, table: pd.DataFrame) -> PairSet:
    """Return the rows of a set with label and text, each assigned to a part (train, dev or test).

    - Train and test parts: used as published. If the test labels are hidden, the dev part is tested.
    - No dev part, or a tested one: `DEV_SHARE` of the training part becomes dev.
    - No train and test parts: all rows are split.

    Rows are split by a hash of their texts; rows with the same first text, and pairs and their reverses, stay together.
    Raises ValueError for an empty part, a training part with one label, and labels that the training part lacks.
    """
    without_label = table["label"].eq("")
    without_text = table["first"].eq("") | table["second"].eq("")
    rows = table[~without_label & ~without_text].reset_index(drop=True)
    dropped = {"without_label": int(without_label.sum()), "without_text": int((without_text & ~without_label).sum())}
    parts = set(rows["part"])
    note = ""
    if "train" not in parts or len(parts) == 1:
        note = f"no published train and test parts: {TEST_SHARE:.0%} of all rows, by a hash of the texts, are tested"
        test = draw_rows(rows, "test", TEST_SHARE)
        rows = rows.assign(part=np.where(test, "test", "train"), genres="")
    elif "test" not in parts:
        note = "tested on the dev part: the test part has no labels"
        rows = rows.assign(part=rows["part"].replace("dev", "test"))
    if "dev" not in set(rows["part"]):
        train = rows["part"].eq("train").to_numpy()
        held_out = np.zeros(len(rows), bool)
        held_out[train] = draw_rows(rows[train], "dev", DEV_SHARE)
        rows = rows.assign(part=rows["part"].mask(held_out, "dev"))
    rows.loc[rows["part"].ne("test"), "genres"] = ""
    _check_labels(name, rows)
    return PairSet(rows, dropped, note)


def sample_rows(rows: pd.DataFrame, count: int | None) -> pd.DataFrame:
    """Return at most `count` rows, in order, sampled by a hash of their texts."""
    if count is None or len(rows) <= count:
        return rows
    keys = [uniform("train", *texts) for texts in zip(rows["first"], rows["second"], strict=True)]
    return rows.iloc[np.sort(np.argsort(keys, kind="stable")[:count])]


def _check_labels(name: str, rows: pd.DataFrame) -> None:
    """Raise ValueError for an empty part, a training part with one label, and labels that the training part lacks."""
    labels = {part: set(rows.loc[rows["part"] == part, "label"]) for part in PARTS}
    if empty := [part for part in PARTS if not labels[part]]:
        raise ValueError(f"{name}: {len(rows)} labelled pairs leave none for {' and '.join(empty)}; add pairs")
    if len(labels["train"]) < 2:
        raise ValueError(f"{name}: all training pairs have the label {labels['train'].pop()!r}; add pairs with others")
    for part in ("dev", "test"):
        if unknown := sorted(labels[part] - labels["train"]):
            raise ValueError(
                f"{name}: the {part} part has the labels {unknown}, the training part has "
                f"{sorted(labels['train'])} only: use files of the same set"
            )

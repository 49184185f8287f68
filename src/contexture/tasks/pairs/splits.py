"""Which pairs are trained on, which are held out to choose by, and which are tested on."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from contexture.splits import TEST_SHARE, draw_rows, uniform

#: Share of the rows to train on that is held out, where a set has no part for that (Cross-Thought, section 4.1).
HELD_OUT = 0.05
PARTS = ("train", "dev", "test")


@dataclass(frozen=True)
class PairSet:
    """The labelled pairs of a set."""

    #: `part` (train, dev or test), `genres`, `first`, `second`, `label`.
    rows: pd.DataFrame
    #: Rows that were left out: `without_label`, `without_text`.
    dropped: dict[str, int]
    #: How the parts are not the published ones; "" where they are.
    said: str


def split_set(name: str, table: pd.DataFrame) -> PairSet:
    """Leave out what has no label or no text, and give every other row its part.

    Where there is a part to train on, the test part is tested on, or, where its labels are hidden, the dev part. A dev
    part that is not tested on is what choices are made by; else `HELD_OUT` of the training part is. Without parts to
    train and to test on, all rows are split. Rows are split by a hash of their texts: those with the same first text
    stay together, and so do a pair and its reverse.

    Raises:
        ValueError: a part has no row, the training part one label, or another part a label that it lacks.
    """
    without_label = table["label"].eq("")
    without_text = table["first"].eq("") | table["second"].eq("")
    rows = table[~without_label & ~without_text].reset_index(drop=True)
    dropped = {"without_label": int(without_label.sum()), "without_text": int((without_text & ~without_label).sum())}
    there = set(rows["part"])
    said = ""
    if "train" not in there or len(there) == 1:
        said = (
            f"no published parts to train and to test on: {TEST_SHARE:.0%} of all rows, "
            "by a hash of the texts, are tested"
        )
        test = draw_rows(rows, "test", TEST_SHARE)
        rows = rows.assign(part=np.where(test, "test", "train"), genres="")
    elif "test" not in there:
        said = "tested on the dev part, as there are no labels of a test part"
        rows = rows.assign(part=rows["part"].replace("dev", "test"))
    if "dev" not in set(rows["part"]):
        train = rows["part"].eq("train").to_numpy()
        held_out = np.zeros(len(rows), bool)
        held_out[train] = draw_rows(rows[train], "dev", HELD_OUT)
        rows = rows.assign(part=rows["part"].mask(held_out, "dev"))
    rows.loc[rows["part"].ne("test"), "genres"] = ""
    _check(name, rows)
    return PairSet(rows, dropped, said)


def first_rows(rows: pd.DataFrame, count: int | None) -> pd.DataFrame:
    """At most so many rows, drawn by a hash of their texts, in the order in which they stand."""
    if count is None or len(rows) <= count:
        return rows
    keys = [uniform("train", one, two) for one, two in zip(rows["first"], rows["second"], strict=True)]
    return rows.iloc[np.sort(np.argsort(keys, kind="stable")[:count])]


def _check(name: str, rows: pd.DataFrame) -> None:
    labels = {part: set(rows.loc[rows["part"] == part, "label"]) for part in PARTS}
    if empty := [part for part, found in labels.items() if not found]:
        raise ValueError(f"{name}: {len(rows)} labelled pairs leave none for {' and '.join(empty)}; give more")
    if len(labels["train"]) < 2:
        raise ValueError(f"{name}: all pairs to train on have the label {labels['train'].pop()!r}; give others, too")
    for part in ("dev", "test"):
        if unknown := sorted(labels[part] - labels["train"]):
            raise ValueError(
                f"{name}: the {part} part has the labels {unknown}, the training part has "
                f"{sorted(labels['train'])} alone: give files of the same set"
            )

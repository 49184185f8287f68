"""Which pairs are trained on, which are held out to choose by, and which are tested on."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from contexture.splits import TEST, drawn, uniform

#: Share of the rows to train on that is held out, where a set has no part for that (Cross-Thought, section 4.1).
DEV_SHARE = 0.05
PARTS = ("train", "dev", "test")


@dataclass(frozen=True)
class PairSet:
    """The labelled pairs of a set."""

    #: `part` (train, dev or test), `genres`, `first`, `second`, `label`.
    rows: pd.DataFrame
    #: Rows that were left out: `without_label`, `without_text`.
    dropped: dict[str, int]
    #: How the parts differ from the published ones; "" if they do not.
    note: str


def split_set(name: str, table: pd.DataFrame) -> PairSet:
    """Leave out rows without label or text, and give every other row its part.

    With a part to train on, the test part is tested, or, if its labels are hidden, the dev part. A dev part that is not
    tested chooses; without one, `DEV_SHARE` of the training part does. Without parts to train and to test on, all rows
    are split. Rows are split by a hash of their texts: those with the same first text stay together, and so do a pair
    and its reverse. ValueError if a part has no row, the training part one label, or another part a label that is not
    among the training part's.
    """
    without_label = table["label"].eq("")
    without_text = table["first"].eq("") | table["second"].eq("")
    rows = table[~without_label & ~without_text].reset_index(drop=True)
    dropped = {"without_label": int(without_label.sum()), "without_text": int((without_text & ~without_label).sum())}
    parts = set(rows["part"])
    note = ""
    if "train" not in parts or len(parts) == 1:
        note = f"no published parts to train and to test on: {TEST:.0%} of all rows, by a hash of the texts, are tested"
        test = drawn(rows, "test", TEST)
        rows = rows.assign(part=np.where(test, "test", "train"), genres="")
    elif "test" not in parts:
        note = "tested on the dev part, as there are no labels of a test part"
        rows = rows.assign(part=rows["part"].replace("dev", "test"))
    if "dev" not in set(rows["part"]):
        train = rows["part"].eq("train").to_numpy()
        held_out = np.zeros(len(rows), bool)
        held_out[train] = drawn(rows[train], "dev", DEV_SHARE)
        rows = rows.assign(part=rows["part"].mask(held_out, "dev"))
    rows.loc[rows["part"].ne("test"), "genres"] = ""
    _check_labels(name, rows)
    return PairSet(rows, dropped, note)


def sample_rows(rows: pd.DataFrame, count: int | None) -> pd.DataFrame:
    """At most `count` rows, drawn by a hash of their texts, in their order."""
    if count is None or len(rows) <= count:
        return rows
    keys = [uniform("train", *texts) for texts in zip(rows["first"], rows["second"], strict=True)]
    return rows.iloc[np.sort(np.argsort(keys, kind="stable")[:count])]


def _check_labels(name: str, rows: pd.DataFrame) -> None:
    labels = {part: set(rows.loc[rows["part"] == part, "label"]) for part in PARTS}
    if empty := [part for part in PARTS if not labels[part]]:
        raise ValueError(f"{name}: {len(rows)} labelled pairs leave none for {' and '.join(empty)}; give more")
    if len(labels["train"]) < 2:
        raise ValueError(f"{name}: all pairs to train on have the label {labels['train'].pop()!r}; give others, too")
    for part in ("dev", "test"):
        if unknown := sorted(labels[part] - labels["train"]):
            raise ValueError(
                f"{name}: the {part} part has the labels {unknown}, the training part has "
                f"{sorted(labels['train'])} alone: give files of the same set"
            )

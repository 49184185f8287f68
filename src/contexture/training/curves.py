"""Read the curves of a run."""

import math
import shutil
from pathlib import Path

import pandas as pd

#: Curves are in `<CURVES_PREFIX><first step>/metrics.csv`, one folder for the start and each resumption.
CURVES_PREFIX = "curves-"


def read_curves(folder: Path) -> pd.DataFrame:
    """Read a run's curves: `step` and one column per series, joined over resumptions; empty without training.

    Steps of a killed part that its resumption repeated are left out.
    """
    files = {
        int(file.parent.name.removeprefix(CURVES_PREFIX)): file for file in folder.glob(f"{CURVES_PREFIX}*/metrics.csv")
    }
    if not files:
        return pd.DataFrame({"step": []})
    starts = sorted(files)
    tables = [pd.read_csv(files[start]) for start in starts]
    parts = [table[table["step"] <= end] for table, end in zip(tables, [*starts[1:], math.inf], strict=True)]
    rows = pd.concat(parts, ignore_index=True)
    return rows.groupby("step", as_index=False).last().drop(columns="epoch", errors="ignore")


def remove_later_curves(folder: Path, first_step: int) -> None:
    """Remove parts of the curves after the first step of a run, which are left if its checkpoint was deleted."""
    for part in folder.glob(f"{CURVES_PREFIX}*"):
        if int(part.name.removeprefix(CURVES_PREFIX)) > first_step:
            shutil.rmtree(part)

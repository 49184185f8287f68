"""Read the curves of a run."""

from pathlib import Path

import pandas as pd

#: Curves are in `<CURVES_PREFIX><first step>/metrics.csv`, one folder for the start and each resumption.
CURVES_PREFIX = "curves-"


def read_curves(folder: Path) -> pd.DataFrame:
    """Read a run's curves: `step` and one column per series, joined over resumptions; empty without training."""
    parts = sorted(
        folder.glob(f"{CURVES_PREFIX}*/metrics.csv"), key=lambda file: int(file.parent.name.removeprefix(CURVES_PREFIX))
    )
    if not parts:
        return pd.DataFrame({"step": []})
    rows = pd.concat([pd.read_csv(part) for part in parts], ignore_index=True)
    return rows.groupby("step", as_index=False).last().drop(columns="epoch", errors="ignore")

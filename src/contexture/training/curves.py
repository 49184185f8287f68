"""The curves of a run, read back from its files."""

from pathlib import Path

import pandas as pd

#: Curves of a run lie in `<CURVES><first step>/metrics.csv`: one more folder for every resumption.
CURVES_PREFIX = "curves-"


def read_curves(folder: Path) -> pd.DataFrame:
    """`step` and one column per series, joined where the run was resumed; empty for a run without training."""
    parts = sorted(
        folder.glob(f"{CURVES_PREFIX}*/metrics.csv"), key=lambda file: int(file.parent.name.removeprefix(CURVES_PREFIX))
    )
    if not parts:
        return pd.DataFrame({"step": []})
    rows = pd.concat([pd.read_csv(part) for part in parts], ignore_index=True)
    return rows.groupby("step", as_index=False).last().drop(columns="epoch", errors="ignore")

"""Figure of quality by training time: the paper's Figure 2."""

from collections.abc import Mapping, Sequence
from math import ceil

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from contexture.reporting.curves import add_legend, draw_seeds, new_figure, style_axes, variant_style
from contexture.reporting.records import METRICS
from contexture.reporting.tables import order_by_label

COLUMNS = ("run", "seed", "step", "seconds", "task", "metric", "value")
#: Metrics that are drawn, in order.
DRAWN_METRICS = ("accuracy", "pearson", "pearson_mean")
MEAN = "Mean accuracy"
PANELS_PER_ROW, PANEL_WIDTH_INCHES, PANEL_HEIGHT_INCHES = 3, 4.0, 3.2


def quality_over_time(
    table: pd.DataFrame, runs: Mapping[str, str], tasks: Mapping[str, str], order: Sequence[str]
) -> Figure:
    """Draw scores by training time: a panel for each task, and one for the mean accuracy.

    The mean is over the tasks that all snapshots have. Thin lines are seeds at their own training times, thick lines
    means over seeds at their mean times. `table` has the columns `COLUMNS`, `order` gives the order of colours, `runs`
    and `tasks` are labels.

    Raises:
        ValueError: for missing columns, a table without `DRAWN_METRICS`, or a duplicate snapshot.
    """
    if missing := [column for column in COLUMNS if column not in table.columns]:
        raise ValueError(f"quality over time: missing columns {missing}; expected {list(COLUMNS)}")
    panels = _group_by_panel(table, tasks)
    names = [*order, *sorted(set(table["run"]) - set(order))]
    across = min(len(panels), PANELS_PER_ROW)
    down = ceil(len(panels) / across)
    figure = new_figure(max(1.5, across) * PANEL_WIDTH_INCHES, max(1.3, down) * PANEL_HEIGHT_INCHES, 0.1, 0.08)
    grid = figure.subplots(down, across, squeeze=False).ravel()
    for axes, (title, panel) in zip(grid, panels.items(), strict=False):
        _draw_panel(axes, title, panel, names)
    for axes in grid[len(panels) :]:
        axes.remove()
    add_legend(figure, names, runs)
    return figure


def _group_by_panel(table: pd.DataFrame, tasks: Mapping[str, str]) -> dict[str, pd.DataFrame]:
    """Return title of a panel → its table of run, seed, step, minutes and shown value."""
    drawn = table[table["metric"].isin(DRAWN_METRICS)]
    if drawn.empty:
        raise ValueError(f"quality over time: none of the metrics {list(DRAWN_METRICS)}")
    scale = drawn["metric"].map(lambda metric: METRICS[metric].scale)
    drawn = drawn.assign(minutes=drawn["seconds"] / 60, value=drawn["value"] * scale)
    snapshot = ["run", "seed", "step"]
    key = drawn[[*snapshot, "task", "metric"]]
    if key.duplicated().any():
        raise ValueError(f"quality over time: duplicate {key[key.duplicated()].iloc[0].to_dict()}")
    single = {
        f"{tasks.get(task, task)}, {METRICS[metric].label}": rows
        for task in order_by_label(sorted(drawn["task"].unique()), tasks)
        for metric in DRAWN_METRICS
        for rows in [drawn[(drawn["task"] == task) & (drawn["metric"] == metric)]]
        if len(rows)
    }
    accuracy = drawn[drawn["metric"] == "accuracy"]
    everywhere = accuracy.groupby("task").size() == len(accuracy[snapshot].drop_duplicates())
    common = accuracy[accuracy["task"].isin(everywhere.index[everywhere])]
    if common["task"].nunique() < 2:
        return single
    mean = common.groupby(snapshot, as_index=False)[["minutes", "value"]].mean()
    return {f"{MEAN} of {common['task'].nunique()} tasks": mean, **single}


def _draw_panel(axes: Axes, title: str, panel: pd.DataFrame, names: Sequence[str]) -> None:
    """Draw each run's scores by minutes of training: thin lines of the seeds, and a thick line of their mean."""
    for run, rows in sorted(panel.groupby("run"), key=lambda item: names.index(str(item[0]))):
        drawn = variant_style(names.index(str(run)))
        ordered = rows.sort_values("step").set_index("minutes")
        seeds = [of_seed["value"] for _, of_seed in ordered.groupby("seed")]
        draw_seeds(axes, seeds, drawn["color"])
        by_step = rows.groupby("step").agg({"seed": "nunique", "minutes": "mean", "value": "mean"})
        mean = by_step[by_step["seed"] == len(seeds)]
        axes.plot(mean["minutes"], mean["value"], label=str(run), **drawn)
    percent = title.startswith(MEAN) or title.endswith(METRICS["accuracy"].label)
    style_axes(axes, title, "minutes of training", "percent" if percent else "")
    axes.set_xlim(left=0)

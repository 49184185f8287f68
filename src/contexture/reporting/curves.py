"""Learning curves: one figure per stage and series, with all runs."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import EngFormatter, MaxNLocator

from contexture.reporting.names import label_variant, protocol_name
from contexture.reporting.phrases import lower_first

#: Colours of Okabe and Ito, distinct for colour-blind readers; without the pale yellow.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#000000", "#56B4E9", "#E69F00")
#: Distinct without colours, too.
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
DASHES = ("-", ":")
#: Longer logs are averaged over this many equal ranges of steps, shared by all runs of a figure.
MAX_POINTS = 80
#: Shorter logs are not drawn.
MIN_POINTS = 3
WIDTH_INCHES, HEIGHT_INCHES = 6.0, 4.0
LETTER_INCHES, LEGEND_LINE_INCHES = 0.075, 0.75  # of the legend: a letter; a line sample with its margins
INK, GRID_COLOUR = "#333333", "#dddddd"


@dataclass(frozen=True)
class History:
    """The log of one training run."""

    stage: str  # "pretrain", "finetune"
    variant: str
    seed: int
    log: pd.DataFrame  # `step` and one column per series ("train/loss", "dev/map"); empty cells are skipped


@dataclass(frozen=True)
class Series:
    """How a series is drawn."""

    title: str
    unit: str
    scale: float = 1.0


#: Series of all trainings.
SERIES = {
    "train/loss": Series("Training loss", "nats"),
    "held_out/loss": Series("Loss on held-out documents", "nats"),
    "held_out/mrr": Series("MRR of the passages of held-out pairs", "percent", 100),
    "train/tokens_per_second": Series("Speed", "tokens per second"),
    "train/tflops": Series("Speed", "FLOP per second", 1e12),
    "dev/map": Series("MAP on the development split", "percent", 100),
    "dev/loss": Series("Loss on held-out questions", "nats per answer"),
}
ACCURACY = "_accuracy"
#: Stage of a history → title.
STAGES = {"pretrain": "Pre-training", "finetune": "Fine-tuning"}


def variant_style(position: int) -> dict[str, Any]:
    """Return the line style of the variant at `position`, distinct from those of earlier positions."""
    turn = position // len(COLOURS)
    return {
        "color": COLOURS[position % len(COLOURS)],
        "marker": MARKERS[(position + turn) % len(MARKERS)],
        "linestyle": DASHES[turn % len(DASHES)],
        "linewidth": 1.8,
        "markersize": 6,
        "markeredgecolor": "white",
    }


def learning_curves(
    histories: Sequence[History],
    order: Sequence[str] = (),
    objective_series: Mapping[str, Series] | None = None,
    labels: Mapping[str, str] | None = None,
) -> dict[str, Figure]:
    """Draw a figure of learning curves for each stage and series that has finite values.

    Thin lines are seeds, thick lines their mean, up to the last step of all seeds. Each variant has the same colour and
    marker in all figures, assigned by `order`, then by name. The total loss is skipped if it equals the loss of a
    single objective. `objective_series` gives the series of objectives by their name after "train/".

    Returns:
        Figures by "<stage>_<series>", such as "finetune_dev_map", in the order of stages and columns. Characters other
        than letters and digits become "_".

    Raises:
        ValueError: if a log has no column `step`.
    """
    for history in histories:
        if "step" not in history.log.columns:
            raise ValueError(f"the log of {history.variant}, seed {history.seed}, has no column 'step'")
    variants = [*order, *sorted({history.variant for history in histories} - set(order))]
    figures = {}
    for stage in dict.fromkeys(history.stage for history in histories):
        runs = [history for history in histories if history.stage == stage]
        for series in _list_series(runs):
            entry = _get_series(series, objective_series or {})
            if curves := _collect_curves(runs, series, entry.scale):
                name = re.sub(r"[\W_]+", "_", f"{stage}_{series}")
                figures[name] = _draw_figure(
                    curves, variants, f"{_stage_title(stage)}: {lower_first(entry.title)}", entry.unit, labels or {}
                )
    return figures


def _stage_title(stage: str) -> str:
    """Return "Pre-training", "Fine-tuning", or the latter with its protocol: "Fine-tuning (joint, IE_1)"."""
    name, _, option = stage.partition(" ")
    return STAGES.get(name, name) + (f" ({protocol_name(option).removeprefix('fine-tuned on ')})" if option else "")


def _get_series(series: str, objective_series: Mapping[str, Series]) -> Series:
    """Return title, unit and scale of a series; for an unknown one, made from its name."""
    name = series.partition("/")[2]
    known = SERIES | {f"train/{objective}": entry for objective, entry in objective_series.items()}
    if series in known:
        return known[series]
    title = name[:1].upper() + name[1:].replace("_", " ")
    return Series(title, "percent", 100) if name.endswith(ACCURACY) else Series(title, "")


def _list_series(runs: Sequence[History]) -> list[str]:
    """Return the names of series to draw: `train/…`, `dev/…`, and the loss and questions of held-out documents.

    The total loss of training is left out if it equals the loss of a single objective.
    """
    names = dict.fromkeys(str(column) for run in runs for column in run.log.columns)
    drawn = [name for name in names if name.startswith(("train/", "dev/")) or name in SERIES]
    if all("train/loss" in run.log for run in runs) and any(
        all(name in run.log and run.log[name].equals(run.log["train/loss"]) for run in runs)
        for name in drawn
        if name != "train/loss"
    ):
        drawn.remove("train/loss")
    return drawn


def to_png(figure: Figure) -> bytes:
    """Return the PNG file of a figure; equal figures give equal bytes."""
    buffer = BytesIO()
    figure.savefig(buffer, format="png", dpi=160, metadata={"Software": None})
    return buffer.getvalue()


def _collect_curves(runs: Sequence[History], series: str, scale: float) -> dict[str, list[pd.Series]]:
    """Return, by variant, the values of each seed by step, multiplied by `scale`; {} if too short."""
    curves: dict[str, list[pd.Series]] = {}
    for run in runs:
        if series in run.log.columns:
            values = run.log.set_index("step")[series].astype(float) * scale
            values = values.replace([np.inf, -np.inf], np.nan).dropna().sort_index()
            if len(values):
                curves.setdefault(run.variant, []).append(values)
    all_values = [values for seeds in curves.values() for values in seeds]
    longest = max(map(len, all_values), default=0)
    if longest > MAX_POINTS:
        width = max(values.index.max() for values in all_values) / MAX_POINTS
        curves = {variant: [_average_ranges(values, width) for values in seeds] for variant, seeds in curves.items()}
    return curves if longest >= MIN_POINTS else {}


def _average_ranges(values: pd.Series, width: float) -> pd.Series:
    """Return means over ranges of `width` steps, at the middle of each range."""
    means = values.groupby(np.minimum(values.index.to_numpy() // width, MAX_POINTS - 1)).mean()
    return means.set_axis((means.index.to_numpy() + 0.5) * width)


def _draw_figure(
    curves: Mapping[str, list[pd.Series]], variants: Sequence[str], title: str, unit: str, labels: Mapping[str, str]
) -> Figure:
    """Draw one figure: each variant's mean over seeds, with thin lines for the seeds."""
    figure = new_figure(WIDTH_INCHES, HEIGHT_INCHES)
    axes = figure.subplots()
    for variant, seeds in sorted(curves.items(), key=lambda item: variants.index(item[0])):
        style_of_variant = variant_style(variants.index(variant))
        draw_seeds(axes, seeds, style_of_variant["color"])
        mean = pd.concat(seeds, axis=1).dropna().mean(axis=1)
        label = label_variant(variant, labels) + (f" (mean of {len(seeds)})" if len(seeds) > 1 else "")
        axes.plot(mean.index, mean, label=label, markevery=max(1, len(mean) // 8), **style_of_variant)
    style_axes(axes, title, "optimizer step", unit)
    axes.xaxis.set_major_formatter(EngFormatter(sep=""))
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    add_legend(figure, fontsize=9)
    return figure


def draw_seeds(axes: Axes, seeds: Sequence[pd.Series], colour: str) -> None:
    """Draw a thin line for each seed if there are several."""
    for values in seeds if len(seeds) > 1 else []:
        axes.plot(values.index, values, color=colour, linewidth=0.9, alpha=0.4)


def new_figure(width: float, height: float, w_pad: float = 0.12, h_pad: float = 0.1) -> Figure:
    """Return an empty figure of `width` × `height` inches, with padding between panels."""
    layout = ConstrainedLayoutEngine(w_pad=w_pad, h_pad=h_pad)
    return Figure(figsize=(width, height), layout=layout, facecolor="white")


def add_legend(
    figure: Figure, order: Iterable[str] = (), labels: Mapping[str, str] | None = None, **style: Any
) -> None:
    """Add one legend for all panels, by default below them in as many columns as fit.

    Labels in `order` come first, `labels` replace the labels of lines, and `style` are keywords of the legend.
    """
    lines = {str(line.get_label()): line for axes in figure.axes for line in axes.lines}
    handles = {name: line for name, line in lines.items() if not name.startswith("_")}
    ordered = dict.fromkeys(name for name in (*order, *handles) if name in handles)
    names = [(labels or {}).get(name, name) for name in ordered]
    longest = max(map(len, names), default=0)
    columns = max(1, int(figure.get_figwidth() / (LEGEND_LINE_INCHES + longest * LETTER_INCHES)))
    keywords: dict[str, Any] = {"loc": "outside lower center", "ncols": columns}
    keywords |= {"frameon": False, "fontsize": 10, "labelcolor": INK, **style}
    figure.legend([handles[name] for name in ordered], names, **keywords)


def style_axes(axes: Axes, title: str, x_label: str, y_label: str) -> None:
    """Set the title, axis labels and shared style of a panel."""
    axes.set_title(title, loc="left", fontsize=11, color=INK, fontweight="bold")
    axes.set_xlabel(x_label, color=INK)
    axes.set_ylabel(y_label, color=INK)
    if "per second" in y_label:
        axes.yaxis.set_major_formatter(EngFormatter(sep=""))
        axes.set_ylim(bottom=0)
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(INK)
    axes.tick_params(colors=INK, labelsize=9)
    axes.grid(axis="y", color=GRID_COLOUR, linewidth=0.8)
    axes.set_axisbelow(True)

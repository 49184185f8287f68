"""R@k over k as a picture: a panel for each share of the questions trained on, a line for each variant."""

from collections.abc import Mapping, Sequence
from statistics import mean

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import NullLocator

from contexture.reporting.curves import FAINT, INK, legend_columns, look, style

#: Retrieval without an encoder is the line to be above: dashed, without markers.
REFERENCE = "bm25"
WIDTH, HEIGHT = 4.0, 4.6  # inches a panel

#: Panel's title → variant → k → percent of each seed.
Panels = Mapping[str, Mapping[str, Mapping[int, Sequence[float]]]]


def recall_curves(panels: Panels, labels: Mapping[str, str], order: Sequence[str]) -> Figure:
    """Draw the means over seeds.

    Args:
        panels: from left to right.
        labels: how variants are called, where not by their names.
        order: variants in the order of colours, as `learning_curves` takes it.
    """
    found = {variant for lines in panels.values() for variant in lines}
    variants = [*order, *sorted(found - set(order))]
    layout = ConstrainedLayoutEngine(w_pad=0.1, h_pad=0.08)
    width = max(1.5, len(panels)) * WIDTH
    figure = Figure(figsize=(width, HEIGHT), layout=layout, facecolor="white")
    every = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    for axes, (title, lines) in zip(every, panels.items(), strict=True):
        _panel(axes, title, lines, variants)
    every[0].set_ylabel("percent of questions", color=INK)
    handles = {line.get_label(): line for axes in every for line in axes.lines}
    shown = [variant for variant in variants if variant in handles]
    names = [labels.get(variant, variant) for variant in shown]
    figure.legend(
        [handles[variant] for variant in shown],
        names,
        loc="outside lower center",
        ncols=min(len(shown), legend_columns(names, width)),
        frameon=False,
        fontsize=10,
        labelcolor=INK,
        handlelength=3,
    )
    return figure


def _panel(axes: Axes, title: str, lines: Mapping[str, Mapping[int, Sequence[float]]], variants: Sequence[str]) -> None:
    for variant, by_k in sorted(lines.items(), key=lambda item: variants.index(item[0])):
        drawn = look(variants.index(variant))
        if variant == REFERENCE:
            drawn |= {"linestyle": "--", "marker": "", "zorder": 1.9}
        ks = sorted(by_k)
        axes.plot(ks, [mean(by_k[k]) for k in ks], label=variant, **drawn)
    style(axes, title, "k, candidates looked at", "")
    ticks = sorted({k for by_k in lines.values() for k in by_k})
    axes.set_xscale("log")
    axes.set_xticks(ticks, [str(k) for k in ticks])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.grid(axis="x", color=FAINT, linewidth=0.8)
    axes.set_ylim(0, 100)

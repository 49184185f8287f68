"""Figure of R@k by k: a panel for each share of training questions, a line for each variant."""

from collections.abc import Mapping, Sequence
from statistics import mean

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from contexture.reporting.curves import GRID_COLOUR, INK, add_legend, new_figure, style_axes, variant_style

#: Baseline without encoder: dashed, without markers.
REFERENCE = "bm25"
PANEL_WIDTH_INCHES, PANEL_HEIGHT_INCHES = 4.0, 4.6

#: Title of a panel → variant → k → percent by seed.
Panels = Mapping[str, Mapping[str, Mapping[int, Sequence[float]]]]


def recall_curves(panels: Panels, labels: Mapping[str, str], order: Sequence[str]) -> Figure:
    """Draw R@k by k: a panel for each share of training questions, a line of means over seeds for each variant.

    `order` gives the order of colours.
    """
    drawn = {variant for lines in panels.values() for variant in lines}
    variants = [*order, *sorted(drawn - set(order))]
    figure = new_figure(max(1.5, len(panels)) * PANEL_WIDTH_INCHES, PANEL_HEIGHT_INCHES, 0.1, 0.08)
    row = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    for axes, (title, lines) in zip(row, panels.items(), strict=True):
        _draw_panel(axes, title, lines, variants)
    row[0].set_ylabel("percent of questions", color=INK)
    add_legend(figure, variants, labels, handlelength=3)
    return figure


def _draw_panel(
    axes: Axes, title: str, lines: Mapping[str, Mapping[int, Sequence[float]]], variants: Sequence[str]
) -> None:
    """Draw the lines of the variants' mean R@k by k, on a logarithmic axis."""
    for variant, by_k in sorted(lines.items(), key=lambda item: variants.index(item[0])):
        drawn = variant_style(variants.index(variant))
        if variant == REFERENCE:
            drawn |= {"linestyle": "--", "marker": "", "zorder": 1.9}
        ks = sorted(by_k)
        axes.plot(ks, [mean(by_k[k]) for k in ks], label=variant, **drawn)
    style_axes(axes, title, "k, retrieved candidates", "")
    ticks = sorted({k for by_k in lines.values() for k in by_k})
    axes.set_xscale("log")
    axes.set_xticks(ticks, [str(k) for k in ticks])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.grid(axis="x", color=GRID_COLOUR, linewidth=0.8)
    axes.set_ylim(0, 100)

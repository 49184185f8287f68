"""Figures of language bias: languages of nearest neighbours, and vectors in the plane."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from contexture.reporting.curves import INK, add_legend, new_figure, variant_style

PANEL_INCHES = 3.6
#: Variant → protocol → results of `tasks.language_bias`.
Results = Mapping[str, Mapping[str, Any]]


def neighbours_picture(
    shares: Results, languages: Sequence[str], labels: Mapping[str, str], protocols: Mapping[str, str]
) -> Figure:
    """Draw a heatmap per variant (row) and protocol (column): languages of sentences by languages of neighbours.

    `shares` of neighbours have a row for each of `languages`; `protocols` are titles.
    """
    figure, panels = _create_panels(shares, labels, protocols)
    for axes, of_panel in panels:
        drawn = np.array(of_panel)
        axes.imshow(drawn, cmap="Blues", vmin=0, vmax=1)
        for (row, column), share in np.ndenumerate(drawn):
            colour = "white" if share > 0.6 else INK
            axes.text(column, row, f"{100 * share:.0f}", ha="center", va="center", color=colour, fontsize=9)
        axes.set_xticks(range(len(languages)), languages)
        axes.set_yticks(range(len(languages)), languages)
        axes.tick_params(colors=INK, labelsize=9, length=0)
        axes.set_xlabel("percent of neighbours in", color=INK, fontsize=9)
        axes.spines[:].set_visible(False)
    return figure


def vectors_picture(
    points: Results, languages: Sequence[str], labels: Mapping[str, str], protocols: Mapping[str, str]
) -> Figure:
    """Draw `x`, `y` and `lang` of sentences as points, coloured by language, with panels as in `neighbours_picture`."""
    figure, panels = _create_panels(points, labels, protocols)
    for axes, of_panel in panels:
        of_lang, x, y = (np.array(of_panel[key]) for key in ("lang", "x", "y"))
        for number, lang in enumerate(languages):
            drawn = variant_style(number) | {"linestyle": "", "markersize": 4, "markeredgecolor": "none", "alpha": 0.7}
            axes.plot(x[of_lang == lang], y[of_lang == lang], label=lang, **drawn)
        axes.set(xticks=[], yticks=[])
        axes.spines[:].set_color("#cccccc")
    add_legend(figure, languages)
    return figure


def _create_panels(
    results: Results, labels: Mapping[str, str], protocols: Mapping[str, str]
) -> tuple[Figure, list[tuple[Axes, Any]]]:
    """Return a new figure, and its axes with the results to draw there, by variant (row) and protocol (column)."""
    figure = new_figure(PANEL_INCHES * len(protocols), PANEL_INCHES * len(results) + 0.4, 0.08, 0.08)
    grid = figure.subplots(len(results), len(protocols), squeeze=False)
    panels = []
    for row, (variant, by_protocol) in zip(grid, results.items(), strict=True):
        for axes, (protocol, title) in zip(row, protocols.items(), strict=True):
            axes.set_title(f"{labels.get(variant, variant)}\n{title}", fontsize=10, color=INK)
            panels.append((axes, by_protocol[protocol]))
    return figure, panels

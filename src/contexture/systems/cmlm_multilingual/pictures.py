"""Language bias as pictures: whose neighbours a language's sentences are, and where their vectors lie."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from contexture.reporting.curves import INK, add_legend, new_figure, variant_style

PANEL_INCHES = 3.6  # inches
#: Variant → what was done to vectors → results of `tasks.language_bias`.
Results = Mapping[str, Mapping[str, Any]]


def neighbours_picture(
    shares: Results, languages: Sequence[str], labels: Mapping[str, str], protocols: Mapping[str, str]
) -> Figure:
    """A row a variant, a panel a protocol: of each language's sentences (row) the neighbours' languages (column).

    `shares` of neighbours have a row for each of `languages`; `protocols` say what was done to vectors.
    """
    figure, panels = _panels(shares, labels, protocols)
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
    """The same of `x`, `y` and `lang` of some sentences: a point each, coloured by language."""
    figure, panels = _panels(points, labels, protocols)
    for axes, of_panel in panels:
        of_lang, x, y = (np.array(of_panel[key]) for key in ("lang", "x", "y"))
        for number, lang in enumerate(languages):
            drawn = variant_style(number) | {"linestyle": "", "markersize": 4, "markeredgecolor": "none", "alpha": 0.7}
            axes.plot(x[of_lang == lang], y[of_lang == lang], label=lang, **drawn)
        axes.set(xticks=[], yticks=[])
        axes.spines[:].set_color("#cccccc")
    add_legend(figure, languages)
    return figure


def _panels(
    results: Results, labels: Mapping[str, str], protocols: Mapping[str, str]
) -> tuple[Figure, list[tuple[Axes, Any]]]:
    """A panel for every variant and protocol, with its results."""
    figure = new_figure(PANEL_INCHES * len(protocols), PANEL_INCHES * len(results) + 0.4, 0.08, 0.08)
    grid = figure.subplots(len(results), len(protocols), squeeze=False)
    panels = []
    for row, (variant, by_protocol) in zip(grid, results.items(), strict=True):
        for axes, (protocol, title) in zip(row, protocols.items(), strict=True):
            axes.set_title(f"{labels.get(variant, variant)}\n{title}", fontsize=10, color=INK)
            panels.append((axes, by_protocol[protocol]))
    return figure, panels

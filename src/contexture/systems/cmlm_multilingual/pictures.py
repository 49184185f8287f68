"""Language bias as pictures: whose neighbours a language's sentences are, and where their vectors lie."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from contexture.reporting.curves import INK, add_legend, look, new_figure

PANEL = 3.6  # inches
#: By variant and by what is done to vectors: what `tasks.language_bias` found.
Found = Mapping[str, Mapping[str, Any]]


def neighbours_picture(
    found: Found, languages: Sequence[str], labels: Mapping[str, str], protocols: Mapping[str, str]
) -> Figure:
    """A row a variant, a panel a protocol: of each language's sentences (row) the neighbours' languages (column).

    Args:
        found: shares of neighbours, a row for each of `languages`.
        languages: by their codes.
        labels: how variants are called.
        protocols: what is done to vectors, and how it is said.
    """
    figure, panels = _panels(found, labels, protocols)
    for axes, shares in panels:
        drawn = np.array(shares)
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
    found: Found, languages: Sequence[str], labels: Mapping[str, str], protocols: Mapping[str, str]
) -> Figure:
    """The same of `x`, `y` and `lang` of some sentences: a point each, coloured by language."""
    figure, panels = _panels(found, labels, protocols)
    for axes, points in panels:
        of_lang, x, y = (np.array(points[key]) for key in ("lang", "x", "y"))
        for place, lang in enumerate(languages):
            drawn = look(place) | {"linestyle": "", "markersize": 4, "markeredgecolor": "none", "alpha": 0.7}
            axes.plot(x[of_lang == lang], y[of_lang == lang], label=lang, **drawn)
        axes.set_xticks([])
        axes.set_yticks([])
        axes.spines[:].set_color("#cccccc")
    add_legend(figure, languages)
    return figure


def _panels(
    found: Found, labels: Mapping[str, str], protocols: Mapping[str, str]
) -> tuple[Figure, list[tuple[Axes, Any]]]:
    """A panel for every variant and protocol, with what was found of it."""
    figure = new_figure(PANEL * len(protocols), PANEL * len(found) + 0.4, 0.08, 0.08)
    grid = figure.subplots(len(found), len(protocols), squeeze=False)
    panels = []
    for row, (variant, by_protocol) in zip(grid, found.items(), strict=True):
        for axes, (protocol, said) in zip(row, protocols.items(), strict=True):
            axes.set_title(f"{labels.get(variant, variant)}\n{said}", fontsize=10, color=INK)
            panels.append((axes, by_protocol[protocol]))
    return figure, panels

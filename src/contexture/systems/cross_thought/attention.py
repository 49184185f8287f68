"""Attention of masked words to the sequences of their sample, as figures and tables."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import MaxNLocator

from contexture.reporting.curves import COLOURS, INK, add_legend, new_figure
from contexture.reporting.tables import Table, columns

WIDTH_INCHES, ROW_INCHES = 8.0, 0.42
#: Samples of more sequences have smaller markers.
MAX_NARROW_SEQUENCES = 100


def attention_table(title: str, counts_by_run: Mapping[str, Mapping[str, Any]], labels: Mapping[str, str]) -> Table:
    """Return the table of how often and how much masked words attend to the sequence with the same word, by run.

    `counts_by_run` has the results of `objectives.attended.measure_attention` by run.
    """
    heads = ["Masked words", "Highest attention, percent", "By chance, percent", "Relative weight"]
    rows = []
    for run, counts in counts_by_run.items():
        numbers = (f"{100 * counts['first']:.1f}", f"{100 * counts['chance']:.1f}", f"{counts['times']:.2f}")
        rows.append((labels.get(run, run), f"{counts['words']:,}", *numbers))
    caption = (
        "In each sequence, a word is masked that occurs in one other sequence of the sample. Highest attention: how "
        "often this sequence gets more attention than all others. Relative weight: its attention divided by the "
        "average, 1 by chance. Samples of the training text, first seed."
    )
    return Table(title, columns("Model", numbers=heads), tuple(rows), caption)


def attention_picture(cases: Sequence[Mapping[str, Any]]) -> Figure:
    """Draw the attention of masked words (rows) to sequences of their sample (columns); rings mark the same word."""
    width = max(len(case["weights"]) for case in cases)
    grid = np.full((len(cases), width), np.nan)
    for row, case in enumerate(cases):
        weights = np.array(case["weights"], dtype=float)  # None is nan
        grid[row, : len(weights)] = weights * np.count_nonzero(~np.isnan(weights))
    figure = new_figure(WIDTH_INCHES, 1.5 + ROW_INCHES * len(cases), 0.1, 0.08)
    axes = _heatmap(figure, grid, float(np.nanmax(grid)), "times the average weight", aspect="auto")
    size = 3 if width > MAX_NARROW_SEQUENCES else 9
    ring: dict[str, Any] = {"marker": "o", "fillstyle": "none", "color": COLOURS[1], "markeredgewidth": 2}
    cross: dict[str, Any] = {"marker": "x", "color": INK}
    for label, key, style in (("contains the word", "with_word", ring), ("the masked word", "place", cross)):
        axes.plot([case[key] for case in cases], range(len(cases)), label=label, linestyle="", markersize=size, **style)
    axes.set_yticks(range(len(cases)), [case["word"] for case in cases])
    axes.set_xlabel("sequences of the sample, in their order", color=INK)
    add_legend(figure)
    return figure


def sample_picture(sample: Mapping[str, Any]) -> Figure:
    """Draw how much each sequence of a sample (row) attends to each other (column), with boxes around documents."""
    weights = np.array(sample["weights"])
    np.fill_diagonal(weights, np.nan)
    figure = new_figure(WIDTH_INCHES, 0.85 * WIDTH_INCHES, 0.1, 0.08)
    axes = _heatmap(figure, weights, float(np.nanpercentile(weights, 99)), "times uniform attention")
    documents = np.array(sample["documents"])
    for document in np.unique(documents):
        rows = np.flatnonzero(documents == document)
        corner, side = rows[0] - 0.5, len(rows)
        axes.add_patch(Rectangle((corner, corner), side, side, fill=False, edgecolor=COLOURS[1], linewidth=1.5))
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel("attended sequence", color=INK)
    axes.set_ylabel("attending sequence", color=INK)
    return figure


def _heatmap(
    figure: Figure, grid: np.ndarray, highest: float, unit: str, aspect: Literal["auto", "equal"] = "equal"
) -> Axes:
    """Draw a grid of weights with a colour bar that ends at `highest`, at least 2; return its axes."""
    axes = figure.subplots()
    drawn = axes.imshow(grid, aspect=aspect, cmap="Blues", vmin=0, vmax=max(2.0, highest))
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.tick_params(colors=INK, labelsize=9, length=0)
    axes.spines[:].set_visible(False)
    bar = figure.colorbar(drawn, ax=axes, pad=0.02)
    bar.set_label(unit, color=INK)
    bar.outline.set_visible(False)
    return axes


def cases_table(title: str, cases: Sequence[Mapping[str, Any]]) -> Table:
    """Return the table of texts in `attention_picture`: masked, with highest attention, and with the same word."""
    rows = []
    for case in cases:
        highest = max(weight for weight in case["weights"] if weight is not None)
        holder = f"{case['holder']} ({case['weights'][case['with_word']]:.3f})"
        same = case["most"] == case["holder"]
        rows.append((case["word"], case["masked"], f"{case['most']} ({highest:.3f})", "the same" if same else holder))
    heads = columns("Word", "Masked in", "Highest attention", "Contains the word")
    return Table(title, heads, tuple(rows), "In brackets: weights, summing to 1 over the other sequences of a sample.")

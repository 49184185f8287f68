"""Which sequences of its sample a masked word attended to: a picture, what it shows in words, and the numbers."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import MaxNLocator

from contexture.reporting.curves import COLOURS, INK, add_legend, new_figure
from contexture.reporting.tables import Table, columns

WIDTH_INCHES, ROW_INCHES = 8.0, 0.42  # inches, and those of a row
#: Rings are smaller in a sample of more sequences than this.
MAX_NARROW_SEQUENCES = 100


def attention_table(title: str, counts_by_run: Mapping[str, Mapping[str, Any]], labels: Mapping[str, str]) -> Table:
    """How often, and how much, the sequence with the masked word is attended to, by run.

    `counts_by_run` has the results of `objectives.attended.attended_sequences` by run.
    """
    heads = ["Masked words", "Attended to first, of 100", "By chance", "Times the others' weight"]
    rows = []
    for run, counts in counts_by_run.items():
        numbers = (f"{100 * counts['first']:.1f}", f"{100 * counts['chance']:.1f}", f"{counts['times']:.2f}")
        rows.append((labels.get(run, run), f"{counts['words']:,}", *numbers))
    caption = (
        "Of every sequence a word is masked that stands in one other sequence of the sample. Counted is how often that "
        "one is attended to more than all others, and how much as a multiple of what all get on average, 1 by chance. "
        "Samples of the training text, encoder of the first seed."
    )
    return Table(title, columns("Encoder", numbers=heads), tuple(rows), caption)


def attention_picture(cases: Sequence[Mapping[str, Any]]) -> Figure:
    """A row a masked word, a column a sequence of its sample: the deeper, the more attention; a ring has the word."""
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
    for label, key, style in (("has the word", "with_word", ring), ("the word is masked here", "place", cross)):
        axes.plot([case[key] for case in cases], range(len(cases)), label=label, linestyle="", markersize=size, **style)
    axes.set_yticks(range(len(cases)), [case["word"] for case in cases])
    axes.set_xlabel("sequences of the sample, in their order", color=INK)
    add_legend(figure)
    return figure


def sample_picture(sample: Mapping[str, Any]) -> Figure:
    """How much each sequence of a sample (rows) attends to each other (columns); boxes frame the documents."""
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
    axes.set_xlabel("sequence that is attended to", color=INK)
    axes.set_ylabel("sequence that attends", color=INK)
    return figure


def _heatmap(
    figure: Figure, grid: np.ndarray, highest: float, unit: str, aspect: Literal["auto", "equal"] = "equal"
) -> Axes:
    """Draw a grid of weights with a colour bar, which ends at `highest`, but not below 2."""
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
    """The sequences of the picture: the masked one, the one that it attends to most, and the one with the word."""
    rows = []
    for case in cases:
        highest = max(weight for weight in case["weights"] if weight is not None)
        holder = f"{case['holder']} ({case['weights'][case['with_word']]:.3f})"
        same = case["most"] == case["holder"]
        rows.append((case["word"], case["masked"], f"{case['most']} ({highest:.3f})", "the same" if same else holder))
    heads = columns("Word", "Masked in", "Attended to most", "Has the word")
    return Table(title, heads, tuple(rows), "Weights add up to 1 over the other sequences of a sample.")

"""Scatter plots of quality by cost, with labels of the best variants at the right edge."""

from collections.abc import Mapping, Sequence
from itertools import accumulate
from math import ceil

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, LogLocator, NullLocator

from contexture.reporting.curves import INK, style_axes, variant_style
from contexture.systems.league.scores import League, LeagueColumn

#: Width of the axes, margins around them without labels, and height of a label.
AXES_INCHES, LEFT_INCHES, RIGHT_INCHES, TOP_INCHES, BOTTOM_INCHES, LABEL_INCHES = 2.68, 0.42, 0.6, 0.35, 0.5, 0.165
MIN_HEIGHT_INCHES = 3.4
MAX_NARROW_FACTOR = 200  # axes with a smaller ratio of their ends have ticks at 2 and 5, too
LABEL_POINTS, LETTER_INCHES = 8, 0.058  # font size of labels, and width of a letter
#: Labels at the right edge; other variants are in the legend.
MAX_LABELS = 8
MARKER_INCHES = 0.45  # of the legend: a marker with its margins


def scatter(
    league: League,
    column: LeagueColumn,
    costs: Mapping[str, float],
    title: str,
    unit: str,
    references: Sequence[str] = (),
) -> Figure:
    """Draw a scatter plot of scores with their intervals by `costs` in `unit`, on a logarithmic axis.

    Variants without a cost above 0 are left out; `references` are horizontal lines. The lines and the best variants
    have a label, the rest are in a legend below.
    """
    scores = league.scores[column]
    points = [v for v in league.order if v in scores and costs.get(v, 0) > 0]
    across = [v for v in references if v in scores]
    best = sorted(points, key=lambda v: -scores[v].mean)
    best, in_legend = best[: MAX_LABELS - len(across)], best[MAX_LABELS - len(across) :]
    names = max((len(league.label(v)) for v in [*best, *across]), default=0) * LETTER_INCHES
    width = LEFT_INCHES + AXES_INCHES + RIGHT_INCHES + names
    longest = max((len(league.label(v)) + 5 for v in in_legend), default=0) * LETTER_INCHES
    columns = max(1, int(width / (MARKER_INCHES + longest)))
    bottom = BOTTOM_INCHES + LABEL_INCHES * (ceil(len(in_legend) / columns) + bool(in_legend))
    needed = LABEL_INCHES * (1 + len(best) + len(across))
    height = max(MIN_HEIGHT_INCHES - TOP_INCHES - BOTTOM_INCHES, needed) + TOP_INCHES + bottom
    figure = Figure(figsize=(width, height), facecolor="white")
    bounds = (LEFT_INCHES / width, bottom / height, AXES_INCHES / width, 1 - (TOP_INCHES + bottom) / height)
    axes = figure.add_axes(bounds)
    style_axes(axes, title, unit, "")
    axes.set_xscale("log")
    named, markers = {}, {}
    for variant in points:
        point_style = variant_style(league.order.index(variant)) | {"linestyle": ""}
        x, score = costs[variant], scores[variant]
        colour = point_style["color"]
        drawn = axes.errorbar([x], [score.mean], yerr=score.interval, ecolor=colour, elinewidth=1, **point_style)
        if variant in best:
            named[league.label(variant)] = (x, score.mean, colour)
        markers[variant] = drawn.lines[0]
    axes.margins(x=0.1, y=0.08)
    left, right = axes.get_xlim()
    for variant in across:
        axes.axhline(scores[variant].mean, color=INK, linewidth=1, linestyle="--", zorder=1)
        named[league.label(variant)] = (right, scores[variant].mean, INK)
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if right < MAX_NARROW_FACTOR * left else (1,)))
    axes.xaxis.set_major_formatter(EngFormatter(sep=""))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlim(left, right)
    _label_points(axes, named, bounds[3] * height)
    if in_legend:
        figure.legend(
            [markers[v] for v in in_legend],
            [f"{scores[v].mean:z.1f} {league.label(v)}" for v in in_legend],
            loc="lower left",
            ncols=columns,
            fontsize=LABEL_POINTS,
            frameon=False,
            labelcolor=INK,
        )
    return figure


def spread_labels(heights: Sequence[float], gap: float) -> list[float]:
    """Return rising heights in 0..1 moved up and down equally until they are at least `gap` apart."""
    up = _push_up(heights, gap)
    down = [1 - height for height in reversed(_push_up([1 - height for height in reversed(heights)], gap))]
    return [(above + below) / 2 for above, below in zip(up, down, strict=True)]


def _push_up(heights: Sequence[float], gap: float) -> list[float]:
    """Return rising heights moved up until they are at least `gap` apart, and down again if above 1."""
    moved = list(accumulate(heights, lambda below, height: max(height, below + gap)))
    return list(accumulate(reversed(moved), lambda above, height: min(height, above - gap), initial=1.0 + gap))[:0:-1]


def _label_points(axes: Axes, points: Mapping[str, tuple[float, float, str]], height: float) -> None:
    """Write value and label of points (x, y, line colour) right of the axes, each joined to its point by a line.

    Labels do not overlap. The axes are `height` inches high.
    """
    low, high = axes.get_ylim()
    order = sorted(points, key=lambda label: points[label][1])
    heights = spread_labels([(points[label][1] - low) / (high - low) for label in order], LABEL_INCHES / height)
    for label, position in zip(order, heights, strict=True):
        x, y, colour = points[label]
        axes.annotate(
            f"{y:z.1f} {label}",
            (x, y),
            (1.05, position),
            textcoords="axes fraction",
            va="center",
            fontsize=LABEL_POINTS,
            color=INK,
            annotation_clip=False,
            arrowprops={"arrowstyle": "-", "color": colour, "alpha": 0.35, "lw": 0.8, "relpos": (0, 0.5), "shrinkB": 3},
        )

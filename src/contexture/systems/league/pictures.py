"""Quality against what it costs: scatter pictures whose points are named at the right edge, from the best."""

from collections.abc import Mapping, Sequence
from itertools import accumulate

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, LogLocator, NullLocator

from contexture.reporting.curves import INK, look, style
from contexture.systems.league.scores import League, LeagueColumn

#: Inches: the axes' width, what stands left of, right of, above and below them but for names, and a line of names.
AXES, LEFT, RIGHT, TOP, BOTTOM, LINE = 2.68, 0.42, 0.6, 0.35, 0.5, 0.165
HEIGHT = 3.4  # at least
NARROW = 200  # times: an axis up to this long has ticks at 2 and 5, too
SMALL, LETTER = 8, 0.058  # points: the size of names; inches: about the width of a letter in them


def scatter(
    league: League,
    column: LeagueColumn,
    along: Mapping[str, float],
    title: str,
    unit: str,
    references: Sequence[str] = (),
) -> Figure:
    """Scores with their intervals over the cost of each variant, `along` a logarithmic axis, in its `unit`.

    Variants without a cost above 0 are left out; `references` are drawn as lines across.
    """
    scores = league.scores[column]
    points = [v for v in league.order if v in scores and along.get(v, 0) > 0]
    across = [v for v in references if v in scores]
    height = max(HEIGHT, TOP + BOTTOM + LINE * (1 + len(points) + len(across)))
    names = max((len(league.label(v)) for v in [*points, *across]), default=0) * LETTER
    width = LEFT + AXES + RIGHT + names
    figure = Figure(figsize=(width, height), facecolor="white")
    bounds = (LEFT / width, BOTTOM / height, AXES / width, 1 - (TOP + BOTTOM) / height)
    axes = figure.add_axes(bounds)
    style(axes, title, unit, "")
    axes.set_xscale("log")
    named = {}
    for variant in points:
        how = look(league.order.index(variant)) | {"linestyle": ""}
        x, score = along[variant], scores[variant]
        axes.errorbar([x], [score.mean], yerr=score.interval, ecolor=how["color"], elinewidth=1, **how)
        named[league.label(variant)] = (x, score.mean, how["color"])
    axes.margins(x=0.1, y=0.08)
    left, right = axes.get_xlim()
    for variant in across:
        axes.axhline(scores[variant].mean, color=INK, linewidth=1, linestyle="--", zorder=1)
        named[league.label(variant)] = (right, scores[variant].mean, INK)
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if right < NARROW * left else (1,)))
    axes.xaxis.set_major_formatter(EngFormatter(sep=""))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlim(left, right)
    _name(axes, named, bounds[3] * height)
    return figure


def spread(heights: Sequence[float], gap: float) -> list[float]:
    """Rising heights within 0..1, moved apart by `gap`, up and down alike."""
    up = _pushed(heights, gap)
    down = [1 - height for height in reversed(_pushed([1 - height for height in reversed(heights)], gap))]
    return [(above + below) / 2 for above, below in zip(up, down, strict=True)]


def _pushed(heights: Sequence[float], gap: float) -> list[float]:
    """Moved up as far as they need, but not beyond 1."""
    moved = list(accumulate(heights, lambda below, height: max(height, below + gap)))
    return list(accumulate(reversed(moved), lambda above, height: min(height, above - gap), initial=1.0 + gap))[:0:-1]


def _name(axes: Axes, points: Mapping[str, tuple[float, float, str]], height: float) -> None:
    """Write the names of (x, y, colour) right of the axes, each with a line to its point; `height` is in inches."""
    low, high = axes.get_ylim()
    order = sorted(points, key=lambda label: points[label][1])
    heights = spread([(points[label][1] - low) / (high - low) for label in order], LINE / height)
    for label, position in zip(order, heights, strict=True):
        x, y, colour = points[label]
        axes.annotate(
            f"{y:.1f} {label}",
            (x, y),
            (1.05, position),
            textcoords="axes fraction",
            va="center",
            fontsize=SMALL,
            color=INK,
            annotation_clip=False,
            arrowprops={"arrowstyle": "-", "color": colour, "alpha": 0.35, "lw": 0.8, "relpos": (0, 0.5), "shrinkB": 3},
        )

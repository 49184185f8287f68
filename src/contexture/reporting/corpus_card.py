"""The corpus card: what a corpus is made of, as one HTML page that needs no other file."""

from base64 import b64encode
from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from contexture.reporting.curves import COLOURS, INK, new_figure, style_axes, to_png
from contexture.reporting.report import render
from contexture.reporting.tables import Table, columns, counts_table


def render_corpus_card(
    card: Mapping[str, Any], counts: Mapping[str, object], dropped: Mapping[str, Sequence[Mapping[str, Any]]]
) -> str:
    """The page of `corpus.card.card`, the counts of the corpus report, and examples of what was dropped, by reason."""
    figures = {name: to_png(histogram(name, bars)) for name, bars in card["histograms"].items() if bars}
    content = {
        "languages": _languages(card["languages"]),
        "counts": counts_table("What came in and what was left out", counts),
        "figures": {name: b64encode(png).decode() for name, png in figures.items()},
        "paragraphs": card["paragraphs"],
        "dropped": dropped,
    }
    return render("corpus_card.html", content)


def histogram(name: str, bars: Sequence[tuple[int, int, int]]) -> Figure:
    """Bars (lower bound, upper bound, count) of equal width: lengths double every second bar."""
    figure = new_figure(6, 4)
    axes = figure.subplots()
    axes.bar(range(len(bars)), [count for _, _, count in bars], width=0.9, color=COLOURS[0])
    ticks: dict[str, float] = {}
    for i in range(0, len(bars), max(1, len(bars) // 8)):
        ticks.setdefault(f"{bars[i][0]:,}", i - 0.5)  # bounds of the shortest stretches read alike
    axes.set_xticks([*ticks.values()], [*ticks])
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    things, _, rows = name.partition(" a ")
    style_axes(axes, f"{things.capitalize()} per {rows}", things, f"{rows}s")
    axes.tick_params(axis="x", colors=INK)
    return figure


def _languages(totals: Mapping[str, Mapping[str, int]]) -> Table:
    names = ("documents", "paragraphs", "sentences", "words", "characters", "links", "resolved")
    rows = tuple((lang, *(f"{total[name]:,}" for name in names)) for lang, total in totals.items())
    caption = "Words are what stands between spaces. Resolved are the links that lead to a document of the corpus."
    return Table("Languages", columns("Language", numbers=map(str.capitalize, names)), rows, caption)

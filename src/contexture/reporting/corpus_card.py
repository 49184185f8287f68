"""The corpus card: statistics and samples of a corpus as one self-contained HTML page."""

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
    """Return the HTML page of a corpus card (`corpus.card.build_card`), with counts and dropped examples by reason."""
    figures = {name: to_png(histogram(name, bars)) for name, bars in card["histograms"].items() if bars}
    content = {
        "languages": _languages_table(card["languages"]),
        "counts": counts_table("Counts of cleaning", counts),
        "figures": {name: b64encode(png).decode() for name, png in figures.items()},
        "paragraphs": card["paragraphs"],
        "dropped": dropped,
    }
    return render("corpus_card.html", content)


def histogram(name: str, bars: Sequence[tuple[int, int, int]]) -> Figure:
    """Draw a chart of (lower bound, upper bound, count) as bars of equal width: bounds double every second bar."""
    figure = new_figure(6, 4)
    axes = figure.subplots()
    axes.bar(range(len(bars)), [count for _, _, count in bars], width=0.9, color=COLOURS[0])
    ticks: dict[str, float] = {}
    for i in range(0, len(bars), max(1, len(bars) // 8)):
        ticks.setdefault(f"{bars[i][0]:,}", i - 0.5)  # the shortest bounds round to the same label
    axes.set_xticks([*ticks.values()], [*ticks])
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    things, _, rows = name.partition(" a ")
    style_axes(axes, f"{things.capitalize()} per {rows}", things, f"{rows}s")
    axes.tick_params(axis="x", colors=INK)
    return figure


def _languages_table(totals: Mapping[str, Mapping[str, int]]) -> Table:
    """Return a table of documents, paragraphs, sentences, words, characters and links per language."""
    names = ("documents", "paragraphs", "sentences", "words", "characters", "links", "resolved")
    rows = tuple((lang, *(f"{total[name]:,}" for name in names)) for lang, total in totals.items())
    caption = "Words are separated by spaces. Resolved: links to a document of the corpus."
    return Table("Languages", columns("Language", numbers=map(str.capitalize, names)), rows, caption)

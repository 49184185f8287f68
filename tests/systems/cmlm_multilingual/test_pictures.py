from collections.abc import Callable

import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from contexture.reporting.curves import to_png, variant_style
from contexture.systems.cmlm_multilingual.pictures import neighbours_picture, vectors_picture

LANGUAGES = ["en", "de", "fr"]
LABELS = {"mlm": "MLM"}
PROTOCOLS = {"frozen": "unchanged", "pcr": "changed"}
SHARES = [[0.9, 0.06, 0.04], [0.3, 0.5, 0.2], [0.0, 0.0, 1.0]]
EVEN = [[0.34, 0.33, 0.33]] * 3
POINTS = {"x": [0.0, 1.0, 2.0, 3.0], "y": [3.0, 2.0, 1.0, 0.0], "lang": ["de", "en", "de", "fr"]}


def neighbours() -> Figure:
    shares = {"mlm": {"frozen": SHARES, "pcr": EVEN}, "cmlm": {"frozen": EVEN, "pcr": SHARES}}
    return neighbours_picture(shares, LANGUAGES, LABELS, PROTOCOLS)


def vectors() -> Figure:
    return vectors_picture({"cmlm": {"frozen": POINTS, "pcr": POINTS}}, LANGUAGES, LABELS, PROTOCOLS)


def test_one_row_per_variant_and_one_panel_per_protocol() -> None:
    assert [axes.get_title() for axes in neighbours().axes] == [
        "MLM\nunchanged", "MLM\nchanged", "cmlm\nunchanged", "cmlm\nchanged",
    ]  # fmt: skip
    assert [axes.get_title() for axes in vectors().axes] == ["cmlm\nunchanged", "cmlm\nchanged"]


def test_shares_of_neighbours_are_drawn_and_labelled() -> None:
    """Rows are languages of sentences, columns those of neighbours; colours go from white (0) to blue (1)."""
    first, second, *_ = neighbours().axes
    (image,) = first.images
    drawn = image.get_array()
    assert drawn is not None and drawn.tolist() == SHARES and image.get_clim() == (0, 1)
    written = {text.get_position(): text.get_text() for text in first.texts}
    assert written == {(x, y): f"{100 * share:.0f}" for y, row in enumerate(SHARES) for x, share in enumerate(row)}
    assert [text.get_text() for text in second.texts] == ["34", "33", "33"] * 3
    for ticks in (first.get_xticklabels(), first.get_yticklabels()):
        assert [tick.get_text() for tick in ticks] == LANGUAGES
    colours = {text.get_text(): to_hex(text.get_color()) for text in first.texts}
    assert colours["90"] == colours["100"] == "#ffffff" != colours["6"] == colours["50"]


def test_languages_have_distinct_colours() -> None:
    figure = vectors()
    for axes in figure.axes:
        points = {str(line.get_label()): line for line in axes.lines}
        assert list(points) == LANGUAGES
        assert [list(line.get_xdata()) for line in points.values()] == [[1.0], [0.0, 2.0], [3.0]]
        assert [list(line.get_ydata()) for line in points.values()] == [[2.0], [3.0, 1.0], [0.0]]
        assert [line.get_color() for line in points.values()] == [
            variant_style(position)["color"] for position in range(3)
        ]
        assert {line.get_linestyle() for line in points.values()} == {"None"}
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == LANGUAGES


@pytest.mark.parametrize("draw", [neighbours, vectors])
def test_figures_are_deterministic(draw: Callable[[], Figure]) -> None:
    first, second = (to_png(draw()) for _ in range(2))
    assert first.startswith(b"\x89PNG")
    assert first == second

from contexture.reporting.curves import to_png
from contexture.systems.two_tower.recall_curves import recall_curves

PANELS = {
    "1%": {"bm25": {1: [40.0], 10: [60.0]}, "ict": {1: [10.0, 20.0], 10: [30.0, 50.0]}},
    "80%": {"ict": {1: [55.0]}, "own": {1: [1.0]}},
}


def test_one_panel_per_share_and_one_line_per_variant() -> None:
    figure = recall_curves(PANELS, {"ict": "ICT", "bm25": "BM25"}, ["ict", "bm25"])
    first, second = figure.axes
    assert [axes.get_title(loc="left") for axes in (first, second)] == ["1%", "80%"]
    drawn = {line.get_label(): line for line in first.lines}
    assert [list(values) for values in drawn["ict"].get_data()] == [[1, 10], [15, 40]]
    assert [list(values) for values in drawn["bm25"].get_data()] == [[1, 10], [40, 60]]
    assert (drawn["bm25"].get_linestyle(), drawn["ict"].get_linestyle()) == ("--", "-")
    assert drawn["ict"].get_color() == second.lines[0].get_color()
    assert first.get_xscale() == "log"
    assert [label.get_text() for label in first.get_xticklabels()] == ["1", "10"]
    assert first.get_ylim() == second.get_ylim() == (0, 100)
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["ICT", "BM25", "own"]


def test_figure_is_deterministic() -> None:
    first, second = (to_png(recall_curves(PANELS, {}, [])) for _ in range(2))
    assert first.startswith(b"\x89PNG")
    assert first == second

import pandas as pd
import pytest

from contexture.reporting.curves import to_png
from contexture.systems.quick_thoughts.quality_curves import COLUMNS, quality_over_time

TASKS = {"mr": "MR", "trec": "TREC", "sick_r": "SICK-R"}


def snapshot(run: str, seed: int, step: int, seconds: float, **values: float) -> list[dict[str, object]]:
    metrics = {"sick_r": "pearson"}
    return [
        dict(zip(COLUMNS, (run, seed, step, seconds, task, metrics.get(task, "accuracy"), value), strict=True))
        for task, value in values.items()
    ]


TABLE = pd.DataFrame(
    [
        *snapshot("uni", 0, 20, 120, mr=0.6, trec=0.8),
        *snapshot("uni", 0, 10, 60, mr=0.5, trec=0.7, sick_r=0.25),
        *snapshot("uni", 1, 10, 180, mr=0.7, trec=0.9, sick_r=0.75),
        *snapshot("skip_thought", 0, 10, 300, mr=0.55, trec=0.6, cr=0.9),
    ]
)


def test_panels_of_mean_and_tasks() -> None:
    figure = quality_over_time(TABLE, {"uni": "uni-QT"}, TASKS, ["uni", "skip_thought"])
    panels = {axes.get_title(loc="left"): axes for axes in figure.axes}
    assert list(panels) == [
        "Mean accuracy of 2 tasks",  # CR is missing in some snapshots
        "MR, accuracy",
        "TREC, accuracy",
        "SICK-R, Pearson",
        "cr, accuracy",
    ]

    def lines(panel: str, label: str) -> list[list[list[float]]]:
        panel_lines = [line for line in panels[panel].lines if line.get_label().strip("0123456789") == label]
        return [[list(map(float, values)) for values in line.get_data()] for line in panel_lines]

    # Seed 0: 60% after 1 minute, 70% after 2; seed 1: 80% after 3. Only step 10 has both seeds: 70% after 2.
    assert lines("Mean accuracy of 2 tasks", "uni") == [[[2.0], [pytest.approx(70.0)]]]
    assert lines("Mean accuracy of 2 tasks", "_child") == [
        [[1.0, 2.0], [pytest.approx(60.0), pytest.approx(70.0)]],
        [[3.0], [pytest.approx(80.0)]],
    ]
    assert lines("Mean accuracy of 2 tasks", "skip_thought") == [[[5.0], [pytest.approx(57.5)]]]
    assert lines("SICK-R, Pearson", "uni") == [[[2.0], [0.5]]]
    assert panels["MR, accuracy"].get_ylabel() == "percent"
    assert panels["SICK-R, Pearson"].get_ylabel() == ""
    assert all(axes.get_xscale() == "linear" and axes.get_xlim()[0] == 0 for axes in panels.values())
    colours = {axes.lines[-1].get_color() for title, axes in panels.items() if title != "SICK-R, Pearson"}
    assert len(colours) == 1  # Skip-Thought in all panels
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["uni-QT", "skip_thought"]


def test_one_task_has_one_panel() -> None:
    figure = quality_over_time(TABLE[TABLE["task"] == "mr"], {}, TASKS, [])
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["MR, accuracy"]


def test_figure_is_deterministic() -> None:
    first, second = (to_png(quality_over_time(TABLE, {}, TASKS, [])) for _ in range(2))
    assert first.startswith(b"\x89PNG")
    assert first == second


def test_invalid_tables() -> None:
    with pytest.raises(ValueError, match=r"missing columns \['seconds'\]"):
        quality_over_time(TABLE.drop(columns="seconds"), {}, TASKS, [])
    with pytest.raises(ValueError, match=r"none of the metrics \['accuracy', 'pearson', 'pearson_mean'\]"):
        quality_over_time(TABLE.assign(metric="mse"), {}, TASKS, [])
    with pytest.raises(ValueError, match=r"duplicate .*'run': 'uni'.*'step': 20.*'task': 'mr'"):
        quality_over_time(pd.concat([TABLE, TABLE.iloc[:1]]), {}, TASKS, [])

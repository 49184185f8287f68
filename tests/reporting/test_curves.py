import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from contexture.reporting import curves
from contexture.reporting.curves import MAX_POINTS, History, Series, learning_curves, to_png, variant_style


def history(variant: str, seed: int, steps: list[int], stage: str = "finetune", **series: object) -> History:
    return History(stage, variant, seed, pd.DataFrame({"step": steps, **series}))


@pytest.fixture(autouse=True)
def short_logs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw logs of one step."""
    monkeypatch.setattr(curves, "MIN_POINTS", 1)


def test_logs_of_two_steps_are_not_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(curves, "MIN_POINTS", 3)
    short = history("a", 0, [1, 2], **{"dev/map": [0.1, 0.2]})
    longer = history("b", 0, [1, 2, 3], **{"dev/map": [0.1, 0.2, 0.3]})
    assert not learning_curves([short])
    assert set(learning_curves([short, longer])) == {"finetune_dev_map"}


def lines(figure: Figure) -> list[tuple[list[float], list[float]]]:
    return [(list(map(float, x)), list(map(float, y))) for x, y in (line.get_data() for line in figure.axes[0].lines)]


def test_seeds_and_mean_up_to_last_common_step() -> None:
    (name, figure), *others_drawn = learning_curves(
        [
            history("guided", 0, [10, 20, 30], **{"dev/map": [0.2, 0.4, 0.9]}),
            history("guided", 1, [10, 20], **{"dev/map": [0.4, 0.5]}),
            history("bare", 0, [10], **{"dev/map": [0.1]}),
        ]
    ).items()
    assert (name, others_drawn) == ("finetune_dev_map", [])
    drawn = lines(figure)
    # one seed: one line; two seeds: both, then their mean; in percent
    assert drawn[0] == ([10], pytest.approx([10]))
    assert drawn[1] == ([10, 20, 30], pytest.approx([20, 40, 90]))
    assert drawn[3] == ([10, 20], pytest.approx([30, 45]))
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["bare", "guided (mean of 2)"]
    axes = figure.axes[0]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("optimizer step", "percent")
    assert axes.get_title(loc="left") == "Fine-tuning: MAP on the development split"


def test_one_figure_per_stage_and_series_with_consistent_styles() -> None:
    figures = learning_curves(
        [
            history("guided", 0, [1, 2], "pretrain", **{"train/loss": [9.0, 8.0], "train/loss_b": [0.7, np.nan]}),
            history("bare", 0, [1, 2], "pretrain", **{"train/loss": [8.0, 7.0]}),
            history("guided", 0, [1, 2], **{"dev/map": [0.1, 0.2], "epoch": [0, 0], "note": ["a", "b"]}),
        ]
    )
    assert list(figures) == ["pretrain_train_loss", "pretrain_train_loss_b", "finetune_dev_map"]
    looks = {
        line.get_label(): (line.get_color(), line.get_marker()) for line in figures["pretrain_train_loss"].axes[0].lines
    }
    assert len(set(looks.values())) == 2
    for name in ("pretrain_train_loss_b", "finetune_dev_map"):
        (line,) = figures[name].axes[0].lines
        assert (line.get_color(), line.get_marker()) == looks["guided"]
    assert lines(figures["pretrain_train_loss_b"]) == [([1], [0.7])]  # the empty cell is skipped


def test_colours_follow_the_given_order() -> None:
    runs = [history(variant, 0, [1, 2], **{"dev/map": [0.1, 0.2]}) for variant in "abc"]
    (figure,) = learning_curves(runs, order=("z", "c", "a")).values()
    drawn = {line.get_label(): line.get_color() for line in figure.axes[0].lines}
    assert list(drawn) == ["c", "a", "b"]
    assert [drawn[variant] for variant in "cab"] == [variant_style(position)["color"] for position in (1, 2, 3)]


def test_variants_have_distinct_styles() -> None:
    looks = [variant_style(position) for position in range(14)]
    assert len({(drawn["color"], drawn["marker"]) for drawn in looks}) == 14
    assert len({(drawn["color"], drawn["linestyle"]) for drawn in looks}) == 14


def test_figure_names_are_file_names() -> None:
    runs = [history("a", 0, [1], "finetune 5%", **{"dev/loss": [0.5]})]
    ((name, figure),) = learning_curves(runs).items()
    assert name == "finetune_5_dev_loss"
    assert lines(figure) == [([1], [0.5])]
    assert figure.axes[0].get_title(loc="left") == "Fine-tuning (5%): loss on held-out questions"


def test_series_of_objectives_use_given_or_derived_titles() -> None:
    run = history(
        "a", 0, [1], **{"train/unknown_loss": [2.0], "train/unknown_loss_accuracy": [0.5], "train/known": [0.25]}
    )
    drawn = learning_curves([run], objective_series={"known": Series("Known loss", "tens", 10)})
    titles = {
        figure.axes[0].get_title(loc="left"): (figure.axes[0].get_ylabel(), lines(figure)[0][1])
        for figure in drawn.values()
    }
    assert titles == {
        "Fine-tuning: unknown loss": ("", [2.0]),
        "Fine-tuning: unknown loss accuracy": ("percent", [50.0]),
        "Fine-tuning: known loss": ("tens", [2.5]),
    }


def test_total_loss_of_single_objective_is_not_drawn_twice() -> None:
    same = {"train/loss": [1.0, 0.5], "train/answer_selection": [1.0, 0.5]}
    assert list(learning_curves([history("a", 0, [1, 2], **same)])) == ["finetune_train_answer_selection"]
    mixed = [
        history("a", 0, [1], **{"train/loss": [1.0], "train/mlm": [1.0]}),
        history("b", 0, [1], **{"train/loss": [2.0]}),
    ]
    assert "finetune_train_loss" in learning_curves(mixed)


def test_long_logs_are_averaged_over_common_ranges() -> None:
    steps = np.arange(1, 2001)
    runs = [
        history("a", 0, steps, **{"train/loss": np.where(steps % 2, 1.0, 3.0)}),
        history("a", 1, steps[:1000], **{"train/loss": np.full(1000, 4.0)}),
    ]
    first, second, mean = lines(learning_curves(runs)["finetune_train_loss"])
    assert len(first[0]) == MAX_POINTS
    assert first[0][0] == 2000 / MAX_POINTS / 2
    assert first[1][1:] == pytest.approx([2.0] * (MAX_POINTS - 1), abs=0.05)
    assert second[0] == first[0][: len(second[0])]
    assert mean[0] == second[0]
    assert mean[1][1:] == pytest.approx([3.0] * (len(second[0]) - 1), abs=0.05)


def test_logs_without_values_give_no_figure() -> None:
    assert learning_curves([]) == {}
    assert learning_curves([history("a", 0, [], **{"dev/map": []})]) == {}
    assert learning_curves([history("a", 0, [1], **{"dev/map": [np.inf]})]) == {}
    with pytest.raises(ValueError, match="log of a, seed 3, has no column 'step'"):
        learning_curves([History("finetune", "a", 3, pd.DataFrame({"dev/map": [0.1]}))])


def test_figure_is_deterministic() -> None:
    def draw() -> bytes:
        runs = [history("guided", s, [1, 2], **{"train/tokens_per_second": [17000.0, 18000.0]}) for s in (0, 1)]
        return to_png(learning_curves(runs)["finetune_train_tokens_per_second"])

    first = draw()
    assert first.startswith(b"\x89PNG")
    assert first == draw()

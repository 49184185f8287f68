import pytest

from contexture.reporting.training_tables import format_count, trainings_table
from tests.reporting.make import TRAINING

LABELS = {"uni": "uni-QT", "skip_thought": "Skip-Thought"}


def test_cost_and_speed() -> None:
    trainings = {"skip_thought": {**TRAINING, "examples": 45_000}, "uni": {**TRAINING, "examples": 279_000}}
    table = trainings_table(trainings, LABELS, "Sentences", "skip_thought", "A remark.")
    assert [column.name for column in table.columns[-2:]] == ["Sentences per second", "× Skip-Thought"]
    assert table.rows == (
        ("uni-QT", "57,700,000", "300", "1,250,000", "25.0T", "1.5", "9,000", "3,100", "6.2"),
        ("Skip-Thought", "57,700,000", "300", "1,250,000", "25.0T", "1.5", "9,000", "500", "1.0"),
    )
    assert table.caption == "A remark."


def test_without_counted_examples() -> None:
    table = trainings_table({"own": TRAINING}, LABELS, slow="skip_thought")
    assert table.rows[0][-2:] == ("9,000", "–")
    assert trainings_table({}, LABELS).rows == ()
    with pytest.raises(ValueError, match=r"the training of uni: missing keys \['flops'\]"):
        trainings_table({"uni": {key: value for key, value in TRAINING.items() if key != "flops"}}, LABELS)


def test_format_count() -> None:
    assert [format_count(count) for count in (7, 1250, 3.4e6, 2.5e9, 1e18)] == ["7", "1.2k", "3.4M", "2.5G", "1.0E"]

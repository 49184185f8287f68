import json

import pandas as pd
import pytest

from contexture.metrics.ranking import average, question_metrics
from contexture.reporting.records import check_records

GOOD = {
    "system": "mspp",
    "variant": "mspp_ie",
    "task": "wikiqa",
    "split": "test",
    "metric": "map",
    "value": 0.5,
    "seed": 0,
}


def test_what_the_evaluation_writes_is_accepted_after_a_round_trip() -> None:
    rows = [("mspp_ie", 1, "test", "grouped", "Q1", f"c{i}", label, -1.0 * i) for i, label in enumerate([0, 1])]
    columns = ["variant", "seed", "split", "protocol", "question_id", "candidate_id", "label", "score"]
    records = average(question_metrics(pd.DataFrame(rows, columns=columns)), "mspp", "wikiqa")
    assert check_records(json.loads(json.dumps(records))) == records
    assert len(records) == 3


@pytest.mark.parametrize("metric", ["recall_at_1", "recall_at_100", "sentence_recall_at_50"])
def test_recalls_are_metrics(metric: str) -> None:
    record = {**GOOD, "system": "two_tower", "task": "squad", "split": "1%", "metric": metric}
    assert check_records([record]) == [record]


@pytest.mark.parametrize(
    ("metric", "good", "bad", "where"),
    [
        ("accuracy", [0, 1.0], [-0.1, 1.01], r"in 0\.\.1"),
        ("f1", [0, 1.0], [-0.1, 1.01], r"in 0\.\.1"),
        ("spearman", [-1.0, 0.3, 1], [-1.01, 55.0], r"in -1\.\.1"),
        ("pearson_weighted_mean", [-1.0, 1], [1.01], r"in -1\.\.1"),
        ("mse", [0.0, 3.5], [-0.1, float("inf")], "from 0 upwards"),
        ("search_median_rank", [1, 250.5], [-1, float("nan")], "from 0 upwards"),
        ("annotation_recall_at_10", [0.5], [50.0], r"in 0\.\.1"),
    ],
)
def test_each_metric_has_its_range(metric: str, good: list[float], bad: list[float], where: str) -> None:
    for value in good:
        record = {**GOOD, "metric": metric, "value": value}
        assert check_records([record]) == [record]
    for value in bad:
        with pytest.raises(ValueError, match=f"metrics record 0: 'value' must be a number {where}"):
            check_records([{**GOOD, "metric": metric, "value": value}])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"metric": "recall_at_2"}, "unknown metric"),
        ({"metric": "ap"}, "unknown metric, expected one of .*'p_at_1', 'map', 'mrr'"),
        ({"value": 50.0}, r"number in 0\.\.1"),
        ({"value": float("nan")}, r"number in 0\.\.1"),
        ({"value": True}, r"number in 0\.\.1"),
        ({"value": "0.5"}, r"number in 0\.\.1"),
        ({"seed": 1.0}, "'seed' must be an integer"),
        ({"seed": True}, "'seed' must be an integer"),
        ({"split": ""}, "'split' must be a non-empty string"),
        ({"variant": None}, "'variant' must be a non-empty string"),
        ({"protocol": "grouped"}, r"unknown keys \['protocol'\]"),
    ],
)
def test_a_bad_record_is_named_by_its_place(change: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=f"metrics record 1: .*{message}"):
        check_records([GOOD, {**GOOD, "seed": 1, **change}])


def test_other_bad_input() -> None:
    with pytest.raises(ValueError, match=r"metrics record 0: the keys \['seed'\] are missing"):
        check_records([{key: value for key, value in GOOD.items() if key != "seed"}])
    with pytest.raises(ValueError, match="metrics record 2: the same measurement as record 0"):
        check_records([GOOD, {**GOOD, "seed": 1}, {**GOOD, "value": 0.6}])
    with pytest.raises(ValueError, match="expected a list of metrics records, got dict"):
        check_records({"records": [GOOD]})
    with pytest.raises(ValueError, match="metrics record 0: not an object"):
        check_records(["map"])

import json
import subprocess
import sys

import pytest

from contexture.reporting.records import Place, by_seed, check_records, data_of, place_of
from tests.reporting.make import COST, measured

GOOD = measured("mlm", [0.5], "answer_selection", "demo", "grouped", "map")[0]


@pytest.mark.parametrize("record", [GOOD, {**GOOD, **COST}, {**GOOD, "data": "demo/animals", "split": "dev"}])
def test_records_are_accepted_after_a_round_trip(record: dict[str, object]) -> None:
    assert check_records(json.loads(json.dumps([record]))) == [record]


@pytest.mark.parametrize("metric", ["recall_at_1", "recall_at_100", "sentence_recall_at_50"])
def test_recalls_are_metrics(metric: str) -> None:
    record = {**GOOD, "task": "retrieval", "data": "squad", "protocol": "1%", "metric": metric}
    assert check_records([record]) == [record]


def test_where_numbers_stand() -> None:
    place = Place("sick_r", "senteval", "cosine", "spearman_mean")
    records = measured("mlm", [0.5, 0.25], "sick_r", "senteval", "cosine", "spearman_mean")
    records += measured("mlm", [0.9], "sick_r", "senteval/test", "cosine", "spearman")
    records += measured("ict", [0.1], "mr", "demo")
    records += measured("mlm", [0.9], "sick_r", "senteval", "cosine", "spearman_mean", split="dev")
    assert [place_of(record) == place for record in records] == [True, True, False, False, False]
    assert by_seed(records, "mlm", place) == {0: 0.5, 1: 0.25}
    assert by_seed(records, "ict", Place("mr", "demo", "senteval", "accuracy")) == {0: 10.0}  # in percent
    assert data_of(records) == ["senteval", "demo"]


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
        ({"split": "1%"}, r"unknown split, expected one of \['train', 'dev', 'test'\]"),
        ({"data": ""}, "'data' must be a non-empty string"),
        ({"protocol": 1}, "'protocol' must be a non-empty string"),
        ({"device": "cpu"}, r"unknown keys \['device'\]"),
        ({"steps": 10}, r"of the cost of training \['training_text', 'tokens', .*'parameters'\] are missing"),
        ({**COST, "training_text": ""}, "'training_text' must be a non-empty string"),
        ({**COST, "tokens": 1.5}, "'tokens' must be an integer from 0"),
        ({**COST, "parameters": -1}, "'parameters' must be an integer from 0"),
        ({**COST, "flops": float("inf")}, "'flops' must be a number from 0"),
        ({**COST, "seconds": True}, "'seconds' must be a number from 0"),
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


def test_records_need_neither_torch_nor_spark_nor_faiss() -> None:
    code = """
import sys
import contexture.reporting.records
print({"torch", "pyspark", "faiss"} & sys.modules.keys() or "none")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "none"

import json

import pytest

from contexture.reporting.records import ScoreKey, check_records, list_data, score_key, select_final, values_by_seed
from tests.reporting.make import COST, measured

GOOD = measured("mlm", [0.5], "answer_selection", "demo", "grouped", "map")[0]
LOSSES = {"held_out_loss": -0.5, "held_out_loss_start": 7.5, "stopped_early": False}


@pytest.mark.parametrize(
    "record", [GOOD, {**GOOD, **COST}, {**GOOD, **COST, **LOSSES}, {**GOOD, "data": "demo/animals", "split": "dev"}]
)
def test_records_survive_json(record: dict[str, object]) -> None:
    assert check_records(json.loads(json.dumps([record]))) == [record]


@pytest.mark.parametrize("metric", ["recall_at_1", "recall_at_100", "sentence_recall_at_50"])
def test_recalls_are_known_metrics(metric: str) -> None:
    record = {**GOOD, "task": "retrieval", "data": "squad", "protocol": "1%", "metric": metric}
    assert check_records([record]) == [record]


def test_score_keys() -> None:
    key = ScoreKey("sick_r", "senteval", "cosine", "spearman_mean")
    records = measured("mlm", [0.5, 0.25], "sick_r", "senteval", "cosine", "spearman_mean")
    records += measured("mlm", [0.9], "sick_r", "senteval/test", "cosine", "spearman")
    records += measured("ict", [0.1], "mr", "demo")
    records += measured("mlm", [0.9], "sick_r", "senteval", "cosine", "spearman_mean", split="dev")
    assert [score_key(record) == key for record in records] == [True, True, False, False, False]
    assert values_by_seed(records, "mlm", key) == {0: 0.5, 1: 0.25}
    assert values_by_seed(records, "ict", ScoreKey("mr", "demo", "senteval", "accuracy")) == {0: 10.0}  # in percent
    assert list_data(records) == ["senteval", "demo"]


@pytest.mark.parametrize(
    ("metric", "good", "bad", "where"),
    [
        ("accuracy", [0, 1.0], [-0.1, 1.01], r"in 0\.\.1"),
        ("f1", [0, 1.0], [-0.1, 1.01], r"in 0\.\.1"),
        ("spearman", [-1.0, 0.3, 1], [-1.01, 55.0], r"in -1\.\.1"),
        ("pearson_weighted_mean", [-1.0, 1], [1.01], r"in -1\.\.1"),
        ("mse", [0.0, 3.5], [-0.1, float("inf")], "of at least 0"),
        ("search_median_rank", [1, 250.5], [-1, float("nan")], "of at least 0"),
        ("annotation_recall_at_10", [0.5], [50.0], r"in 0\.\.1"),
    ],
)
def test_values_are_limited_to_the_range_of_the_metric(
    metric: str, good: list[float], bad: list[float], where: str
) -> None:
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
        ({"metric": "ap"}, "unknown metric; known: .*'p_at_1', 'map', 'mrr'"),
        ({"value": 50.0}, r"number in 0\.\.1"),
        ({"value": float("nan")}, r"number in 0\.\.1"),
        ({"value": True}, "value: Input should be a valid number"),
        ({"value": "0.5"}, "value: Input should be a valid number"),
        ({"seed": 1.0}, "seed: Input should be a valid integer"),
        ({"seed": True}, "seed: Input should be a valid integer"),
        ({"variant": None}, "variant: Input should be a valid string"),
        ({"split": "1%"}, "split: Input should be 'train', 'dev' or 'test'"),
        ({"data": ""}, "data: String should have at least 1 character"),
        ({"protocol": 1}, "protocol: Input should be a valid string"),
        ({"device": "cpu"}, "device: Extra inputs are not permitted"),
        ({"steps": 10}, r"training cost without \['training_text', 'tokens', .*'parameters'\]"),
        ({**COST, "training_text": ""}, "training_text: String should have at least 1 character"),
        ({**COST, "tokens": 1.5}, "tokens: Input should be a valid integer"),
        ({**COST, "parameters": -1}, "parameters: Input should be greater than or equal to 0"),
        ({**COST, "flops": float("inf")}, "flops: Input should be a finite number"),
        ({**COST, "seconds": True}, "seconds: Input should be a valid number"),
    ],
)
def test_error_names_position_of_record(change: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=f"metrics record 1: .*{message}"):
        check_records([GOOD, {**GOOD, "seed": 1, **change}])


def test_invalid_input() -> None:
    with pytest.raises(ValueError, match="metrics record 0: seed: Field required"):
        check_records([{key: value for key, value in GOOD.items() if key != "seed"}])
    with pytest.raises(ValueError, match="metrics record 2: duplicate of record 0"):
        check_records([GOOD, {**GOOD, "seed": 1}, {**GOOD, "value": 0.6}])
    with pytest.raises(ValueError, match="expected a list of metrics records, got dict"):
        check_records({"records": [GOOD]})
    with pytest.raises(ValueError, match="metrics record 0: Input should be a valid dictionary"):
        check_records(["map"])


def test_the_final_split_is_dev_if_a_data_set_has_no_test_results() -> None:
    tested = [*measured("ict", [0.5], split="dev"), *measured("ict", [0.6])]
    blind = [*measured("ict", [0.7], data="fever", split="train"), *measured("ict", [0.8], data="fever", split="dev")]
    assert [record["value"] for record in select_final([*tested, *blind])] == [0.6, 0.8]
    assert select_final([]) == []

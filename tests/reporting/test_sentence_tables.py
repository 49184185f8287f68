import pytest

from contexture.reporting.records import Record
from contexture.reporting.sentence_tables import (
    aggregates_table,
    chosen_table,
    missing_table,
    neighbours_table,
    training_speed_table,
)


def similarity(variant: str, task: str, metric: str, values: list[float], split: str = "all") -> list[Record]:
    return [
        Record(system="quick_thoughts", variant=variant, task=task, split=split, metric=metric, value=value, seed=seed)
        for seed, value in enumerate(values)
    ]


def test_every_task_with_all_six_aggregates() -> None:
    metrics = [f"{kind}_{how}" for kind in ("pearson", "spearman") for how in ("mean", "weighted_mean", "pooled")]
    ours = [
        *(r for i, metric in enumerate(metrics) for r in similarity("uni", "sts14", metric, [0.1 * i, 0.1 * i + 0.01])),
        *similarity("random", "sts14", "pearson_pooled", [-0.25]),
        *similarity("own", "sick_r", "spearman_mean", [0.5]),
        *similarity("own", "sick_r", "pearson", [0.9], split="test"),
    ]
    table = aggregates_table(ours)
    assert [f"{c.group} {c.name}" for c in table.columns[1:]] == [
        f"{kind} {how}" for kind in ("Pearson", "Spearman") for how in ("mean", "weighted mean", "pooled")
    ]
    assert table.headings == {0: "SICK-R", 1: "STS14"}
    assert table.rows[0] == ("own", "–", "–", "–", "0.500", "–", "–")
    # 0.1·i and 0.01 more: mean 0.005 above, standard deviation 0.01/√2 = 0.0071
    assert table.rows[1] == ("uni-QT", *(f"{0.1 * i + 0.005:.3f} (0.007)" for i in range(6)))
    assert table.rows[2] == ("Random encoder", "–", "–", "-0.250", "–", "–", "–")
    assert table.bold == {(1, 3)}  # of sts14, where two have a number; a task's only number is no best
    assert aggregates_table([]).rows == ()


def test_chosen_strengths() -> None:
    rows = [
        {"variant": "own", "task": "mr", "protocol": "senteval", "c": [0.25]},
        {"variant": "uni", "task": "trec", "protocol": "senteval", "c": [4]},
        {"variant": "uni", "task": "mr", "protocol": "senteval", "c": [1, 8, 2.0]},
        {"variant": "uni", "task": "mr", "protocol": "senteval", "c": [0.5]},  # another seed: 0.5 1 2 8
        {"variant": "uni", "task": "mr", "protocol": "skip_thoughts", "c": [256, 256]},
    ]
    table = chosen_table(rows)
    assert [column.name for column in table.columns] == ["Model", "Protocol", "MR", "TREC"]
    assert table.rows == (
        ("uni-QT", "SentEval's protocol", "1 (0.5–8)", "4"),
        ("uni-QT", "skip-thoughts probe", "256", "–"),
        ("own", "SentEval's protocol", "0.25", "–"),
    )
    assert chosen_table([]).rows == ()
    with pytest.raises(ValueError, match=r"told of the chosen C lacks \['protocol', 'c'\]"):
        chosen_table([{"variant": "uni", "task": "mr"}])
    with pytest.raises(ValueError, match=r"no C was chosen: .*'task': 'mr'"):
        chosen_table([{"variant": "uni", "task": "mr", "protocol": "senteval", "c": []}])


def test_neighbours_to_read() -> None:
    rows = [
        {"query": "It rained.", "model": "skip_thought", "neighbour": "He ran.", "cosine": 0.5},
        {"query": "It rained.", "model": "uni", "neighbour": "It poured.", "cosine": 0.876},
        {"query": "It rained.", "model": "uni", "neighbour": "It was dry.", "cosine": 0.4},
        {"query": "Who came?", "model": "uni", "neighbour": "Nobody.", "cosine": -0.25},
    ]
    table = neighbours_table(rows)
    assert [column.name for column in table.columns] == ["Query", "uni-QT", "Skip-Thought"]
    assert table.rows == (
        ("It rained.", "It poured. (0.88)", "He ran. (0.50)"),
        ("Who came?", "Nobody. (-0.25)", "–"),
    )
    with pytest.raises(ValueError, match=r"told of a neighbour lacks \['cosine'\]"):
        neighbours_table([{"query": "a", "model": "uni", "neighbour": "b"}])


def test_speed_of_training() -> None:
    speed = {"sentences_per_second": 500.0, "words_per_second": 9000.0, "seconds": 90.0, "parameters": 57_700_000}
    table = training_speed_table({"skip_thought": speed, "uni": {**speed, "sentences_per_second": 3100.0}})
    assert table.rows == (
        ("uni-QT", "57,700,000", "1.5", "9,000", "3,100", "6.2"),
        ("Skip-Thought", "57,700,000", "1.5", "9,000", "500", "1.0"),
    )
    assert training_speed_table({"own": speed}).rows[0][-1] == "–"
    with pytest.raises(ValueError, match=r"told of the speed of uni lacks \['words_per_second'\]"):
        training_speed_table({"uni": {key: value for key, value in speed.items() if key != "words_per_second"}})


def test_what_was_not_measured() -> None:
    table = missing_table({"own": "no such file", "sst2": "no folder SST"})
    assert table.rows == (("SST", "no folder SST"), ("own", "no such file"))

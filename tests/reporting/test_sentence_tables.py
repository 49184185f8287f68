import pytest

from contexture.reporting.sentence_tables import aggregates_tables, chosen_table, neighbours_table
from tests.reporting.make import measured

LABELS = {"uni": "uni-QT", "skip_thought": "Skip-Thought", "untrained": "Random encoder"}


def test_all_aggregates_of_similarity_tasks() -> None:
    metrics = [
        f"{kind}_{aggregate}" for kind in ("pearson", "spearman") for aggregate in ("mean", "weighted_mean", "pooled")
    ]
    sts14 = ("sts14", "senteval", "cosine")
    ours = [
        *(r for i, metric in enumerate(metrics) for r in measured("uni", [0.1 * i, 0.1 * i + 0.01], *sts14, metric)),
        *measured("untrained", [-0.25], *sts14, "pearson_pooled"),
        *measured("own", [0.5], "sick_r", "senteval", "cosine", "spearman_mean"),
        *measured("own", [0.9], "sick_r", "senteval/test", "cosine", "pearson"),
        *measured("own", [0.7], "sick_r", "demo", "cosine", "spearman_mean"),
    ]
    table, other = aggregates_tables(ours, LABELS)
    assert [f"{c.group} {c.name}" for c in table.columns[1:]] == [
        f"{kind} {aggregate}" for kind in ("Pearson", "Spearman") for aggregate in ("mean", "weighted mean", "pooled")
    ]
    assert table.headings == {0: "SICK-R", 1: "STS14"}
    assert table.rows[0] == ("own", "–", "–", "–", "0.500", "–", "–")
    # 0.1·i and 0.01 more: mean 0.005 above, standard deviation 0.01/√2, times t(0.975, 1) = 12.706 over √2: 0.064
    assert table.rows[1] == ("uni-QT", *(f"{0.1 * i + 0.005:.3f} ±0.064" for i in range(6)))
    assert table.rows[2] == ("Random encoder", "–", "–", "-0.250", "–", "–", "–")
    assert table.bold == {(1, 3)}  # of sts14 with two numbers; a single number is not bold
    assert (other.title.partition(" (")[2], other.rows) == (
        "the demo's made-up world)",
        (("own", "–", "–", "–", "0.700", "–", "–"),),
    )
    assert aggregates_tables([], LABELS) == []


def test_chosen_c() -> None:
    rows = [
        {"variant": "own", "task": "mr", "protocol": "senteval", "c": [0.25]},
        {"variant": "uni", "task": "trec", "protocol": "senteval", "c": [4]},
        {"variant": "uni", "task": "mr", "protocol": "senteval", "c": [1, 8, 2.0]},
        {"variant": "uni", "task": "mr", "protocol": "senteval", "c": [0.5]},  # another seed: 0.5 1 2 8
        {"variant": "uni", "task": "mr", "protocol": "skip_thoughts", "c": [256, 256]},
    ]
    table = chosen_table(rows, LABELS)
    assert [column.name for column in table.columns] == ["Model", "Protocol", "MR", "TREC"]
    assert table.rows == (
        ("uni-QT", "SentEval's protocol", "1 (0.5–8)", "4"),
        ("uni-QT", "skip-thoughts probe", "256", "–"),
        ("own", "SentEval's protocol", "0.25", "–"),
    )
    assert chosen_table([], LABELS).rows == ()
    with pytest.raises(ValueError, match=r"the chosen C: missing keys \['protocol', 'c'\]"):
        chosen_table([{"variant": "uni", "task": "mr"}], LABELS)
    with pytest.raises(ValueError, match=r"empty list c in the chosen C: .*'task': 'mr'"):
        chosen_table([{"variant": "uni", "task": "mr", "protocol": "senteval", "c": []}], LABELS)


def test_nearest_neighbours() -> None:
    rows = [
        {"query": "It rained.", "model": "skip_thought", "neighbour": "He ran.", "cosine": 0.5},
        {"query": "It rained.", "model": "uni", "neighbour": "It poured.", "cosine": 0.876},
        {"query": "It rained.", "model": "uni", "neighbour": "It was dry.", "cosine": 0.4},
        {"query": "Who came?", "model": "uni", "neighbour": "Nobody.", "cosine": -0.25},
    ]
    table = neighbours_table(rows, LABELS)
    assert [column.name for column in table.columns] == ["Query", "uni-QT", "Skip-Thought"]
    assert table.rows == (
        ("It rained.", "It poured. (0.88)", "He ran. (0.50)"),
        ("Who came?", "Nobody. (-0.25)", "–"),
    )
    with pytest.raises(ValueError, match=r"a neighbour: missing keys \['cosine'\]"):
        neighbours_table([{"query": "a", "model": "uni", "neighbour": "b"}], LABELS)

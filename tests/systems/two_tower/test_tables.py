import pytest

from contexture.reporting.records import Record
from contexture.systems.two_tower.page import PUBLISHED
from contexture.systems.two_tower.tables import ablation_table, index_table, pairs_table, sets_table, speed_table
from tests.reporting.make import measured


def ablation_records(variant: str, share: str, values: list[float]) -> list[Record]:
    return measured(variant, values, "retrieval", "squad", f"{share} ablation", "recall_at_100")


def test_pairs_compared_with_the_paper() -> None:
    counts = {"pairs": 1234, "tokens": 1234567, "mean_query_tokens": 28.126, "mean_document_tokens": 972.0}
    table = pairs_table({"ict": counts, "own": counts}, PUBLISHED)
    assert table.rows[0] == ("ICT", "1,234", "50.2M", "1,234,567", "11.2B", "28.13", "30.41", "972.00", "193.89")
    assert table.rows[1] == ("BFS", "–", "17.5M", "–", "3.3B", "–", "28.02", "–", "160.46")
    assert table.rows[3] == ("own", "1,234", "–", "1,234,567", "–", "28.13", "–", "972.00", "–")
    assert pairs_table({}, PUBLISHED).rows == ()
    with pytest.raises(ValueError, match=r"bfs: missing keys \['tokens', 'mean_query_tokens'"):
        pairs_table({"bfs": {"pairs": 1}}, PUBLISHED)


def test_data_sets_compared_with_the_paper() -> None:
    counts = {"queries": 10570, "candidates": 10000, "tuples": 11000, "query_words": 10.2}
    table = sets_table({"squad": counts}, PUBLISHED)
    assert table.rows == (("SQuAD", "10,570", "97,888", "10,000", "101,951", "11,000", "99,024"),)
    assert [row[:3] for row in sets_table({"demo": counts}, PUBLISHED).rows] == [
        ("SQuAD", "–", "97,888"),
        ("the demo's made-up world", "10,570", "–"),
    ]
    assert sets_table({}, PUBLISHED).rows == ()


def test_our_ablation_precedes_the_papers() -> None:
    ours = [
        *ablation_records("ict_bfs_wlp layers=4 embedding_size=64", "1%", [0.5]),
        *ablation_records("bfs layers=2 embedding_size=64", "1%", [0.2]),
        *ablation_records("ict layers=2 embedding_size=128", "1%", [0.3]),
        *ablation_records("ict layers=2 embedding_size=64", "1%", [0.40, 0.42]),
        *ablation_records("ict layers=2 embedding_size=64", "20%", [0.6]),
        *ablation_records("ict layers=2 embedding_size=64", "frozen", [0.1]),  # without a column in the paper's table
    ]
    table = ablation_table(ours, "squad", PUBLISHED)
    assert [column.name for column in table.columns[3:]] == ["1%", "5%", "10%", "20%", "80%"]
    assert table.rows[:4] == (
        ("2", "ICT", "64", "41.0 ±12.7", "–", "–", "60.0", "–"),
        ("2", "ICT", "128", "30.0", "–", "–", "–", "–"),
        ("2", "BFS", "64", "20.0", "–", "–", "–", "–"),
        ("4", "ICT+BFS+WLP", "64", "50.0", "–", "–", "–", "–"),
    )
    assert table.rows[-1] == ("12", "ICT+BFS+WLP", "512", "82.8", "88.0", "90.0", "–", "94.6")
    assert table.headings == {0: "Ours, SQuAD", 4: "Paper, Natural Questions"}
    # single numbers are not bold; in the last column 256 dimensions are better than 512
    assert table.bold == {(3, 3), (12, 3), (12, 4), (12, 5), (11, 7)}
    assert ablation_table([], "squad", PUBLISHED).rows == ()
    with pytest.raises(ValueError, match=r"a name like 'ict layers=2 embedding_size=64', got 'ict 2'"):
        ablation_table(ablation_records("ict 2", "1%", [0.1]), "squad", PUBLISHED)


def test_indexes_and_speeds() -> None:
    row = {"kind": "ivf", "recall_against_exact": 0.9876, "queries_per_second": 12345.6, "build_seconds": 1.25}
    assert index_table([row, {**row, "kind": "own"}]).rows == (
        ("IVF", "98.8", "12,346", "1.2"),
        ("own", "98.8", "12,346", "1.2"),
    )
    with pytest.raises(ValueError, match=r"an index: missing keys \['build_seconds'\]"):
        index_table([{key: value for key, value in row.items() if key != "build_seconds"}])
    speeds = [
        {"what": "BM25 search", "unit": "queries", "per_second": 1812.4},
        {"what": "x", "unit": "y", "per_second": 3.14159},
    ]
    assert speed_table(speeds).rows == (("BM25 search", "1,812", "queries"), ("x", "3.14", "y"))

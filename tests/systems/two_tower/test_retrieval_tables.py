import pytest
from contexture.systems.two_tower.retrieval_tables import index_table, speed_table


def test_indexes_and_speeds() -> None:
    row = {"kind": "ivf", "recall_against_exact": 0.9876, "queries_per_second": 12345.6, "build_seconds": 1.25}
    assert index_table([row, {**row, "kind": "own"}]).rows == (
        ("IVF", "98.8", "12,346", "1.2"),
        ("own", "98.8", "12,346", "1.2"),
    )
    with pytest.raises(ValueError, match=r"told of an index lacks \['build_seconds'\]"):
        index_table([{key: value for key, value in row.items() if key != "build_seconds"}])
    speeds = [
        {"what": "BM25 search", "unit": "queries", "per_second": 1812.4},
        {"what": "x", "unit": "y", "per_second": 3.14159},
    ]
    assert speed_table(speeds).rows == (("BM25 search", "1,812", "queries"), ("x", "3.14", "y"))

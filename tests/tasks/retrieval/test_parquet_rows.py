"""Rows of a Parquet file, for any size of row groups."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from contexture.retrieval import parquet_rows
from contexture.retrieval.parquet_rows import ParquetRows

NAMES = [f"n{number}" for number in range(11)]
TEXTS = [f"text {number}" for number in range(11)]


@pytest.mark.parametrize("group", [1, 3, 4, 100])
def test_rows_equal_those_of_the_whole_table(group: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet_rows, "ROWS_PER_BATCH", 2)
    pq.write_table(pa.table({"name": NAMES, "text": TEXTS}), tmp_path / "rows.parquet", row_group_size=group)
    rows = ParquetRows(tmp_path / "rows.parquet")
    pairs = list(zip(TEXTS, NAMES, strict=True))
    assert len(rows) == 11
    assert list(rows.tuples(["text", "name"])) == pairs  # columns in the given order
    assert [batch.num_rows for batch in rows.batches(["name"])] == [2] * 5 + [1]
    for start in range(11):
        for stop in range(start + 1, 12):
            assert rows.read_range(range(start, stop), ["text", "name"]) == pairs[start:stop]
    assert rows.take([10, 0, 3, 3]) == [{"name": NAMES[row], "text": TEXTS[row]} for row in (10, 0, 3, 3)]

"""Datasets that are either complete or missing."""

import errno
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from kedro.io import DatasetError
from pyspark.sql import SparkSession

from contexture.corpus.errors import is_disk_full
from contexture.pipelines.datasets import JsonFile, SparkTable, TextFile


def fill_the_disk(_: Iterator[Any]) -> Iterator[Any]:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    yield


def test_a_full_disk_is_an_error_of_one_line_and_keeps_the_older_table(spark: SparkSession, tmp_path: Path) -> None:
    table = SparkTable(str(tmp_path / "pages"))
    table.save(spark.range(3))
    with pytest.raises(DatasetError) as raised:
        table.save(spark.range(9).mapInPandas(fill_the_disk, "id long"))
    (line,) = str(raised.value).splitlines()
    assert line.startswith(f"no room on the disk while {tmp_path}/pages was written (")
    assert f" MB free in {tmp_path}, " in line
    assert table.load().count() == 3
    assert [path.name for path in tmp_path.iterdir()] == ["pages"]


@pytest.mark.parametrize(
    ("message", "full"),
    [
        ("org.apache.hadoop.fs.FSError: java.io.IOException: No space left on device\n\tat java.base/java.io", True),
        ("java.io.IOException: Disk quota exceeded", True),
        ("java.io.IOException: Permission denied", False),
    ],
)
def test_messages_of_java_about_a_full_disk(message: str, full: bool) -> None:
    outer = RuntimeError("An error occurred while calling o57.parquet.")
    outer.__cause__ = RuntimeError(f"Job aborted due to stage failure: {message}")
    assert is_disk_full(outer) is full


def test_json_and_text_are_loaded_again_and_an_error_keeps_the_older_file(tmp_path: Path) -> None:
    values, text = JsonFile(str(tmp_path / "new/counts.json")), TextFile(str(tmp_path / "card.html"))
    text.save("naïve\n")
    assert text.load() == "naïve\n" and text.exists() and not values.exists()
    with pytest.raises(DatasetError, match=r"counts\.json is not there: run the stage that makes it first"):
        values.load()
    values.save({"pages": [1, 2.5, None]})
    with pytest.raises(DatasetError):
        values.save({"pages": object()})
    assert values.load() == {"pages": [1, 2.5, None]}
    (tmp_path / "new/counts.json").write_text("[1,")
    with pytest.raises(DatasetError, match=r"counts\.json is damaged"):
        values.load()
    assert len(list(tmp_path.rglob("*.*"))) == 2

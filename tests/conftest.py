"""Fixtures that the whole suite shares: a Spark session, and the real data next to the project."""

import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from xdist.scheduler import LoadFileScheduling

from contexture.corpus.session import start_spark
from contexture.training.fleet import PARALLEL_WAITING

PROJECT = Path(__file__).resolve().parents[1]
os.environ["DO_NOT_TRACK"] = "true"  # no network: Kedro would report its use
os.environ["HF_HUB_OFFLINE"] = "1"
if "PYTEST_XDIST_WORKER" in os.environ:
    # The cores are busy: threads of one process would wait for those of another.
    os.environ |= {"OMP_NUM_THREADS": "1", **PARALLEL_WAITING}

SPARK_SETTINGS = {
    "spark.master": "local[2]",
    "spark.ui.enabled": False,
    "spark.sql.shuffle.partitions": 2,
    "spark.sql.session.timeZone": "UTC",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    # Queries of a few rows take longer to compile than to run. The demo runs the same code with Spark's defaults.
    "spark.sql.codegen.wholeStage": False,
    # Java of a few minutes: compiling and collecting garbage in parallel would take twice the processor time.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}
#: Workers that start Spark, each its own: they begin with the tests that need it, while others do all the rest.
SPARK_WORKERS = 2


@cache
def spark_groups() -> dict[str, int]:
    """Test file that needs Spark → the number of its group; the groups are of like size."""
    texts = {file: file.read_text(encoding="utf-8") for file in sorted((PROJECT / "tests").rglob("test_*.py"))}
    sizes = {file: len(text) for file, text in texts.items() if "from pyspark" in text}
    totals, groups = [0] * SPARK_WORKERS, {}
    for file in sorted(sizes, key=lambda file: -sizes[file]):
        group = totals.index(min(totals))
        totals[group] += sizes[file]
        groups[file.relative_to(PROJECT).as_posix()] = group
    return groups


class SparkFirst(LoadFileScheduling):
    """Tests of one file are done by one worker, and the files of a group that needs Spark by the same one."""

    def _split_scope(self, nodeid: str) -> str:
        file: str = super()._split_scope(nodeid)
        group = spark_groups().get(file)
        return file if group is None else f"spark-{group}"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: item.nodeid.partition("::")[0] not in spark_groups())


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> SparkFirst:
    config.option.loadscopereorder = False  # keeps those that need Spark at the beginning
    return SparkFirst(config, log)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real data, or skip: it is not part of the project."""
    folder = PROJECT.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("real data absent: put the folder shared/data beside the project to run this test")
    return folder


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """The one Spark session of a worker."""
    session = start_spark(SPARK_SETTINGS)
    yield session
    session.stop()

"""Fixtures that the whole suite shares: one Spark session, and the real data where it lies beside the project."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from xdist.scheduler import LoadFileScheduling

from contexture.corpus.java import ensure_java

PROJECT = Path(__file__).resolve().parents[1]
os.environ["DO_NOT_TRACK"] = "true"  # no network: Kedro would report its use
os.environ["HF_HUB_OFFLINE"] = "1"
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ["OMP_NUM_THREADS"] = "1"  # the cores are busy: threads of one process would wait for those of another


class SparkOnOneWorker(LoadFileScheduling):
    """Tests of one file are done by one worker, and all files that need Spark by the same one: it is started once."""

    def _split_scope(self, nodeid: str) -> str:
        file: str = super()._split_scope(nodeid)
        return "spark" if "SparkSession" in (PROJECT / file).read_text(encoding="utf-8") else file


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> SparkOnOneWorker:
    return SparkOnOneWorker(config, log)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real data, or skip: it is not part of the project."""
    folder = PROJECT.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("real data absent: put the folder shared/data beside the project to run this test")
    return folder


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """The one Spark session of the suite."""
    ensure_java()
    os.environ["PYSPARK_PYTHON"] = sys.executable
    session = (
        SparkSession.builder.master("local[2]")
        .appName("contexture-tests")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "4")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .getOrCreate()
    )
    yield session
    session.stop()

"""Python workers of Spark import only what their task needs, for a fast cold start; what forks them has one thread."""

import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark import cloudpickle
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from contexture.corpus import pages
from contexture.corpus.config import CorpusConfig
from contexture.corpus.sources import find_sources, open_readers
from contexture.corpus.sources.protocol import bundle_splits, plan_splits
from tests.corpus.make import make_export, make_page

#: Slow imports that reading text does not need. PySpark imports NumPy, and pyarrow's arrays import pandas.
HEAVY = ["nltk", "scipy", "sklearn", "torch", "transformers", "faiss", "matplotlib", "kedro", "mlflow"]

#: Words for which Punkt needs tokens.
HARD = 'It is 3 a.m... Ash (b. 1912. She) came. "No." Said J.-H. Fen, the U.S.-born. And so on. . . It was 5.– each.'

WORKER = """
import pickle, sys
task, batch = pickle.load(sys.stdin.buffer)
rows = sum(result.num_rows for result in task(iter([batch])))
print(rows, *sys.modules)
"""


def test_the_task_that_reads_pages_loads_nothing_heavy(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "small.xml").write_bytes(make_export(make_page(1, "Ash", f"{HARD} " * 3)))
    config = CorpusConfig(input=str(tmp_path / "small.xml"))
    files = find_sources(config)
    schema = StructType.fromDDL(f"{pages.PAGES_SCHEMA}, revision bigint, path string")
    assert isinstance(schema, StructType)
    task = pages._make_bundle_reader(
        bundle_splits(plan_splits(files, 1), files, 1), open_readers(files, config), {}, schema
    )
    sent = cloudpickle.dumps((task, pa.record_batch({"id": [0]})))  # as Spark sends it
    done = subprocess.run([sys.executable, "-c", WORKER], input=sent, capture_output=True, check=True)
    rows, *modules = done.stdout.decode().split()
    assert rows == "1"
    assert [name for name in HEAVY if name in modules] == []


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="only Linux lists the threads of a process in /proc")
def test_the_process_that_forks_workers_has_one_thread() -> None:
    """A fork has no other thread, but keeps what that had locked, and can wait for it for ever."""
    list_threads = "import os, contexture.corpus.worker_daemon; print(*os.listdir('/proc/self/task'))"
    done = subprocess.run([sys.executable, "-c", list_threads], capture_output=True, text=True, check=True)
    assert len(done.stdout.split()) == 1

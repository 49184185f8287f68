"""A standalone Spark cluster writes the same tables as one machine."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pyspark
import pytest

from contexture.corpus.java import ensure_java
from contexture.demo import DemoConfig, write_demo_world
from tests.factories import free_port

JOB = """
import sys
from pathlib import Path
from contexture.corpus import cleaning, pages
from contexture.corpus.config import CleaningConfig, CorpusConfig
from contexture.corpus.session import start_spark
from contexture.corpus.sources import find_sources
from contexture.pipelines.datasets import SparkTable

master, source, folder = sys.argv[1:]
settings = {"spark.driver.memory": "1g", "spark.executor.memory": "640m", "spark.ui.enabled": "false"}
local = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1", "spark.master": master}
spark = start_spark(settings | local)
config = CorpusConfig(input=source, source="mediawiki", files=3)
paragraphs, kept = SparkTable(f"{folder}/paragraphs"), SparkTable(f"{folder}/kept")
read = SparkTable(f"{folder}/pages")
read.save(pages.read_pages(spark, find_sources(config), config))
paragraphs.save(pages.extract_paragraphs(read.load(), config))
kept.save(cleaning.select_kept(cleaning.mark_dropped_paragraphs(paragraphs.load(), CleaningConfig(), config.files)))
print(spark.sparkContext.defaultParallelism)
"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A master and two workers of one core and 1 GB each."""
    ensure_java()
    folder, port = tmp_path_factory.mktemp("cluster"), free_port()
    environment = os.environ | {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    here = ["--host", "127.0.0.1", "--webui-port", "0"]
    worker = ["worker.Worker", *here, "--cores", "1", "--memory", "1g", f"spark://127.0.0.1:{port}"]
    processes = []
    for number, command in enumerate((["master.Master", *here, "--port", str(port)], worker, worker)):
        kind, *options = command
        work_dir = folder / str(number)
        work_dir.mkdir()
        processes.append(
            subprocess.Popen(
                [f"{pyspark.__path__[0]}/bin/spark-class", f"org.apache.spark.deploy.{kind}", *options],
                env=environment | {"SPARK_WORKER_DIR": str(work_dir)},
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        )
        time.sleep(3)
    yield f"spark://127.0.0.1:{port}"
    for process in reversed(processes):
        process.terminate()
        process.wait()


def run_job(master: str, source: Path, folder: Path) -> dict[str, bytes]:
    done = subprocess.run(
        [sys.executable, "-c", JOB, master, str(source), str(folder)],
        check=False,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return {str(file.relative_to(folder)): read_data(file) for file in sorted(folder.rglob("*.parquet"))}


def read_data(file: Path) -> bytes:
    """Return a Parquet file without its footer, in which the order of a column's encodings varies."""
    content = file.read_bytes()
    return content[: -8 - int.from_bytes(content[-8:-4], "little")]


@pytest.mark.slow
def test_a_cluster_writes_the_same_bytes(cluster: str, tmp_path: Path) -> None:
    write_demo_world(DemoConfig(pages=50), tmp_path / "demo")
    single, two, many = (
        run_job(master, tmp_path / "demo", tmp_path / name)
        for master, name in (("local[1]", "one"), ("local[2]", "two"), (cluster, "cluster"))
    )
    assert len(single) == 3 * 3
    assert single == two == many

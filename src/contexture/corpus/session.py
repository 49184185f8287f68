"""The Spark session of the process."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkRuntimeError
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from contexture.corpus.class_data import sharing_options
from contexture.corpus.java import ensure_java

_JAVA_OPTIONS = "spark.driver.extraJavaOptions"


def start_spark(settings: Mapping[str, Any], log: Path | None = None) -> SparkSession:
    """Start Spark with `settings` (spark.* keys), or return the running session.

    Standard error of Java and of Spark's workers goes to the file `log`. Raises RuntimeError if Java does not start.
    """
    java = ensure_java()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    if SparkContext._gateway is None:  # of options that contradict one another Java takes the last
        settings = {**settings, _JAVA_OPTIONS: f"{sharing_options(java)} {settings.get(_JAVA_OPTIONS, '')}".strip()}
    builder = SparkSession.builder.appName("contexture").config(map=dict(settings))
    if log is not None and SparkContext._gateway is None:
        _launch(settings, log)
    session: SparkSession = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session


def _launch(settings: Mapping[str, Any], log: Path) -> None:
    """Start the one Java of this process."""
    conf = SparkConf(loadDefaults=False).setAppName("contexture")
    for key, value in settings.items():
        conf.set(key, str(value).lower() if isinstance(value, bool) else str(value))
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as file:
        try:
            gateway = launch_gateway(conf, {"stderr": file})  # type: ignore[no-untyped-call]
        except PySparkRuntimeError as error:
            raise RuntimeError(f"Spark did not start; what Java said is at the end of {log}") from error
    SparkContext(conf=conf, gateway=gateway)

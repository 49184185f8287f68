"""The Spark session of the process."""

import os
import sys
from collections.abc import Mapping
from typing import Any

from pyspark.sql import SparkSession

from contexture.corpus.java import ensure_java


def start_spark(settings: Mapping[str, Any]) -> SparkSession:
    """Start Spark with `settings` (spark.* keys), or return the session that already runs."""
    ensure_java()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName("contexture")
    for key, value in settings.items():
        builder = builder.config(key, value)
    session: SparkSession = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session

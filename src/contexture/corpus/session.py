"""The Spark session of the process, whose classes are kept in a file that later Javas map (class-data sharing).

Loading Spark's classes is half of its cold start. The first Java writes the archive when it ends; Java ignores an
archive of another Java, for other jars, or with wrong checksums.
"""

import hashlib
import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyspark
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkRuntimeError
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from contexture.corpus.java import Java, describe, ensure_java

#: Archives are named by what they were made for and by their size; while they are made, by the process.
FOLDER = Path(sys.prefix, "java")

_MAX_WRITING_SECONDS = 600
# A run's console does not say why an archive is not made, or not used.
_QUIET = ("-XX:+VerifySharedSpaces", "-Xlog:disable", "-Xlog:all=error:stderr")
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


def sharing_options(java: Java, folder: Path = FOLDER) -> str:
    """Options for Spark's Java: to use the archive in `folder`, or to make it at its end; "" if neither is possible.

    Processes that start at once each write a file; one is kept.
    """
    made_for = _made_for(java)
    try:
        for file in folder.glob(f"{made_for}-*.making"):
            if _is_ended(file):
                file.replace(folder / f"{made_for}-{file.stat().st_size}.jsa")
            elif time.time() - file.stat().st_mtime > _MAX_WRITING_SECONDS:
                file.unlink()  # of a Java that was killed at it
        archive = next((file for file in sorted(folder.glob(f"{made_for}-*.jsa")) if _is_whole(file)), None)
        if archive is None:
            folder.mkdir(parents=True, exist_ok=True)
            return _making(folder / f"{made_for}-{os.getpid()}.making", java)
        for file in folder.glob("classes-*"):
            if file != archive:
                file.unlink(missing_ok=True)
    except OSError:  # not ours to write, or another process was quicker
        return ""
    return _options("SharedArchiveFile", archive)


def _made_for(java: Java) -> str:
    jars = Path(pyspark.__file__).with_name("jars")
    identity = f"{java.home} {java.version} {pyspark.__version__} {jars} {jars.stat().st_mtime_ns}"
    return f"classes-{hashlib.sha256(identity.encode()).hexdigest()[:12]}"


def _is_ended(file: Path) -> bool:
    """Whether Java has come to the end of its writing: to the archive's head, for which it leaves room."""
    with file.open("rb") as archive:
        return any(archive.read(4))


def _is_whole(file: Path) -> bool:
    """Of an archive that was cut off Java would die."""
    return file.stem.endswith(f"-{file.stat().st_size}") and os.access(file, os.R_OK)


def _making(file: Path, java: Java) -> str:
    """Options for a new archive; "" where Java cannot make one, as it cannot without one of its own classes."""
    runs = describe(java.home / "bin" / "java", f"-XX:ArchiveClassesAtExit={file}", *_QUIET)
    can_write = file.exists() and _is_ended(file)
    file.unlink(missing_ok=True)
    return _options("ArchiveClassesAtExit", file) if runs and can_write else ""


def _options(name: str, file: Path) -> str:
    return " ".join([f'"-XX:{name}={file}"', *_QUIET])

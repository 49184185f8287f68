"""Start the Spark session of the process, with Java's class-data sharing.

Loading Spark's classes takes half of a cold start. The first Java writes an archive of them when it ends, and later
ones map it. Java ignores an archive of another Java, for other jars, or with wrong checksums.
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

from contexture.corpus.java import Java, ensure_java, query_java

#: Archive names contain a hash of Java and jars, and the size; unfinished ones contain the process id.
ARCHIVE_DIR = Path(sys.prefix, "java")

_MAX_WRITING_SECONDS = 600
# Without these options, Java prints to the console why it does not write or use an archive.
_QUIET_OPTIONS = ("-XX:+VerifySharedSpaces", "-Xlog:disable", "-Xlog:all=error:stderr")
_JAVA_OPTIONS = "spark.driver.extraJavaOptions"
_DAEMON = {"spark.python.daemon.module": "contexture.corpus.worker_daemon"}


def start_spark(settings: Mapping[str, Any], log_file: Path | None = None) -> SparkSession:
    """Start Spark with `settings` (spark.* keys), or return the running session.

    Standard error of Java and of Spark's workers goes to `log_file`. Raises RuntimeError if Java does not start.
    """
    java = ensure_java()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    if SparkContext._gateway is None:  # Java uses the last of contradicting options
        settings = {
            **_DAEMON,
            **settings,
            _JAVA_OPTIONS: f"{prepare_class_sharing(java)} {settings.get(_JAVA_OPTIONS, '')}".strip(),
        }
    builder = SparkSession.builder.appName("contexture").config(map=dict(settings))
    if log_file is not None and SparkContext._gateway is None:
        _launch_java(settings, log_file)
    session: SparkSession = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session


def _launch_java(settings: Mapping[str, Any], log_file: Path) -> None:
    """Start Spark's Java process with `settings`; its standard error is appended to `log_file`."""
    conf = SparkConf(loadDefaults=False).setAppName("contexture")
    for key, value in settings.items():
        conf.set(key, str(value).lower() if isinstance(value, bool) else str(value))
    log_file.parent.mkdir(parents=True, exist_ok=True)
    with log_file.open("ab") as file:
        try:
            gateway = launch_gateway(conf, {"stderr": file})  # type: ignore[no-untyped-call]
        except PySparkRuntimeError as error:
            raise RuntimeError(f"Spark did not start; see Java's messages at the end of {log_file}") from error
    SparkContext(conf=conf, gateway=gateway)


def prepare_class_sharing(java: Java, archive_dir: Path = ARCHIVE_DIR) -> str:
    """Return Java options that load Spark's classes from the archive in `archive_dir`, or write the archive at exit.

    "" if neither is possible. Processes that start at the same time each write a file; one is kept.
    """
    archive_name = _archive_name(java)
    try:
        for file in archive_dir.glob(f"{archive_name}-*.making"):
            if _is_finished(file):
                file.replace(archive_dir / f"{archive_name}-{file.stat().st_size}.jsa")
            elif time.time() - file.stat().st_mtime > _MAX_WRITING_SECONDS:
                file.unlink()  # Java was killed while writing it
        archive = next((file for file in sorted(archive_dir.glob(f"{archive_name}-*.jsa")) if _is_usable(file)), None)
        if archive is None:
            archive_dir.mkdir(parents=True, exist_ok=True)
            return _creation_options(archive_dir / f"{archive_name}-{os.getpid()}.making", java)
        for file in archive_dir.glob("classes-*"):
            if file != archive:
                file.unlink(missing_ok=True)
    except OSError:  # no permission, or another process was faster
        return ""
    return _archive_options("SharedArchiveFile", archive)


def _archive_name(java: Java) -> str:
    """Return the start of the archive's file name, which identifies Java and Spark's jars."""
    jars = Path(pyspark.__file__).with_name("jars")
    identity = f"{java.home} {java.version} {pyspark.__version__} {jars} {jars.stat().st_mtime_ns}"
    return f"classes-{hashlib.sha256(identity.encode()).hexdigest()[:12]}"


def _is_finished(file: Path) -> bool:
    """Return whether Java has finished writing an archive: it writes the archive's head last."""
    with file.open("rb") as archive:
        return any(archive.read(4))


def _is_usable(file: Path) -> bool:
    """Return whether the archive is complete and readable. A truncated one would crash Java."""
    return file.stem.endswith(f"-{file.stat().st_size}") and os.access(file, os.R_OK)


def _creation_options(file: Path, java: Java) -> str:
    """Return Java options that write a new archive; "" if Java cannot, e.g. without an archive of its own classes."""
    is_started = query_java(java.home / "bin" / "java", f"-XX:ArchiveClassesAtExit={file}", *_QUIET_OPTIONS)
    can_write = file.exists() and _is_finished(file)
    file.unlink(missing_ok=True)
    return _archive_options("ArchiveClassesAtExit", file) if is_started and can_write else ""


def _archive_options(name: str, file: Path) -> str:
    """Return the Java option `name` with an archive's path, and options that keep Java quiet about it."""
    return " ".join([f'"-XX:{name}={file}"', *_QUIET_OPTIONS])

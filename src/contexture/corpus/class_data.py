"""Class-data sharing: Spark's classes as Java has them in memory, kept in a file, so that a later Java maps them.

To load and check Spark's classes is half of what its cold start costs. The first Java that Spark runs on writes the
archive when it ends, after the run; those that start later map it. Java does without an archive that another Java
made, or for other jars, or whose sums are not right.
"""

import hashlib
import os
import sys
import time
from pathlib import Path

import pyspark

from contexture.corpus.java import Java, describe

#: Archives lie here, named by what they were made for and by their size; while they are made, by the process.
FOLDER = Path(sys.prefix, "java")

# Writing takes seconds.
_MINUTES = 10

# Why an archive is not made, or not used, is no concern of a run's console.
_QUIET = ("-XX:+VerifySharedSpaces", "-Xlog:disable", "-Xlog:all=error:stderr")


def sharing_options(java: Java, folder: Path = FOLDER) -> str:
    """Options for Spark's Java: to use the archive in `folder`, or to make it at its end; "" where that cannot be.

    Processes that start at once make one each, in files of their own; one of them is kept.
    """
    made_for = _made_for(java)
    try:
        for file in folder.glob(f"{made_for}-*.making"):
            if _is_ended(file):
                file.replace(folder / f"{made_for}-{file.stat().st_size}.jsa")
            elif time.time() - file.stat().st_mtime > _MINUTES * 60:
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
    what = f"{java.home} {java.version} {pyspark.__version__} {jars} {jars.stat().st_mtime_ns}"
    return f"classes-{hashlib.sha256(what.encode()).hexdigest()[:12]}"


def _is_ended(file: Path) -> bool:
    """Whether Java has come to the end of its writing: to the archive's head, for which it leaves room."""
    with file.open("rb") as archive:
        return any(archive.read(4))


def _is_whole(file: Path) -> bool:
    """Of an archive that was cut off Java would die."""
    return file.stem.endswith(f"-{file.stat().st_size}") and os.access(file, os.R_OK)


def _making(file: Path, java: Java) -> str:
    """Options for a new archive; "" where Java cannot make one, as it cannot without one of its own classes."""
    tried = describe(java.home / "bin" / "java", f"-XX:ArchiveClassesAtExit={file}", *_QUIET)
    made = file.exists() and _is_ended(file)
    file.unlink(missing_ok=True)
    return _options("ArchiveClassesAtExit", file) if tried and made else ""


def _options(name: str, file: Path) -> str:
    return " ".join([f'"-XX:{name}={file}"', *_QUIET])

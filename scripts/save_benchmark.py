"""Run a benchmark and save what it prints to docs/results/benchmarks/NAME.md.

usage: save_benchmark.py NAME BENCHMARK [ARGUMENT ...]      in the project's folder

BENCHMARK is the name of a file in benchmarks/, without .py. The page begins with command, commit, day, duration and
processor. Nothing is written if the benchmark fails.
"""

import os
import re
import shlex
import subprocess
import sys
import time
from datetime import date
from pathlib import Path

from contexture.folders import whole_file
from contexture.git import read_commit
from contexture.paths import RESULTS_DIR
from contexture.reporting.provenance import describe_processor
from contexture.reporting.run_commands import hide_folder

FOLDER = RESULTS_DIR / "benchmarks"


def main(name: str, benchmark: str, arguments: list[str]) -> int:
    """Return the status of the benchmark."""
    start = time.monotonic()
    status, output = run_benchmark([f"benchmarks/{benchmark}.py", *arguments])
    if status == 0:
        minutes = (time.monotonic() - start) / 60
        FOLDER.mkdir(parents=True, exist_ok=True)
        with whole_file(FOLDER / f"{name}.md") as file:
            file.write(make_page(name, [benchmark, *arguments], output, minutes).encode())
    return status


def run_benchmark(command: list[str]) -> tuple[int, str]:
    """Return the status of a Python program and what it printed, and print that, too."""
    environment = os.environ | {"PYTHONPATH": "src:.", "PYTHONUNBUFFERED": "1"}
    lines = []
    with subprocess.Popen([sys.executable, *command], env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            print(line, end="", flush=True)
            lines.append(line)
    return process.returncode, "".join(lines)


def make_page(name: str, command: list[str], output: str, minutes: float) -> str:
    """Return the page of a benchmark's output; absolute paths of the command have `DATA` instead of their folders."""
    arguments = shlex.join(map(_hide_path, (name, *command)))
    commit = read_commit(Path())
    machine = describe_processor()
    return (
        f"# Benchmark: {name}\n\n"
        f"`python scripts/save_benchmark.py {arguments}` wrote this page on {date.today()} in {minutes:.0f} minutes. "
        f"Commit: {commit.shorten(8) if commit else 'unknown'}. "
        f"Processor: {machine['processor']}, {machine['cores']} cores.\n\n"
        f"{output.strip()}\n"
    )


def _hide_path(word: str) -> str:
    """Return a word of a command, such as "--data=/home/me/texts/a.txt", with `DATA` instead of folders."""
    return re.sub("(^|=)(/.*)", lambda match: match[1] + hide_folder(match[2]), word, count=1)


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1], sys.argv[2], sys.argv[3:]))

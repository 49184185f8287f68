"""Run programs and measure them; for other benchmarks here. Linux only."""

import json
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

PROJECT = Path(__file__).parents[1]
STAGES_FILE = Path("logs/stages.json")
#: Runs the stages of `contexture adapt`.
ADAPT = (sys.executable, "-m", "kedro", "run", "--env", "adapt", "--pipelines", "adapt")
#: Time between two measurements of memory.
INTERVAL_SECONDS = 0.2


def copy_project(project: Path) -> None:
    """Copy configuration and source to a project folder."""
    project.mkdir(exist_ok=True)
    for name in ("conf", "src"):
        shutil.copytree(PROJECT / name, project / name, dirs_exist_ok=True)
    shutil.copy(PROJECT / "pyproject.toml", project)


def project_environment(project: Path) -> dict[str, str]:
    """Return the environment variables of a process that runs the source of a project folder."""
    return os.environ | {"PYTHONPATH": str(project / "src")}


def adapt_command(params: Mapping[str, str], *options: str) -> list[str]:
    """Return the command that runs stages of `contexture adapt` with parameters of `kedro run`."""
    return [*ADAPT, *options, "--params", ",".join(f"{key}={value}" for key, value in params.items())]


def measure_adapt(project: Path, params: Mapping[str, str], *options: str) -> tuple[dict[str, float], int]:
    """Run stages of `contexture adapt`; return the seconds of all stages so far and the largest memory in bytes."""
    _, memory = run_measured(adapt_command(params, *options), project, project_environment(project))
    seconds: dict[str, float] = json.loads((project / STAGES_FILE).read_text(encoding="utf-8"))
    return seconds, memory


def run_measured(
    command: Sequence[str], folder: Path | None = None, environment: Mapping[str, str] | None = None
) -> tuple[str, int]:
    """Return what a program prints, and the largest memory of all its processes together in bytes.

    Raises SystemExit with the output if the program fails.
    """
    process = subprocess.Popen(
        command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
        start_new_session=True,
    )  # fmt: skip
    memory, ended = [0], threading.Event()

    def watch() -> None:
        while not ended.wait(INTERVAL_SECONDS):
            memory[0] = max(memory[0], measure_memory(process.pid))

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    output, _ = process.communicate()
    ended.set()
    watcher.join()
    if process.returncode:
        raise SystemExit(f"{output}\n{' '.join(command)}: ended with code {process.returncode}")
    return output, memory[0]


def measure_memory(session: int) -> int:
    """Return the memory of all processes of a session in bytes; shared pages count once."""
    kilobytes = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            if int(stat.read_text().rpartition(")")[2].split()[3]) == session:
                sizes = stat.with_name("smaps_rollup").read_text()
                kilobytes += sum(map(int, re.findall(r"^Pss: +(\d+) kB", sizes, re.MULTILINE)))
        except OSError:  # the process has ended
            continue
    return 1024 * kilobytes


def format_table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table."""
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])


def print_table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a Markdown table after an empty line."""
    print(f"\n{format_table(heads, rows)}", flush=True)

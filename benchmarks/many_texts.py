"""Time and memory of `contexture adapt` for many short texts, and how they grow with their number.

    PYTHONPATH=src:. python benchmarks/many_texts.py OUTPUT [--sizes 100000 1000000]

Writes so many made-up texts of about 100 characters in JSON lines, runs all stages of `contexture adapt` on them in a
new project folder, and prints the seconds of each stage, the largest memory of all its processes together, and the
exponent of growth between the first and the last size: 1 is linear. Linux only.
"""

import argparse
import json
import math
import os
import subprocess
import time
from pathlib import Path

import numpy as np
from benchmarks.search_choice import ADAPT, copy_project, print_table, project_environment

STAGES_FILE = Path("logs/stages.json")
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
NUM_WORDS, NUM_CHARS = 50_000, 100


def write_texts(file: Path, count: int) -> None:
    """Write texts of two sentences each, of words that are as frequent as their rank says (Zipf)."""
    random = np.random.default_rng(0)
    syllables = [a + b for a in "bdfgklmnprstvz" for b in ("a", "e", "i", "o", "u")]
    words = ["".join(random.choice(syllables, random.integers(1, 5))) for _ in range(NUM_WORDS)]
    shares = 1 / np.arange(1, NUM_WORDS + 1)
    drawn = random.choice(NUM_WORDS, 18 * count, p=shares / shares.sum()).reshape(count, 18)
    with file.open("w", encoding="utf-8") as lines:
        for number, row in enumerate(drawn):
            halves = (" ".join(words[word] for word in half) for half in np.split(row, 2))
            text = " ".join(f"{half.capitalize()[: NUM_CHARS // 2].rpartition(' ')[0]}." for half in halves)
            lines.write(json.dumps({"id": str(number), "text": text}) + "\n")


def run_adapt(folder: Path, text: Path) -> tuple[dict[str, float], float]:
    """Return the seconds of each stage, and the largest memory of all processes in bytes."""
    copy_project(folder)
    # Made-up words are in no language.
    params = f"corpus.input={text},corpus.lang=en,cleaning.filters.wrong_language=null"
    command = [*ADAPT, "--params", params]
    process = subprocess.Popen(
        command, cwd=folder, env=project_environment(folder), stdin=subprocess.DEVNULL, start_new_session=True
    )
    memory = 0
    while process.poll() is None:
        memory = max(memory, measure_memory(process.pid))
        time.sleep(0.5)
    if process.returncode:
        raise SystemExit(process.returncode)
    stages: dict[str, float] = json.loads((folder / STAGES_FILE).read_text(encoding="utf-8"))
    return stages, memory


def measure_memory(session: int) -> int:
    """Return the resident memory of all processes of a session, in bytes; shared pages count once for each."""
    pages = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:  # ended
            continue
        if int(fields[3]) == session:
            pages += int(fields[21])
    return pages * PAGE_BYTES


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output_dir", type=Path)
    parser.add_argument("--sizes", nargs="+", type=int, default=[100_000, 1_000_000])
    args = parser.parse_args()
    if len(set(args.sizes)) < 2:
        parser.error("--sizes: give at least two")
    results = []
    for size in args.sizes:
        folder = args.output_dir.absolute() / str(size)
        folder.mkdir(parents=True)
        text = folder / "texts.jsonl"
        write_texts(text, size)
        results.append(run_adapt(folder, text))
    rows = []
    for stage in results[0][0]:
        seconds = [stages[stage] for stages, _ in results]
        growth = math.log(seconds[-1] / seconds[0]) / math.log(args.sizes[-1] / args.sizes[0])
        rows.append([stage, *(f"{value:.1f}" for value in seconds), f"{growth:.2f}"])
    rows.append(["memory, GB", *(f"{memory / 1e9:.1f}" for _, memory in results), ""])
    print_table(["stage, seconds", *(f"{size:,} texts" for size in args.sizes), "exponent"], rows)


if __name__ == "__main__":
    main()

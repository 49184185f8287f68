"""Time and memory of `contexture adapt` for many short texts, and how they grow with their number.

    PYTHONPATH=src:. python benchmarks/many_texts.py OUTPUT [--sizes 100000 1000000]

Writes so many made-up texts of about 100 characters in JSON lines, runs all stages of `contexture adapt` on them in a
new project folder, and prints the seconds of each stage, the largest memory of all its processes together, and the
exponent of growth between the first and the last size: 1 is linear. Linux only.
"""

import argparse
import json
import math
from pathlib import Path

import numpy as np
from benchmarks.programs import copy_project, measure_adapt, print_table

#: Made-up words are in no language.
PARAMS = {"corpus.lang": "en", "cleaning.filters.wrong_language": "null"}
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
        copy_project(folder)
        results.append(measure_adapt(folder, {"corpus.input": str(text)} | PARAMS))
    rows = []
    for stage in results[0][0]:
        seconds = [stages[stage] for stages, _ in results]
        growth = math.log(seconds[-1] / seconds[0]) / math.log(args.sizes[-1] / args.sizes[0])
        rows.append([stage, *(f"{value:.1f}" for value in seconds), f"{growth:.2f}"])
    rows.append(["memory, GB", *(f"{memory / 1e9:.1f}" for _, memory in results), ""])
    print_table(["stage, seconds", *(f"{size:,} texts" for size in args.sizes), "exponent"], rows)


if __name__ == "__main__":
    main()

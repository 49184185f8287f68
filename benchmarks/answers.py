"""How much memory a set of questions takes, by its rows: read, written as Parquet, and as token ids mapped from files.

    PYTHONPATH=src python benchmarks/answers.py --rows 500000 2000000

Rows are made up in ASNQ's form, 350 candidates a question, and each size runs in a new process.
docs/results/mspp.md has the results.
"""

import argparse
import json
import random
import resource
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from contexture.encoders.config import TableSizes
from contexture.tasks.answer_selection.sets import read_tables

CANDIDATES = 350
WORDS = [f"{a}{b}{c}" for a in ("ka", "lo", "mi", "ru") for b in ("na", "ve", "di") for c in ("s", "t", "n")]


def main() -> None:
    """Measure each size, and print a line for it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[500_000, 2_000_000])
    parser.add_argument("--one", type=Path, help="measure the files of this folder, in this process")
    args = parser.parse_args()
    if args.one:
        print(json.dumps(measure(args.one)))
        return
    for rows in args.rows:
        with TemporaryDirectory() as folder:
            write(Path(folder) / "raw", rows)
            command = [sys.executable, __file__, "--one", folder]
            measurements = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
            print(f"{rows:,} rows: " + ", ".join(f"{key} {value}" for key, value in measurements.items()), flush=True)


def write(folder: Path, rows: int) -> None:
    """A train file of `rows` rows, and a few questions to develop and test on."""
    folder.mkdir()
    draw = random.Random(0)
    for split, count in (("train", rows), ("dev", 700), ("test", 700)):
        with (folder / f"{split}.tsv").open("w", encoding="utf-8") as file:
            for row in range(count):
                label = 4 if row % CANDIDATES == 0 else draw.randint(1, 3)
                text = " ".join(draw.choices(WORDS, k=25))
                file.write(f"what is {split} {row // CANDIDATES}\t{text}\t{label}\n")


def measure(folder: Path) -> dict[str, str]:
    """Seconds, and the highest resident memory so far, after what a run does with a set."""
    from contexture.encoders.base import build_encoder
    from contexture.encoders.config import Lengths, TransformerConfig
    from contexture.tasks.answer_selection.data import AnswerRows
    from contexture.tasks.answer_selection.sets import write_set
    from contexture.vocabulary.tokenizers import VocabularyConfig, train_tokenizer
    from contexture.vocabulary.vocabulary import Vocabulary

    train_tokenizer([" ".join(WORDS)] * 3, VocabularyConfig(size=400), folder / "words")
    config = TransformerConfig(hidden_size=16, layers=1, heads=2, intermediate_size=32)
    words = Vocabulary.load(folder / "words")
    encoder = build_encoder(config, Lengths(query=16, document=16), words, TableSizes(positions=96, types=6))
    measurements = {"before": peak()}
    began = time.perf_counter()
    write_set("made_up", folder / "raw", folder / "set")
    measurements["read and written"] = f"{peak()} in {time.perf_counter() - began:.0f} s"
    began = time.perf_counter()
    rows = AnswerRows.on_disk(read_tables(folder / "set/train.parquet"), encoder, 5, folder / "tokens")
    measurements["token ids"] = f"{peak()} in {time.perf_counter() - began:.0f} s"
    size = sum(file.stat().st_size for file in (folder / "tokens").iterdir())
    return measurements | {"groups": f"{len(rows.starts):,}", "files of token ids": f"{size / 2**20:,.0f} MiB"}


def peak() -> str:
    """The highest resident memory of this process so far."""
    return f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10:,.0f} MiB"


if __name__ == "__main__":
    main()

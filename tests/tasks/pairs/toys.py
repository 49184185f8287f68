"""Pairs with a label for whether the second sentence has the words of the first."""

import json
import random
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import TypeAdapter

from contexture.tasks.base import TASK_FILE, EvaluatedEncoder
from contexture.tasks.pairs.config import PairSettings
from tests.tasks.retrieval.toys import BAG, TRANSFORMER, WORDS, new_encoder, vocabulary

__all__ = [
    "BAG",
    "CROSS",
    "TRANSFORMER",
    "WORDS",
    "bag",
    "new_encoder",
    "read_report",
    "rows",
    "settings",
    "texts",
    "vocabulary",
    "write_data",
    "write_sentences",
]

#: With cross-sequence layers and vectors of 32 dimensions.
CROSS = TRANSFORMER | {"embedding_size": None, "pooling": "cls", "cross": {"tokens": 2}}


def settings(**changes: Any) -> PairSettings:
    values = {
        "finetune": ["toys"], "batch_size": 32, "steps": 60, "evaluate_every": 20, "patience": 4,
        "tokens_at_once": 100, "optimizer": {"learning_rate": 1e-2, "warmup_steps": 5}, "precision": "fp32",
    }  # fmt: skip
    return TypeAdapter(PairSettings).validate_python(values | changes)


def bag(folder: Path, *seeds: int, variant: str = "bag") -> list[EvaluatedEncoder]:
    """A bag of random word vectors, the same for all seeds; fine-tuned models are in `tuned`."""
    encoder = folder / "encoder"
    if not encoder.exists():
        new_encoder(encoder, vocabulary(folder / "words"), BAG)
    return [EvaluatedEncoder(variant, seed, (str(encoder),), folder / "tuned") for seed in seeds or (0,)]


def texts(count: int) -> list[str]:
    """Return distinct sentences."""
    return list(dict.fromkeys(rows()["first"]))[:count]


def read_report(task: Any, source: Any, demo: Path, output_dir: Path) -> dict[str, Any]:
    """Read the files of a task; return its report."""
    task.prepare_data(source, demo, output_dir)
    report: dict[str, Any] = json.loads((output_dir / TASK_FILE).read_text())
    return report


def rows(genres: tuple[str, ...] = ("",)) -> pd.DataFrame:
    """Return 600 training, 40 dev and 60 test pairs, as `splits.PairSet.rows`."""
    draw = random.Random(5)
    pairs = []
    for part, count in (("train", 600), ("dev", 40), ("test", 60)):
        for number in range(count):
            label = ("other", "same")[number % 2]
            first = draw.sample(WORDS, 3)
            second = draw.sample(first, 3) if label == "same" else draw.sample(sorted(set(WORDS) - set(first)), 3)
            row_genres = genres[number // 2 % len(genres)] if part == "test" else ""
            pairs.append((part, row_genres, " ".join(first), " ".join(second), label))
    return pd.DataFrame(pairs, columns=["part", "genres", "first", "second", "label"])


def write_data(folder: Path, **sets: pd.DataFrame) -> Path:
    """Write what `PairsTask.read` writes."""
    folder.mkdir()
    for name, table in sets.items():
        table.to_parquet(folder / f"{name}.parquet")
    report = {"name": ", ".join(sets), "counts": {name: {} for name in sets}, "missing": {"qqp": "not here"}}
    (folder / TASK_FILE).write_text(json.dumps(report))
    return folder


def write_sentences(folder: Path, sentences: list[str]) -> None:
    """Write the sentences of a language as the corpus stage does."""
    folder.mkdir(parents=True)
    pq.write_table(pa.table({"sentences": [[text] for text in sentences]}), folder / "part-0.parquet")

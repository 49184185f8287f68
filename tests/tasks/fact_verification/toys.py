"""Claims that one of their sentences of evidence repeats, turns round, or says nothing of."""

import json
import random
from pathlib import Path
from typing import Any

import pandas as pd
from pydantic import TypeAdapter

from contexture.tasks.fact_verification.config import FactVerificationSettings
from contexture.tasks.fact_verification.files import LABELS
from tests.tasks.answer_selection.toys import TOKENS, WORDS, K

TOLD, NOT = WORDS[:24], WORDS[24]


def settings(**changed: Any) -> FactVerificationSettings:
    settings = {
        "batch_size": 8, "epochs": 2, "patience": 2, "precision": "fp32",
        "optimizer": {"learning_rate": 2e-3, "warmup_steps": 2},
        "layout": {"candidates": K, "sentence_tokens": TOKENS},
    }  # fmt: skip
    return TypeAdapter(FactVerificationSettings).validate_python(settings | changed)


def claims(labels: tuple[str, ...] = LABELS) -> pd.DataFrame:
    """Of train, dev and test, with one or two sentences of evidence each."""
    draw = random.Random(2)
    rows = []
    for split, count in (("train", 42), ("dev", 14), ("test", 20)):
        for number in range(count):
            said, label = draw.sample(TOLD, 3), labels[number % len(labels)]
            deciding = {"SUPPORTS": said, "REFUTES": [NOT, *said]}.get(label, draw.sample(TOLD, 3))
            texts = [" ".join(deciding), " ".join(draw.sample(TOLD, 3))][: draw.randint(1, K)]
            draw.shuffle(texts)
            pages = [f"Page {number}"] * len(texts)
            rows.append((split, f"{split}{number}", " ".join(said), label, pages, texts))
    return pd.DataFrame(rows, columns=["split", "claim_id", "claim", "label", "pages", "evidence"])


def write_data(folder: Path, rows: pd.DataFrame | None = None) -> Path:
    """What `FactVerificationTask.read` writes."""
    folder.mkdir()
    (claims() if rows is None else rows).to_parquet(folder / "claims.parquet")
    (folder / "task.json").write_text(json.dumps({"name": "toys", "counts": {}, "missing": {}}))
    return folder

"""Claims with a sentence of evidence that repeats, negates or ignores them."""

import json
import random
from pathlib import Path
from typing import Any

import pandas as pd
from pydantic import TypeAdapter

from contexture.tasks.fact_verification.config import FactVerificationSettings
from contexture.tasks.fact_verification.files import LABELS
from tests.tasks.answer_selection.toys import TOKENS, WORDS, K

CLAIM_WORDS, NEGATION = WORDS[:24], WORDS[24]


def settings(**overrides: Any) -> FactVerificationSettings:
    settings = {
        "batch_size": 8, "epochs": 2, "patience": 2, "precision": "fp32",
        "optimizer": {"learning_rate": 2e-3, "warmup_steps": 2},
        "layout": {"candidates": K, "sentence_tokens": TOKENS},
    }  # fmt: skip
    return TypeAdapter(FactVerificationSettings).validate_python(settings | overrides)


def make_claims(labels: tuple[str, ...] = LABELS) -> pd.DataFrame:
    """Return claims of train, dev and test with one or two sentences of evidence each."""
    draw = random.Random(2)
    rows = []
    for split, count in (("train", 42), ("dev", 14), ("test", 20)):
        for number in range(count):
            claim, label = draw.sample(CLAIM_WORDS, 3), labels[number % len(labels)]
            deciding = {"SUPPORTS": claim, "REFUTES": [NEGATION, *claim]}.get(label, draw.sample(CLAIM_WORDS, 3))
            texts = [" ".join(deciding), " ".join(draw.sample(CLAIM_WORDS, 3))][: draw.randint(1, K)]
            draw.shuffle(texts)
            pages = [f"Page {number}"] * len(texts)
            rows.append((split, f"{split}{number}", " ".join(claim), label, pages, texts))
    return pd.DataFrame(rows, columns=["split", "claim_id", "claim", "label", "pages", "evidence"])


def write_data(folder: Path, rows: pd.DataFrame | None = None) -> Path:
    folder.mkdir()
    (make_claims() if rows is None else rows).to_parquet(folder / "claims.parquet")
    (folder / "task.json").write_text(json.dumps({"name": "toys", "counts": {}, "missing": {}}))
    return folder

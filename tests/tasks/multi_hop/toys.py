"""Two-paragraph questions in HotpotQA's format, and settings with which small Transformers learn them."""

import json
import random
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from contexture.tasks.multi_hop.config import MultiHopConfig, MultiHopSettings
from contexture.tasks.multi_hop.task import MultiHopTask
from contexture.vocabulary.tokenizers import VocabularyConfig, train_tokenizer
from tests.tasks.retrieval.toys import BAG, new_encoder

__all__ = ["BAG", "TRANSFORMER", "new_encoder", "questions", "read", "settings", "vocabulary"]

WORDS = [f"{a}{b}" for a in ("ka", "lo", "mi", "ru", "se", "to", "fa") for b in ("na", "ve", "di", "po", "ga")]
#: Keys identify paragraphs; answers follow the marker.
KEYS, ANSWERS = WORDS[:24], WORDS[24:32]
TRANSFORMER: dict[str, Any] = {
    "kind": "transformer", "hidden_size": 32, "layers": 2, "heads": 2, "intermediate_size": 64, "dropout": 0.0
}  # fmt: skip


def paragraphs() -> dict[str, tuple[list[str], str]]:
    """Return key → sentences, the second being a fact, and answer; every other paragraph has no answer."""
    draw = random.Random(2)
    texts = {}
    for number, key in enumerate(KEYS):
        answer = draw.choice(ANSWERS) if number % 2 == 0 else ""
        fact = f"town {key} {key} is mark {answer} ." if answer else f"town {key} {key} is here ."
        texts[key] = ([f"one {draw.choice(ANSWERS)} was seen .", fact], answer)
    return texts


def questions(count: int = 140) -> list[dict[str, Any]]:
    """Return questions about a paragraph with an answer and one without; every fifth has the answer yes."""
    draw, known = random.Random(3), paragraphs()
    pairs = [(first, second) for first in KEYS[::2] for second in KEYS[1::2]]
    rows = []
    for number, (first, second) in enumerate(draw.sample(pairs, count)):
        wrong = draw.sample([key for key in KEYS if key not in (first, second)], 2)
        titles = draw.sample([first, second, *wrong], 4)
        is_yes_no = number % 5 == 0
        rows.append(
            {
                "_id": f"q{number}",
                "question": f"{'maybe ' if is_yes_no else ''}town {first} {second}",
                "answer": "yes" if is_yes_no else known[first][1],
                "supporting_facts": [[f"T {first}", 1], [f"T {second}", 1]],
                "context": [[f"T {key}", known[key][0]] for key in titles],
            }
        )
    return rows


def read(folder: Path, rows: list[dict[str, Any]] | None) -> dict[str, Any]:
    """Write the data of `MultiHopTask` to `folder`; return its report."""
    file = folder.with_suffix(".json")
    folder.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(rows), encoding="utf-8")
    MultiHopTask().prepare_data(MultiHopConfig(None if rows is None else str(file)), folder / "demo", folder)
    report: dict[str, Any] = json.loads((folder / "task.json").read_text(encoding="utf-8"))
    return report


def vocabulary(folder: Path) -> Path:
    words = " ".join([*WORDS, "town is mark here one was seen maybe ."])
    train_tokenizer([words] * 3, VocabularyConfig(size=300), folder)
    return folder


def settings(**changes: Any) -> MultiHopSettings:
    optimizer = {"learning_rate": 5e-3, "warmup_steps": 5}
    shared = {"precision": "fp32", "optimizer": optimizer}
    values: dict[str, Any] = {
        "paragraphs": 5,
        "retrieval": shared | {"batch_size": 8, "steps": 20, "evaluate_every": 10, "negatives": 7},
        "reranker": shared | {
            "batch_size": 32, "epochs": 2, "layout": {"candidates": 1, "sentence_tokens": 16, "pooling": "mean"}
        },
        "reading": shared | {"batch_size": 16, "epochs": 15, "patience": 15, "tokens": 48},
    }  # fmt: skip
    return TypeAdapter(MultiHopSettings).validate_python(values | changes)

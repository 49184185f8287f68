"""Questions whose answers repeat their words, and a small Transformer that can learn this."""

import json
import random
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import torch
from pydantic import TypeAdapter
from safetensors.torch import save_file

from contexture.encoders.config import Lengths, TableSizes
from contexture.encoders.heads import EvidenceHead
from contexture.tasks.answer_selection import sets
from contexture.tasks.answer_selection.config import AnswerSelectionSettings
from contexture.tasks.answer_selection.files import SPLITS
from contexture.tasks.base import EvaluatedEncoder, Task
from tests.tasks.retrieval import toys as questions
from tests.tasks.retrieval.toys import TRANSFORMER, WORDS, vocabulary

#: Candidates in a joint input, and tokens of a sentence.
K, TOKENS = 2, 16


def make_encoder(folder: Path, needs: TableSizes | None = None, heads: tuple[str, ...] = ()) -> Path:
    """Save an untrained Transformer with pre-training heads; an objective is named like its head."""
    needs = needs or TableSizes(positions=(K + 1) * TOKENS, types=K + 1)
    config = TRANSFORMER | {"embedding_size": None}
    questions.new_encoder(folder, vocabulary(folder / "words"), config, needs=needs, lengths=Lengths(16, 16))
    shutil.rmtree(folder / "words")
    made: dict[str, Any] = {kind: EvidenceHead(kind, 16) for kind in heads}  # type: ignore[arg-type]
    weights = {
        f"of_{kind}.head.{key}": value for kind, head in made.items() for key, value in head.state_dict().items()
    }
    if heads:
        save_file(weights | {"mlm.bias": torch.zeros(3)}, folder / "objectives.safetensors")
    return folder


def settings(**overrides: Any) -> AnswerSelectionSettings:
    settings = {
        "batch_size": 8, "epochs": 3, "patience": 2, "precision": "fp32",
        "optimizer": {"learning_rate": 2e-3, "warmup_steps": 2},
        "layout": {"candidates": K, "sentence_tokens": TOKENS}, "finetune": ["toys"],
    }  # fmt: skip
    return TypeAdapter(AnswerSelectionSettings).validate_python(settings | overrides)


def make_answers() -> pd.DataFrame:
    """Return train, dev and test; the answer has the question's words and one more."""
    draw = random.Random(1)
    rows = []
    for split, count in (("train", 24), ("dev", 8), ("test", 8)):
        for q in range(count):
            question = draw.sample(WORDS, 3)
            size = draw.randint(2, 5)
            right = draw.randrange(size)
            for c in range(size):
                text = [*question, *draw.sample(WORDS, 1)] if c == right else draw.sample(WORDS, 4)
                named = f"{split}{q}"
                rows.append((split, named, " ".join(question), f"{named}-{c}", " ".join(text), int(c == right), "", c))
    columns = ["split", "question_id", "question", "candidate_id", "candidate", "label", "title", "position"]
    return pd.DataFrame(rows, columns=columns)


def write_data(folder: Path) -> Path:
    write_set(folder / "toys", make_answers())
    write_report(folder, "toys")
    return folder


def write_report(folder: Path, *sets: str) -> None:
    report = {"name": "toys", "counts": {name: {} for name in sets}, "missing": {}}
    (folder / "task.json").write_text(json.dumps(report))


def write_set(folder: Path, answers: pd.DataFrame) -> Path:
    folder.mkdir(parents=True)
    for split in SPLITS:
        rows = answers[answers["split"] == split].drop(columns="split")
        rows.to_parquet(folder / f"{split}.parquet", index=False)
    return folder


def make_encoders(folder: Path, *named: tuple[str, int, str]) -> list[EvaluatedEncoder]:
    """Return fine-tuned variants of one encoder by name, seed and head, and one that is only frozen."""
    start = (str(folder / "encoder"),)
    tuned = [EvaluatedEncoder(name, seed, start, folder / f"{name}-{seed}", head) for name, seed, head in named]
    return [*tuned, EvaluatedEncoder("alone", 0, start * 2)]


def tune_all(task: Task, settings: Any, evaluated: Sequence[EvaluatedEncoder], data: Path) -> None:
    """Fine-tune all options of all encoders, each from its start."""
    for encoder in evaluated:
        for option in task.list_options(settings, encoder.head):
            assert encoder.finetuned_dir is not None
            model_dir, start = encoder.finetuned_dir / option, settings.get_start_option(option)
            model_dir.mkdir(parents=True)
            models = (str(encoder.finetuned_dir / start),) if start else encoder.models
            task.finetune(settings, option, replace(encoder, models=models), data, model_dir)


def read_set(name: str, folder: Path, set_dir: Path) -> pd.DataFrame:
    """Return the splits that `sets.write_set` writes, as one table."""
    sets.write_set(name, folder, set_dir)
    return pd.concat(
        [pd.read_parquet(set_dir / f"{split}.parquet").assign(split=split) for split in SPLITS], ignore_index=True
    )

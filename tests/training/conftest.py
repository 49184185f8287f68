"""A little vocabulary, examples and answers that training can run on."""

import random
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pydantic import TypeAdapter

from contexture.tasks.answer_data import encode_answers
from contexture.text.vocabulary import VocabularyConfig, load_tokenizer, train_tokenizer
from contexture.training.config import MsppSystem

WORDS = [f"{a}{b}" for a in ("ka", "lo", "mi", "ru", "se", "to") for b in ("na", "ve", "di", "po", "ga")]


@pytest.fixture(scope="session")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("vocabulary") / "tokenizer"
    train_tokenizer([" ".join(WORDS)] * 3, VocabularyConfig(size=300), folder)
    return folder


@pytest.fixture(scope="session")
def examples(tmp_path_factory: pytest.TempPathFactory, tokenizer: Path) -> Path:
    """Sixty examples of two candidates; a candidate that shares s0's words is a positive."""
    folder = tmp_path_factory.mktemp("examples")
    vocabulary, _ = load_tokenizer(tokenizer)
    draw = random.Random(0)
    rows = []
    for number in range(60):
        first = draw.sample(WORDS, 4)
        labels = [1, 0] if draw.random() < 0.5 else [0, 1]
        texts = [first, *(draw.sample(first if label else WORDS, draw.randint(2, 4)) for label in labels)]
        ids = [vocabulary.encode(" ".join(text), add_special_tokens=False).ids for text in texts]
        rows.append({"example_id": f"{number}", "sentences": ids, "labels": labels})
    schema = pa.schema(
        {"example_id": pa.string(), "sentences": pa.list_(pa.list_(pa.int32())), "labels": pa.list_(pa.int32())}
    )
    for part in range(3):
        table = pa.Table.from_pylist(rows[part * 20 : (part + 1) * 20], schema)
        pq.write_table(table, folder / f"part-{part}.parquet", row_group_size=8)
    return folder


@pytest.fixture(scope="session")
def answers(tmp_path_factory: pytest.TempPathFactory, tokenizer: Path) -> Path:
    """Questions whose answer repeats their words."""
    draw = random.Random(1)
    rows = []
    for split, questions in (("train", 24), ("dev", 8), ("test", 8)):
        for q in range(questions):
            question = draw.sample(WORDS, 3)
            size = draw.randint(2, 5)
            right = draw.randrange(size)
            for c in range(size):
                text = [*question, *draw.sample(WORDS, 1)] if c == right else draw.sample(WORDS, 4)
                rows.append(
                    (split, f"{split}{q}", " ".join(question), f"{split}{q}-{c}", " ".join(text), int(c == right))
                )
    table = pd.DataFrame(rows, columns=["split", "question_id", "question", "candidate_id", "candidate", "label"])
    file = tmp_path_factory.mktemp("answers") / "answers.parquet"
    encode_answers(table, load_tokenizer(tokenizer)[0], 14).to_parquet(file)
    return file


def system(**pretrain: object) -> MsppSystem:
    """The smallest system that exercises everything."""
    optimizer = {"learning_rate": 2e-3, "warmup_steps": 2}
    runs = {
        "mlm": {"schedule": [{"steps": 6, "weights": {"mlm": 1}}]},
        "mspp_ie": {
            "schedule": [{"steps": 4, "weights": {"mlm": 1, "mspp": 1}}, {"steps": 2, "weights": {"mspp": 0.5}}],
            "objectives": {"mspp": {"head": "ie_k"}},
        },
        "none": {"schedule": []},
    }
    return TypeAdapter(MsppSystem).validate_python(
        {
            "seeds": 1,
            "encoder": {"hidden_size": 16, "layers": 1, "heads": 2, "intermediate_size": 32, "dropout": 0.1},
            "layout": {"candidates": 2, "sentence_tokens": 16},
            "pretrain": {
                "runs": runs, "batch_size": 12, "optimizer": optimizer, "precision": "fp32",
                "log_every": 1, "checkpoint_every": 2,
            } | pretrain,
            "finetune": {
                "variants": {"mspp_ie": {"head": "ie_k"}, "joint_ae": {"head": "ae_k"}, "pairwise": {"head": "ie_1"}},
                "batch_size": 8, "epochs": 3, "patience": 2, "optimizer": optimizer, "precision": "fp32",
            },
        }
    )  # fmt: skip


@pytest.fixture(scope="session")
def config() -> MsppSystem:
    return system()

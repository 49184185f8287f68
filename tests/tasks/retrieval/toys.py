"""Toy questions with three words of their answer, and small encoders."""

import json
import random
from pathlib import Path
from typing import Any

import pandas as pd
import torch
from pydantic import TypeAdapter

from contexture.encoders.base import build_encoder
from contexture.encoders.config import AnyEncoderConfig, Lengths, TableSizes
from contexture.encoders.files import save_encoder
from contexture.tasks.retrieval.config import RetrievalSettings
from contexture.vocabulary.tokenizers import VocabularyConfig, train_tokenizer
from contexture.vocabulary.vocabulary import Vocabulary

WORDS = [f"{a}{b}" for a in ("ka", "lo", "mi", "ru", "se", "to") for b in ("na", "ve", "di", "po", "ga")]
TRANSFORMER = {
    "kind": "transformer", "hidden_size": 16, "layers": 1, "heads": 2, "intermediate_size": 32, "embedding_size": 8
}  # fmt: skip
BAG = {"kind": "bag_of_words_mlp", "word_size": 16, "hidden_size": 16, "embedding_size": 8}


def vocabulary(folder: Path) -> Path:
    train_tokenizer([" ".join(WORDS)] * 3, VocabularyConfig(size=300), folder)
    return folder


def new_encoder(
    folder: Path,
    words: Path,
    config: dict[str, Any] | None = None,
    head: bool = False,
    needs: TableSizes | None = None,
    lengths: Lengths | None = None,
) -> Path:
    """Write an untrained encoder."""
    torch.manual_seed(0)
    typed: Any = TypeAdapter(AnyEncoderConfig).validate_python(config or TRANSFORMER)
    lengths = lengths or Lengths(query=12, document=24)
    save_encoder(build_encoder(typed, lengths, Vocabulary.load(words), needs, head=head), folder)
    return folder


def new_bag(folder: Path) -> str:
    """Write an untrained bag of words and its vocabulary; return its folder."""
    return str(new_encoder(folder, vocabulary(folder.with_name("words")), BAG))


def settings(**changes: Any) -> RetrievalSettings:
    defaults = {
        "shares": [50], "batch_size": 16, "steps": 60, "evaluate_every": 5, "patience": 4, "tokens_at_once": 60,
        "optimizer": {"learning_rate": 1e-2, "warmup_steps": 5}, "precision": "fp32",
    }  # fmt: skip
    return TypeAdapter(RetrievalSettings).validate_python(defaults | changes)


def tables() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return 80 questions and 40 candidates; a question has three of the four words of its candidate's sentence."""
    draw = random.Random(3)
    sentences = [draw.sample(WORDS, 4) for _ in range(40)]
    candidates = [
        (f"c{number}", f"p{number}", "", " ".join(words), " ".join([*words, *draw.sample(WORDS, 2)]))
        for number, words in enumerate(sentences)
    ]
    questions = [
        (f"q{number}", " ".join(draw.sample(sentences[number % 40], 3)), [f"c{number % 40}"], 1) for number in range(80)
    ]
    return (
        pd.DataFrame(questions, columns=["question_id", "question", "answers", "tuples"]),
        pd.DataFrame(candidates, columns=["candidate_id", "passage_id", "title", "sentence", "passage"]),
    )


def write_data(folder: Path) -> Path:
    """Write the files of `RetrievalTask.read`."""
    folder.mkdir()
    for table, name in zip(tables(), ("questions", "candidates"), strict=True):
        table.to_parquet(folder / f"{name}.parquet")
    (folder / "task.json").write_text(json.dumps({"name": "toys", "counts": {}, "missing": {}, "lang": "en"}))
    return folder

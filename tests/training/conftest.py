"""A little vocabulary, examples and answers that training can run on."""

import random
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pydantic import TypeAdapter

from contexture.systems.quick_thoughts.config import QuickThoughtsSystem
from contexture.systems.two_tower.config import PAIR_TASKS, TwoTowerSystem
from contexture.tasks.answer_selection.data import encode_answers
from contexture.tasks.retrieval.data import encode_reqa
from contexture.training.config import MsppSystem
from contexture.vocabulary.tokenizers import VocabularyConfig, load_tokenizer, train_tokenizer
from contexture.vocabulary.words import VECTORS_FILE, WordsConfig, add_words, train_words

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


#: Pairs of each pre-training task in `pairs`.
PAIRS = {"ict": 40, "bfs": 25, "wlp": 9}


@pytest.fixture(scope="session")
def pairs(tmp_path_factory: pytest.TempPathFactory, tokenizer: Path) -> Path:
    """A folder of pairs for each task, their queries short and their documents of very different lengths.

    A document shares words with its query; some documents have two pairs.
    """
    folder = tmp_path_factory.mktemp("pairs")
    draw = random.Random(2)
    for task in PAIR_TASKS:
        rows = []
        for number in range(PAIRS[task]):
            words = draw.sample(WORDS, draw.randint(2, 20))
            query = draw.sample(words, 2)
            rows.append(
                {
                    "pair_id": f"{task}{number}",
                    "query": encoded(query, tokenizer),
                    "title": encoded(draw.sample(WORDS, 1), tokenizer),
                    "passage": encoded(words, tokenizer),
                    "document": f"{task}{number // 2}",
                    "document_pairs": min(2, PAIRS[task] - number // 2 * 2),
                }
            )
        write_pairs(rows, folder / task)
    return folder


def encoded(words: list[str], tokenizer: Path) -> list[int]:
    ids: list[int] = load_tokenizer(tokenizer)[0].encode(" ".join(words), add_special_tokens=False).ids
    return ids


def write_pairs(rows: list[dict[str, Any]], folder: Path) -> None:
    """A table of pairs as the sampling stage writes them, in two files of small row groups."""
    tokens = {name: pa.list_(pa.int32()) for name in ("query", "title", "passage")}
    schema = pa.schema({"pair_id": pa.string(), **tokens, "document": pa.string(), "document_pairs": pa.int64()})
    folder.mkdir()
    for part in range(2):
        pq.write_table(pa.Table.from_pylist(rows[part::2], schema), folder / f"part-{part}.parquet", row_group_size=8)


@pytest.fixture(scope="session")
def reqa(tmp_path_factory: pytest.TempPathFactory, tokenizer: Path) -> tuple[Path, Path]:
    """Files of 80 questions and 40 candidates: a question has three words of its candidate's sentence of four."""
    draw = random.Random(3)
    sentences = [draw.sample(WORDS, 4) for _ in range(40)]
    candidates = pd.DataFrame(
        {
            "candidate_id": [f"c{number}" for number in range(40)],
            "sentence": [" ".join(words) for words in sentences],
            "passage": [" ".join([*words, *draw.sample(WORDS, 2)]) for words in sentences],
        }
    )
    questions = pd.DataFrame(
        {
            "question_id": [f"q{number}" for number in range(80)],
            "question": [" ".join(draw.sample(sentences[number % 40], 3)) for number in range(80)],
            "answers": [[f"c{number % 40}"] for number in range(80)],
        }
    )
    layout = two_towers().layout
    questions, candidates = encode_reqa(questions, candidates, load_tokenizer(tokenizer)[0], layout)
    folder = tmp_path_factory.mktemp("reqa")
    questions.to_parquet(folder / "questions.parquet")
    candidates.to_parquet(folder / "candidates.parquet")
    return folder / "questions.parquet", folder / "candidates.parquet"


def two_towers(dropout: float = 0.1, **pretrain: object) -> TwoTowerSystem:
    """The smallest two-tower system: towers that are one network, or two, or bags of words, and a language model."""
    negatives = [{"steps": 6, "weights": {"in_batch_negatives": 1}}]
    encoder = {"hidden_size": 16, "layers": 1, "heads": 2, "intermediate_size": 32, "dropout": dropout}
    transformer = {"kind": "transformer", "encoder": encoder, "embedding_size": 8, "pooling": "mean"}
    runs = {
        "shared": {"schedule": negatives},
        "separate": {"schedule": negatives, "encoder": "separate", "mixture": "pooled"},
        "bag": {"schedule": negatives, "encoder": "bag", "pairs": ["ict"]},
        "mlm": {"schedule": [{"steps": 6, "weights": {"mlm": 1}}], "encoder": "separate"},
        "none": {"schedule": [], "encoder": "separate"},
    }
    return TypeAdapter(TwoTowerSystem).validate_python(
        {
            "seeds": 1,
            "layout": {"query_tokens": 12, "document_tokens": 24},
            "encoders": {
                "transformer": transformer,
                "separate": transformer | {"shared": False},
                "bag": {"kind": "bag_of_words", "word_size": 16, "hidden_size": 16, "embedding_size": 8},
            },
            "pretrain": {
                "runs": runs, "batch_size": 12, "optimizer": {"learning_rate": 2e-3, "warmup_steps": 2},
                "precision": "fp32", "log_every": 1, "checkpoint_every": 2, "tokens_at_once": 60,
            } | pretrain,
            "finetune": {
                "shares": [50], "batch_size": 16, "steps": 60, "evaluate_every": 5, "patience": 4,
                "optimizer": {"learning_rate": 1e-2, "warmup_steps": 5}, "precision": "fp32",
            },
        }
    )  # fmt: skip


#: Sentences of each document in `sentences`; the corpus has 90.
DOCUMENTS = [14, 2, 9, 3, 12, 2, 11, 8, 13, 16]


@pytest.fixture(scope="session")
def words(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A vocabulary of words with their vectors; the last six words of `WORDS` are not trained."""
    folder = tmp_path_factory.mktemp("words") / "words"
    train_words([" ".join(WORDS[:-6])] * 2, WordsConfig(), folder)
    add_words(folder, WORDS[-6:], folder)
    size = load_tokenizer(folder)[1].vocab_size
    np.save(folder / VECTORS_FILE, np.random.default_rng(4).normal(size=(size, 6)).astype(np.float32))
    return folder


@pytest.fixture(scope="session")
def sentences(tmp_path_factory: pytest.TempPathFactory, words: Path) -> Path:
    """Documents in their order, over two files of small row groups; each has seven words of its own to choose from."""
    folder = tmp_path_factory.mktemp("sentences")
    draw = random.Random(5)
    rows = []
    for number, size in enumerate(DOCUMENTS):
        own = draw.sample(WORDS, 7)
        for position in range(size):
            text = draw.choices(own, k=draw.randint(1, 9))
            rows.append({"document": f"d{number}", "position": position, "tokens": encoded(text, words)})
    write_sentences(rows, folder)
    return folder


def write_sentences(rows: list[dict[str, Any]], folder: Path) -> None:
    """A table of sentences in their order, in two files."""
    schema = pa.schema({"document": pa.string(), "position": pa.int32(), "tokens": pa.list_(pa.int32())})
    folder.mkdir(exist_ok=True)
    half = (len(rows) + 1) // 2
    for part in range(2):
        table = pa.Table.from_pylist(rows[part * half : (part + 1) * half], schema)
        pq.write_table(table, folder / f"part-{part}.parquet", row_group_size=8)


def quick_thoughts(layout: dict[str, Any] | None = None, **pretrain: object) -> QuickThoughtsSystem:
    """The smallest system of every kind of encoder, and a generator."""
    neighbours = [{"steps": 6, "weights": {"quick_thoughts": 1}}]
    encoder = {"hidden_size": 16, "layers": 1, "heads": 2, "intermediate_size": 32, "dropout": 0.1}
    kinds = ("uni", "bi", "bow", "fixed", "transformer")
    runs = {name: {"schedule": neighbours, "encoder": name} for name in kinds} | {
        "skip_thought": {"schedule": [{"steps": 6, "weights": {"skip_thought": 1}}], "encoder": "uni"},
        "random": {"schedule": [], "encoder": "uni"},
    }
    return TypeAdapter(QuickThoughtsSystem).validate_python(
        {
            "seeds": 1,
            "layout": {"sentence_words": 7} | (layout or {}),
            "encoders": {
                "uni": {"kind": "gru", "word_size": 8, "embedding_size": 8},
                "bi": {"kind": "gru", "word_size": 8, "embedding_size": 8, "bidirectional": True},
                "bow": {"kind": "bag_of_words", "embedding_size": 8},
                "fixed": {"kind": "gru", "words": "fixed", "embedding_size": 8},
                "transformer": {"kind": "transformer", "encoder": encoder, "embedding_size": 8},
            },
            "pretrain": {
                "runs": runs, "batch_size": 12, "optimizer": {"learning_rate": 1e-2, "schedule": "constant"},
                "precision": "fp32", "log_every": 1, "checkpoint_every": 2, "snapshots": 2, "tokens_at_once": 60,
            } | pretrain,
        }
    )  # fmt: skip

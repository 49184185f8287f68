"""A small vocabulary, examples of every stream, and the smallest systems."""

import random
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import TypeAdapter

from contexture.streams.pairs.config import PAIR_TASKS
from contexture.systems.config import SystemConfig
from contexture.vocabulary.tokenizers import VocabularyConfig, load_tokenizer, train_tokenizer
from contexture.vocabulary.words import VECTORS_FILE, WordsConfig, add_words, train_words

WORDS = [f"{a}{b}" for a in ("ka", "lo", "mi", "ru", "se", "to") for b in ("na", "ve", "di", "po", "ga")]
#: Pairs of each pre-training task.
PAIRS = {"ict": 40, "bfs": 25, "wlp": 9}
#: Sentences of each document; the corpus has 90.
DOCUMENTS = [14, 2, 9, 3, 12, 2, 11, 8, 13, 16]

#: Ids of tokens, in the tables of examples.
TOKENS = pa.list_(pa.int32())

OPTIMIZER = {"learning_rate": 2e-3, "warmup_steps": 2}
#: With Adam's default epsilon, gradients that are zero up to rounding make full steps.
STEADY = OPTIMIZER | {"epsilon": 1e-3}
PRETRAIN = {"batch_size": 12, "precision": "fp32", "log_every": 1, "checkpoint_every": 2, "tokens_at_once": 60}
#: Settings of all streams for one Transformer.
STREAMS: dict[str, Any] = {
    "joint": {"sentence_tokens": 16, "sampling": {"hard_negatives": 0, "easy_negatives": 1}},
    "bitext": {},
    "nli": {},
    "hard_pairs": {},
    "pairs": {},
    "passages": {},
    "contiguous": {},
    "sentences": {},
    "sequence_pairs": {},
    "sequence_samples": {"sampling": {"sequences": 4, "tokens": 8}, "positions": 40},
    "short_sequences": {"sampling": {"sequences": 4, "tokens": 8}, "positions": 40},
    "sequences": {},
}


def transformer(dropout: float = 0.1, **settings: Any) -> dict[str, Any]:
    sizes = {"hidden_size": 16, "layers": 1, "heads": 2, "intermediate_size": 32}
    return {"kind": "transformer", **sizes, "dropout": dropout} | settings


def make_system(**values: Any) -> SystemConfig:
    return TypeAdapter(SystemConfig).validate_python({"seeds": 1} | values)


def schedule(steps: int = 6, **weights: float) -> dict[str, Any]:
    return {"schedule": [{"steps": steps, "weights": weights}]}


def system(dropout: float = 0.1, **pretrain: Any) -> SystemConfig:
    runs = {
        "mlm": schedule(mlm=1),
        "mspp_ie": {
            "schedule": [{"steps": 4, "weights": {"mlm": 1, "mspp": 1}}, {"steps": 2, "weights": {"mspp": 0.5}}],
            "objectives": {"mspp": {"head": "ie_k"}},
        },
        "none": {"schedule": []},
    }
    variants = {"mspp_ie": {"head": "ie_k"}, "pairwise": {"runs": ["mlm"], "head": "ie_1"}}
    return make_system(
        lengths={"query": 12, "document": 24},
        encoders={"transformer": transformer(dropout)},
        streams={"joint": STREAMS["joint"]},
        pretrain=PRETRAIN | {"runs": runs, "optimizer": OPTIMIZER} | pretrain,
        variants={} if "runs" in pretrain else variants,
        tasks={
            "answer_selection": {
                "batch_size": 8, "epochs": 3, "patience": 2, "optimizer": OPTIMIZER, "precision": "fp32",
                "finetune": ["toys"],
            }
        },
    )  # fmt: skip


def two_towers(dropout: float = 0.1, **pretrain: Any) -> SystemConfig:
    """Return the smallest two-tower system: shared and separate towers, bags of words, and a language model."""
    negatives, size = schedule(in_batch_negatives=1), {"embedding_size": 8}
    runs = {
        "shared": negatives,
        "separate": negatives | {"encoder": "separate", "streams": {"pairs": {"mixture": "pooled"}}},
        "bag": negatives | {"encoder": "bag", "streams": {"pairs": {"tasks": ["ict"]}}},
        "mlm": schedule(mlm=1),
        "none": {"schedule": [], "encoder": "separate"},
    }
    return make_system(
        lengths={"query": 12, "document": 24},
        encoders={
            "transformer": transformer(dropout, **size),
            "separate": transformer(dropout, shared=False, **size),
            "bag": {"kind": "bag_of_words_mlp", "word_size": 16, "hidden_size": 16, "embedding_size": 8},
        },
        streams={"pairs": {}, "passages": {}},
        pretrain=PRETRAIN | {"runs": runs, "optimizer": OPTIMIZER} | pretrain,
    )


def quick_thoughts(contiguous: dict[str, Any] | None = None, **pretrain: Any) -> SystemConfig:
    """The smallest system of every kind of encoder of words, and a generator."""
    pair = {"plain": "both", "shared": False}
    kinds: dict[str, dict[str, Any]] = {
        "uni": {"kind": "gru", "word_size": 8, "embedding_size": 8},
        "bi": {"kind": "gru", "word_size": 8, "embedding_size": 8, "bidirectional": True},
        "bow": {"kind": "bag_of_words", "embedding_size": 8},
        "fixed": {"kind": "gru", "words": "fixed", "embedding_size": 8},
        "transformer": transformer(embedding_size=8),
    }
    runs = {name: schedule(quick_thoughts=1) | {"encoder": name} for name in kinds} | {
        "skip_thought": schedule(skip_thought=1) | {"encoder": "single"},
        "untrained": {"schedule": []},
    }
    optimizer = {"learning_rate": 1e-2, "schedule": "constant"}
    return make_system(
        lengths={"query": 7, "document": 7},
        vocabulary="words",
        encoders={name: kind | pair for name, kind in kinds.items()} | {"single": kinds["uni"] | {"plain": "both"}},
        streams={"contiguous": contiguous or {}},
        pretrain=PRETRAIN | {"runs": runs, "optimizer": optimizer, "snapshots": 2} | pretrain,
    )


def make_mixed_system(runs: dict[str, Any], dropout: float = 0.0, **pretrain: Any) -> SystemConfig:
    return make_system(
        lengths={"query": 12, "document": 24},
        encoders={"transformer": transformer(dropout, embedding_size=8)},
        streams=STREAMS,
        pretrain=PRETRAIN | {"runs": runs, "optimizer": STEADY} | pretrain,
    )


def write_tokenizer(folder: Path) -> Path:
    train_tokenizer([" ".join(WORDS)] * 3, VocabularyConfig(size=300), folder)
    return folder


def write_words(folder: Path) -> Path:
    """Write a vocabulary of words with vectors; the last six of `WORDS` are untrained."""
    train_words([" ".join(WORDS[:-6])] * 2, WordsConfig(), folder)
    add_words(folder, WORDS[-6:], folder)
    size = load_tokenizer(folder)[1].vocab_size
    np.save(folder / VECTORS_FILE, np.random.default_rng(4).normal(size=(size, 6)).astype(np.float32))
    return folder


def encode_words(words: list[str], vocabulary: Path) -> list[int]:
    ids: list[int] = load_tokenizer(vocabulary)[0].encode(" ".join(words), add_special_tokens=False).ids
    return ids


def write_rows(rows: list[dict[str, Any]], folder: Path, **columns: pa.DataType) -> None:
    folder.mkdir(exist_ok=True)
    half = (len(rows) + 1) // 2
    for part in range(2):
        table = pa.Table.from_pylist(rows[part * half : (part + 1) * half], pa.schema(columns))
        pq.write_table(table, folder / f"part-{part}.parquet", row_group_size=8)


def write_pairs(rows: list[dict[str, Any]], folder: Path) -> None:
    tokens = dict.fromkeys(("query", "title", "passage"), TOKENS)
    write_rows(rows, folder, pair_id=pa.string(), **tokens, document=pa.string(), document_pairs=pa.int64())


def write_hard_pairs(rows: list[dict[str, Any]], folder: Path) -> None:
    columns = {"document": pa.string(), "document_pairs": pa.int64(), "negative_documents": pa.list_(pa.string())}
    columns |= dict.fromkeys(("query", "title", "passage"), TOKENS)
    columns |= dict.fromkeys(("negative_titles", "negative_passages"), pa.list_(TOKENS))
    write_rows(rows, folder, **columns, margins=pa.list_(pa.float32()))


def write_sentences(rows: list[dict[str, Any]], folder: Path) -> None:
    write_rows(rows, folder, document=pa.string(), position=pa.int32(), tokens=TOKENS)


def write_all_sentences(folder: Path, vocabulary: Path) -> None:
    """Write documents in order; the words of each are drawn from seven."""
    draw, rows = random.Random(5), []
    for number, size in enumerate(DOCUMENTS):
        words = draw.sample(WORDS, 7)
        for position in range(size):
            text = draw.choices(words, k=draw.randint(1, 9))
            rows.append({"document": f"d{number}", "position": position, "tokens": encode_words(text, vocabulary)})
    write_sentences(rows, folder)


def write_examples(folder: Path, vocabulary: Path) -> None:
    def ids(words: list[str]) -> list[int]:
        return encode_words(words, vocabulary)

    # Two candidates; a candidate that shares s0's words is a positive.
    draw, rows = random.Random(0), list[dict[str, Any]]()
    for number in range(60):
        first = draw.sample(WORDS, 4)
        labels = [1, 0] if draw.random() < 0.5 else [0, 1]
        texts = [first, *(draw.sample(first if label else WORDS, draw.randint(2, 4)) for label in labels)]
        rows.append({"example_id": f"{number}", "sentences": [ids(text) for text in texts], "labels": labels})
    write_rows(rows, folder / "joint", example_id=pa.string(), sentences=pa.list_(TOKENS), labels=TOKENS)

    # Short queries that share words with documents of very different lengths; some documents have two pairs.
    draw = random.Random(2)
    (folder / "pairs").mkdir()
    for task in PAIR_TASKS:
        rows = []
        for number in range(PAIRS[task]):
            words = draw.sample(WORDS, draw.randint(2, 20))
            query, title = draw.sample(words, 2), draw.sample(WORDS, 1)
            row = {"pair_id": f"{task}{number}", "query": ids(query), "title": ids(title), "passage": ids(words)}
            pairs = min(2, PAIRS[task] - number // 2 * 2)
            rows.append(row | {"document": f"{task}{number // 2}", "document_pairs": pairs})
        write_pairs(rows, folder / "pairs" / task)

    # Two negatives of each pair, in two tasks; some are documents of other pairs. A cross-encoder scored them.
    draw = random.Random(3)
    (folder / "hard_pairs").mkdir()
    for task in ("ict", "queries"):
        rows = []
        for number in range(20):
            words = draw.sample(WORDS, draw.randint(2, 20))
            texts = {"query": ids(draw.sample(words, 2)), "title": ids(draw.sample(WORDS, 1)), "passage": ids(words)}
            documents = [f"{task}{draw.randrange(20)}", f"other{number}"]
            negatives = [[ids(draw.sample(WORDS, size)) for _ in documents] for size in (1, 9)]
            row = {"document": f"{task}{number}", "document_pairs": 1, "negative_documents": documents}
            row |= {"negative_titles": negatives[0], "negative_passages": negatives[1]}
            rows.append(texts | row | {"margins": [draw.random(), draw.random()]})
        write_hard_pairs(rows, folder / "hard_pairs" / task)

    write_all_sentences(folder / "sentences", vocabulary)

    # Sequences with the same words in different order.
    draw, rows = random.Random(7), []
    for number in range(50):
        words = draw.sample(WORDS, draw.randint(2, 14))
        sides = {"first": ids(words), "second": ids(draw.sample(words, len(words)))}
        rows.append({"document": f"d{number // 5}", "position": number % 5} | sides)
    columns = {"document": pa.string(), "position": pa.int32(), "first": TOKENS, "second": TOKENS}
    write_rows(rows, folder / "sequence_pairs", **columns)

    # Samples of one or two documents.
    draw, rows = random.Random(8), []
    for number in range(30):
        pieces = [ids(draw.choices(WORDS, k=draw.randint(3, 16))) for _ in range(draw.randint(1, 2))]
        rows.append({"sample": f"d{number}@0", "documents": len(pieces), "pieces": pieces})
    columns = {"sample": pa.string(), "documents": pa.int32(), "pieces": pa.list_(TOKENS)}
    write_rows(rows, folder / "sequence_samples", **columns)

    # The words of one side, backwards, are the other; some sources have two translations.
    draw, rows = random.Random(9), []
    for number in range(50):
        words = draw.sample(WORDS, draw.randint(2, 14))
        sides = {"source": ids(words), "target": ids(words[::-1])}
        rows.append(sides | {"source_id": number // 2 if number < 10 else number, "target_id": 100 + number})
    columns = {"source": TOKENS, "target": TOKENS, "source_id": pa.int64(), "target_id": pa.int64()}
    write_rows(rows, folder / "bitext", **columns)

    # A hypothesis with the premise's words follows, one with other words does not, one with half of them may.
    draw, rows = random.Random(10), []
    for number in range(60):
        words = draw.sample(WORDS, 6)
        rest = [word for word in WORDS if word not in words]
        hypothesis = (words, words[:3] + draw.sample(rest, 3), draw.sample(rest, 6))[number % 3]
        premise = ids(words)
        rows.append(
            {"premise": premise, "hypothesis": ids(draw.sample(hypothesis, 1 + number % 6)), "label": number % 3}
        )
    write_rows(rows, folder / "nli", premise=TOKENS, hypothesis=TOKENS, label=pa.int32())

"""A little vocabulary, examples of every stream, and the smallest systems that training can run on."""

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
#: With Adam's own epsilon a gradient that is zero but for rounding moves a weight as far as any other does.
STEADY = OPTIMIZER | {"epsilon": 1e-3}
PRETRAIN = {"batch_size": 12, "precision": "fp32", "log_every": 1, "checkpoint_every": 2, "tokens_at_once": 60}
#: What is told by default of the streams of one Transformer.
STREAMS: dict[str, Any] = {
    "joint": {"sentence_tokens": 16, "sampling": {"hard_negatives": 0, "easy_negatives": 1}},
    "bitext": {},
    "nli": {},
    "pairs": {},
    "passages": {},
    "contiguous": {},
    "sentences": {},
    "sequence_pairs": {},
    "sequence_samples": {"sampling": {"sequences": 4, "tokens": 8}, "positions": 40},
    "short_sequences": {"sampling": {"sequences": 4, "tokens": 8}, "positions": 40},
    "sequences": {},
}


def transformer(dropout: float = 0.1, **others: Any) -> dict[str, Any]:
    """The smallest Transformer."""
    sizes = {"hidden_size": 16, "layers": 1, "heads": 2, "intermediate_size": 32}
    return {"kind": "transformer", **sizes, "dropout": dropout} | others


def configured(**values: Any) -> SystemConfig:
    """A system, checked."""
    return TypeAdapter(SystemConfig).validate_python({"seeds": 1} | values)


def schedule(steps: int = 6, **weights: float) -> dict[str, Any]:
    """A run of one stage."""
    return {"schedule": [{"steps": steps, "weights": weights}]}


def system(dropout: float = 0.1, **pretrain: Any) -> SystemConfig:
    """The smallest system of joint inputs."""
    runs = {
        "mlm": schedule(mlm=1),
        "mspp_ie": {
            "schedule": [{"steps": 4, "weights": {"mlm": 1, "mspp": 1}}, {"steps": 2, "weights": {"mspp": 0.5}}],
            "objectives": {"mspp": {"head": "ie_k"}},
        },
        "none": {"schedule": []},
    }
    variants = {"mspp_ie": {"head": "ie_k"}, "pairwise": {"runs": ["mlm"], "head": "ie_1"}}
    return configured(
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
    """The smallest two-tower system: towers that are one network, or two, or bags of words, and a language model."""
    negatives, own = schedule(in_batch_negatives=1), {"embedding_size": 8}
    runs = {
        "shared": negatives,
        "separate": negatives | {"encoder": "separate", "streams": {"pairs": {"mixture": "pooled"}}},
        "bag": negatives | {"encoder": "bag", "streams": {"pairs": {"tasks": ["ict"]}}},
        "mlm": schedule(mlm=1),
        "none": {"schedule": [], "encoder": "separate"},
    }
    return configured(
        lengths={"query": 12, "document": 24},
        encoders={
            "transformer": transformer(dropout, **own),
            "separate": transformer(dropout, shared=False, **own),
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
        "random": {"schedule": []},
    }
    optimizer = {"learning_rate": 1e-2, "schedule": "constant"}
    return configured(
        lengths={"query": 7, "document": 7},
        vocabulary="words",
        encoders={name: kind | pair for name, kind in kinds.items()} | {"single": kinds["uni"] | {"plain": "both"}},
        streams={"contiguous": contiguous or {}},
        pretrain=PRETRAIN | {"runs": runs, "optimizer": optimizer, "snapshots": 2} | pretrain,
    )


def mixed(runs: dict[str, Any], dropout: float = 0.0, **pretrain: Any) -> SystemConfig:
    """Runs of any objectives on one Transformer that reads all streams."""
    return configured(
        lengths={"query": 12, "document": 24},
        encoders={"transformer": transformer(dropout, embedding_size=8)},
        streams=STREAMS,
        pretrain=PRETRAIN | {"runs": runs, "optimizer": STEADY} | pretrain,
    )


def write_tokenizer(folder: Path) -> Path:
    """A tokenizer of subwords."""
    train_tokenizer([" ".join(WORDS)] * 3, VocabularyConfig(size=300), folder)
    return folder


def write_words(folder: Path) -> Path:
    """A vocabulary of words with their vectors; the last six words of `WORDS` are not trained."""
    train_words([" ".join(WORDS[:-6])] * 2, WordsConfig(), folder)
    add_words(folder, WORDS[-6:], folder)
    size = load_tokenizer(folder)[1].vocab_size
    np.save(folder / VECTORS_FILE, np.random.default_rng(4).normal(size=(size, 6)).astype(np.float32))
    return folder


def encoded(words: list[str], vocabulary: Path) -> list[int]:
    ids: list[int] = load_tokenizer(vocabulary)[0].encode(" ".join(words), add_special_tokens=False).ids
    return ids


def write_rows(rows: list[dict[str, Any]], folder: Path, **columns: pa.DataType) -> None:
    """A table in the order of its rows, in two files of small row groups."""
    folder.mkdir(exist_ok=True)
    half = (len(rows) + 1) // 2
    for part in range(2):
        table = pa.Table.from_pylist(rows[part * half : (part + 1) * half], pa.schema(columns))
        pq.write_table(table, folder / f"part-{part}.parquet", row_group_size=8)


def write_joint(folder: Path, vocabulary: Path) -> None:
    """Sixty examples of two candidates; a candidate that shares s0's words is a positive."""
    draw, rows = random.Random(0), []
    for number in range(60):
        first = draw.sample(WORDS, 4)
        labels = [1, 0] if draw.random() < 0.5 else [0, 1]
        texts = [first, *(draw.sample(first if label else WORDS, draw.randint(2, 4)) for label in labels)]
        ids = [encoded(text, vocabulary) for text in texts]
        rows.append({"example_id": f"{number}", "sentences": ids, "labels": labels})
    write_rows(rows, folder, example_id=pa.string(), sentences=pa.list_(TOKENS), labels=TOKENS)


def write_all_pairs(folder: Path, vocabulary: Path) -> None:
    """A folder of pairs for each task, their queries short and their documents of very different lengths.

    A document shares words with its query; some documents have two pairs.
    """
    draw = random.Random(2)
    folder.mkdir()
    for task in PAIR_TASKS:
        rows = []
        for number in range(PAIRS[task]):
            words = draw.sample(WORDS, draw.randint(2, 20))
            rows.append(
                {
                    "pair_id": f"{task}{number}",
                    "query": encoded(draw.sample(words, 2), vocabulary),
                    "title": encoded(draw.sample(WORDS, 1), vocabulary),
                    "passage": encoded(words, vocabulary),
                    "document": f"{task}{number // 2}",
                    "document_pairs": min(2, PAIRS[task] - number // 2 * 2),
                }
            )
        write_pairs(rows, folder / task)


def write_pairs(rows: list[dict[str, Any]], folder: Path) -> None:
    """A table of pairs as the sampling stage writes them."""
    tokens = dict.fromkeys(("query", "title", "passage"), TOKENS)
    write_rows(rows, folder, pair_id=pa.string(), **tokens, document=pa.string(), document_pairs=pa.int64())


def write_all_sentences(folder: Path, vocabulary: Path) -> None:
    """Documents in their order; each has seven words of its own to choose from."""
    draw, rows = random.Random(5), []
    for number, size in enumerate(DOCUMENTS):
        own = draw.sample(WORDS, 7)
        for position in range(size):
            text = draw.choices(own, k=draw.randint(1, 9))
            rows.append({"document": f"d{number}", "position": position, "tokens": encoded(text, vocabulary)})
    write_sentences(rows, folder)


def write_sentences(rows: list[dict[str, Any]], folder: Path) -> None:
    """A table of sentences in their order."""
    write_rows(rows, folder, document=pa.string(), position=pa.int32(), tokens=TOKENS)


def write_sequence_pairs(folder: Path, vocabulary: Path) -> None:
    """Fifty pairs of sequences whose words are the same, in another order."""
    draw, rows = random.Random(7), []
    for number in range(50):
        words = draw.sample(WORDS, draw.randint(2, 14))
        first, second = (encoded(some, vocabulary) for some in (words, draw.sample(words, len(words))))
        rows.append({"document": f"d{number // 5}", "position": number % 5, "first": first, "second": second})
    write_rows(rows, folder, document=pa.string(), position=pa.int32(), first=TOKENS, second=TOKENS)


def write_sequence_samples(folder: Path, vocabulary: Path) -> None:
    """Thirty samples of a document or two."""
    draw, rows = random.Random(8), []
    for number in range(30):
        pieces = [encoded(draw.choices(WORDS, k=draw.randint(3, 16)), vocabulary) for _ in range(draw.randint(1, 2))]
        rows.append({"sample": f"d{number}@0", "documents": len(pieces), "pieces": pieces})
    write_rows(rows, folder, sample=pa.string(), documents=pa.int32(), pieces=pa.list_(TOKENS))


def write_bitext(folder: Path, vocabulary: Path) -> None:
    """Fifty pairs: the words of one side, backwards, are the other; some sources have two translations."""
    draw, rows = random.Random(9), []
    for number in range(50):
        words = draw.sample(WORDS, draw.randint(2, 14))
        ids = {"source_id": number // 2 if number < 10 else number, "target_id": 100 + number}
        rows.append({"source": encoded(words, vocabulary), "target": encoded(words[::-1], vocabulary)} | ids)
    write_rows(rows, folder, source=TOKENS, target=TOKENS, source_id=pa.int64(), target_id=pa.int64())


def write_nli(folder: Path, vocabulary: Path) -> None:
    """Sixty pairs: a hypothesis with the premise's words follows, one of others does not, one of half may."""
    draw, rows = random.Random(10), []
    for number in range(60):
        words = draw.sample(WORDS, 6)
        others = [word for word in WORDS if word not in words]
        said = (words, words[:3] + draw.sample(others, 3), draw.sample(others, 6))[number % 3]
        premise, hypothesis = (encoded(some, vocabulary) for some in (words, draw.sample(said, 1 + number % 6)))
        rows.append({"premise": premise, "hypothesis": hypothesis, "label": number % 3})
    write_rows(rows, folder, premise=TOKENS, hypothesis=TOKENS, label=pa.int32())

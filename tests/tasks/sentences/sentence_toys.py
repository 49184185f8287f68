"""Toy models that record embedded texts, and toy tasks in SentEval's formats."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from contexture.vocabulary.tokenizers import load_tokenizer
from contexture.vocabulary.words import WordsConfig, train_words


class CountingModel:
    """A text's vector is its number of characters times `factors`."""

    def __init__(self, name: str, factors: Sequence[float], breaks_at: str | None = None) -> None:
        self.name, self.factors, self.breaks_at = name, np.array(factors, np.float32), breaks_at
        self.dimension = len(factors)
        self.identity: dict[str, Any] = {"toy": [name, *factors]}
        self.embedded_texts: list[str] = []

    def embed(self, texts: Sequence[Any], role: Any = None) -> npt.NDArray[np.float32]:
        if self.breaks_at in texts:
            raise KeyboardInterrupt
        self.embedded_texts += texts
        return np.array([len(text) for text in texts], np.float32)[:, None] * self.factors


#: Words that decide the toy tasks, each with a separate dimension.
KNOWN = ("good", "bad", "who", "where", "whale", "ferry", "gull", "lamp")
_THINGS = ("whale", "ferry", "gull", "lamp")


class WordCounts:
    """A text's vector counts the known words."""

    name, dimension = "counts", len(KNOWN)
    identity: ClassVar[dict[str, Any]] = {"toy": "counts"}

    def __init__(self) -> None:
        self.embedded_texts: list[str] = []

    def embed(self, texts: Sequence[Any], role: Any = None) -> npt.NDArray[np.float32]:
        self.embedded_texts += texts
        return np.array([[text.split().count(word) for word in KNOWN] for text in texts], np.float32)


def word_average(folder: Path) -> Path:
    """Return the folder of a word-average model with unit vectors of the known words."""
    train_words([" ".join(KNOWN)] * 2, WordsConfig(size=40), folder)
    tokenizer, tokens = load_tokenizer(folder)
    vectors = np.zeros((tokens.vocab_size, len(KNOWN)), np.float32)
    for column, word in enumerate(KNOWN):
        vectors[tokenizer.token_to_id(word), column] = 1
    np.save(folder / "word_vectors.npy", vectors)
    return folder


def write_tasks(folder: Path) -> Path:
    """Write MR, TREC, SICK and STS12 in SentEval's layout; `WordCounts` separates their classes."""

    def write(path: str, lines: Iterable[str]) -> None:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")

    thing = [_THINGS[number % 4] for number in range(40)]
    write("MR/rt-polarity.pos", (f"a good {thing[n]} {n}" for n in range(40)))
    write("MR/rt-polarity.neg", (f"a bad {thing[n]} {n}" for n in range(40)))
    questions = [line for n in range(30) for line in (f"HUM:ind who {thing[n]} {n}", f"LOC:other where {thing[n]} {n}")]
    write("TREC/train_5500.label", questions)
    write("TREC/TREC_10.label", questions[:10])
    for split, count in (("train", 36), ("trial", 24), ("test_annotated", 24)):
        write(f"SICK/SICK_{split}.txt", _sick(count))
    write("STS/STS12-en-test/STS.input.MSRpar.txt", [f"{a}\t{b}" for a, b, _ in STS])
    write("STS/STS12-en-test/STS.gs.MSRpar.txt", [f"{score}" for *_, score in STS])
    write("STS/STS12-en-test/STS.input.surprise.OnWN.txt", [f"{a}\t{b}" for a, b, _ in STS[::-2]])
    write("STS/STS12-en-test/STS.gs.surprise.OnWN.txt", [f"{score}" for *_, score in STS[::-2]])
    return folder


#: Pairs and scores; some pairs share a sentence with MR.
STS = [
    ("a good whale 0", "a good whale 0", 5.0),
    ("a good whale 0", "a bad whale 0", 2.5),
    ("good gull good", "good gull", 4.0),
    ("bad lamp", "good ferry", 0.0),
    ("who lamp", "where lamp", 3.0),
    ("ferry ferry good", "gull", 0.5),
    ("nothing known", "gull", 1.0),
]


def _sick(count: int) -> Iterator[str]:
    """Yield pairs: equal things entail each other, different ones do not."""
    yield "pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment"
    for n in range(count):
        first, second = f"{_THINGS[n % 4]} good", f"{_THINGS[(n + n // 4 % 3) % 4]} good"
        judged = ("ENTAILMENT", "NEUTRAL", "CONTRADICTION")[n // 4 % 3]
        yield f"{n}\t{first}\t{second}\t{(4.5, 1.5, 2.5)[n // 4 % 3]}\t{judged}"

"""Examples of every stream without a corpus, and the sizes at which speed is measured; for other benchmarks here."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

from contexture.encoders.config import Lengths, TransformerConfig
from contexture.streams.joint.config import JointConfig
from contexture.streams.pairs.config import PAIR_TASKS
from contexture.vocabulary.tokenizers import CONFIG_FILE, SPECIALS, TOKENIZER_FILE, SpecialTokens
from contexture.vocabulary.vocabulary import Vocabulary

#: BERT's: layers, hidden size, heads; `small` is that of Turc et al. (2019).
SIZES = {"base": (12, 768, 12), "small": (4, 512, 8), "tiny": (2, 32, 2)}
#: Dense bf16 FLOP/s, by what is in a device's name.
PEAKS = {"H100": 989e12, "H200": 989e12, "A100": 312e12}
#: Those of the two-tower paper.
LENGTHS = Lengths(query=64, document=288)
WORDS = 30_522

# Tokens of titles and, apart from them and from special tokens, of passages: 145 a document on average.
_TITLE, _PASSAGE = (1, 6), (16, 262)

Rows = list[np.ndarray[Any, Any]]


class Texts:
    """Made-up texts of words that a vocabulary of this size has."""

    def __init__(self, vocabulary: int, seed: int = 0) -> None:
        self.rng = np.random.default_rng(seed)
        syllables = [c + v for c in "bdfgklmnprstvz" for v in "aeiou"]
        numbers = np.arange(vocabulary - len(SPECIALS["wordpiece"]))
        self.words = np.array(["".join(syllables[n // 70**k % 70] for k in range(3)) for n in numbers])
        # Words are as rare as in any language (Zipf).
        weights = 1 / (numbers + 3)
        self.odds = np.cumsum(weights / weights.sum())

    def draw(self, lengths: NDArray[np.int64]) -> list[str]:
        """Texts by number of words."""
        words = self.words[np.searchsorted(self.odds, self.rng.random(lengths.sum())).clip(max=len(self.words) - 1)]
        return [" ".join(text) for text in np.split(words, np.cumsum(lengths)[:-1])]

    def queries(self, count: int) -> list[str]:
        """Sentences of 26 words on average, 62 at most."""
        return self.draw(self.rng.gamma(3.5, 26.5 / 3.5, count).astype(np.int64).clip(3, LENGTHS.query - 2))

    def titles(self, count: int) -> list[str]:
        """Titles of one word to five."""
        return self.draw(self.rng.integers(*_TITLE, count))

    def passages(self, count: int) -> list[str]:
        """Passages of 139 words on average."""
        return self.draw(self.rng.integers(*_PASSAGE, count))

    def tokenizer(self, folder: Path) -> None:
        """Write a tokenizer that knows all words."""
        names = SPECIALS["wordpiece"]
        vocabulary = {token: number for number, token in enumerate([*names.values(), *self.words])}
        tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token=names["unk"]))
        tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
        tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        tokenizer.add_special_tokens(list(names.values()))
        tokenizer.post_processor = processors.BertProcessing(
            (names["sep"], vocabulary[names["sep"]]), (names["cls"], vocabulary[names["cls"]])
        )
        folder.mkdir()
        tokenizer.save(str(folder / TOKENIZER_FILE))
        config = {"tokenizer_class": "PreTrainedTokenizerFast"} | {f"{k}_token": v for k, v in names.items()}
        pd.Series(config).to_json(folder / CONFIG_FILE)


def transformer(size: str, **settings: Any) -> TransformerConfig:
    """An encoder of a size of `SIZES`."""
    layers, hidden, heads = SIZES[size]
    sizes = {"layers": layers, "hidden_size": hidden, "heads": heads, "intermediate_size": 4 * hidden}
    return TransformerConfig(kind="transformer", **sizes, **settings)


def vocabulary() -> Vocabulary:
    """As many words as BERT knows."""
    tokens = SpecialTokens(cls=2, sep=3, pad=0, mask=4, unk=1, vocab_size=WORDS)
    return Vocabulary(Path(), Tokenizer(models.WordLevel({"": 1}, unk_token="")), tokens, WORDS)


def write_examples(folder: Path, rows: int) -> None:
    """A folder for each kind of examples, of `rows` rows: lengths as in an encyclopedia, words drawn at random."""
    rng = np.random.default_rng(0)
    write({"document": names(rows, 1000), "position": np.arange(rows) % 1000, "tokens": sentences(rng, rows)},
          folder / "sentences")  # fmt: skip
    write_sequence_pairs(folder, rows, LENGTHS.document - 2, rng)
    k = JointConfig().sampling.candidates
    joint = sentences(rng, rows * (k + 1))
    write(
        {
            "example_id": names(rows, 1),
            "sentences": [joint[row * (k + 1) : (row + 1) * (k + 1)] for row in range(rows)],
            "labels": [np.eye(k, dtype=np.int32)[row % k] for row in range(rows)],
        },
        folder / "joint",
    )
    for task in PAIR_TASKS:
        # Passages are packed to fill a document.
        lengths = rng.integers(LENGTHS.document // 2, LENGTHS.document - 3, rows)
        pairs = {"query": sentences(rng, rows), "title": texts(rng, rng.integers(1, 6, rows))}
        pairs |= {"passage": texts(rng, lengths), "document": names(rows, 2)}
        write({"pair_id": names(rows, 1), **pairs, "document_pairs": np.full(rows, 2)}, folder / "pairs" / task)


def write_sequence_pairs(folder: Path, rows: int, room: int, rng: np.random.Generator | None = None) -> None:
    """Pairs of sequences that whole sentences fill, of `room` tokens at most."""
    rng = rng or np.random.default_rng(0)
    sides = {name: texts(rng, room - np.minimum(rng.geometric(0.08, rows), room - 1)) for name in ("first", "second")}
    locations = {"document": names(rows, 1000), "position": np.arange(rows) % 1000}
    write(locations | sides, folder / "sequence_pairs")


def write_sequence_samples(folder: Path, rows: int, sequences: int, tokens: int) -> None:
    """Samples of sequences, filled by articles of 500 tokens on average, half of them shorter than 300."""
    rng = np.random.default_rng(0)
    samples = []
    for _ in range(rows):
        lengths: list[int] = []
        while room := sequences - sum(-(-length // tokens) for length in lengths):
            lengths.append(min(room * tokens, 1 + int(rng.lognormal(np.log(300), 1.0))))
        samples.append(texts(rng, np.array(lengths)))
    write({"pieces": samples}, folder / "sequence_samples")


def sentences(rng: np.random.Generator, count: int) -> Rows:
    """24 tokens on average, 62 at most."""
    return texts(rng, np.clip(rng.lognormal(3.0, 0.6, count), 1, 62).astype(int))


def texts(rng: np.random.Generator, lengths: np.ndarray[Any, Any]) -> Rows:
    """Token ids."""
    tokens = rng.integers(5, WORDS, int(lengths.sum()), dtype=np.int32)
    return np.split(tokens, np.cumsum(lengths)[:-1])


def names(rows: int, parallel_map: int) -> list[str]:
    """Rows that share a name `parallel_map` at a time."""
    return [str(row // parallel_map) for row in range(rows)]


def write(columns: Mapping[str, Any], folder: Path) -> None:
    """One Parquet file."""
    folder.mkdir(parents=True)
    pq.write_table(pa.table(dict(columns)), folder / "made-up.parquet", row_group_size=8192)

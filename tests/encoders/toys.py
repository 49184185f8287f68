"""Small encoders of every kind, vocabularies of words and of subwords, and texts."""

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch

from contexture.encoders.base import Encoder, build_encoder
from contexture.encoders.config import (
    BagOfWordsConfig,
    BagOfWordsMlpConfig,
    CrossConfig,
    EncoderConfig,
    GruConfig,
    Lengths,
    StaticConfig,
    TableSizes,
    TransformerConfig,
)
from contexture.encoders.layout import Sentences
from contexture.streams.sentences.batches import sentence_batch
from contexture.vocabulary.tokenizers import SpecialTokens, VocabularyConfig, train_tokenizer
from contexture.vocabulary.vocabulary import Vocabulary, save_idf
from contexture.vocabulary.words import VECTORS_FILE, WordsConfig, add_words, train_words

WORDS = [f"{a}{b}" for a in ("ka", "lo", "mi", "ru", "se") for b in ("na", "ve", "di", "po", "ga")]
#: Ids 5 … 24 are trained words, 25 … 29 have only vectors.
TOKENS = SpecialTokens(pad=0, unk=1, cls=2, sep=3, mask=4, vocab_size=30)
TRAINED, VECTOR_SIZE = 25, 5
LENGTHS = Lengths(query=10, document=10)

_SIZES: dict[str, Any] = {"hidden_size": 8, "layers": 2, "heads": 2, "intermediate_size": 16, "dropout": 0.1}
CONFIGS: dict[str, EncoderConfig] = {
    "gru": GruConfig("gru", word_size=6, embedding_size=4),
    "bidirectional": GruConfig("gru", word_size=6, embedding_size=4, bidirectional=True),
    "fixed": GruConfig("gru", embedding_size=4, words="fixed"),
    "bag_of_words": BagOfWordsConfig("bag_of_words", embedding_size=4),
    "bag_of_words_mlp": BagOfWordsMlpConfig("bag_of_words_mlp", word_size=6, hidden_size=7, embedding_size=4),
    "static": StaticConfig("static", embedding_size=4, pooling="mean"),
    "static_idf": StaticConfig("static", embedding_size=4, norm=4.0),
    "transformer_cls": TransformerConfig(**_SIZES, pooling="cls", embedding_size=4),
    "transformer_mean": TransformerConfig(**_SIZES, pooling="mean"),
    "transformer_max": TransformerConfig(**_SIZES, pooling="max"),
    "transformer_idf": TransformerConfig(**_SIZES, pooling="idf"),
    "transformer_last": TransformerConfig(**_SIZES, pooling="last"),
    "transformer_cross": TransformerConfig(**_SIZES, pooling="cls", cross=CrossConfig(2, "one")),
    "transformer_projections": TransformerConfig(**_SIZES, projections=3),
    "transformer_idf_projected": TransformerConfig(**_SIZES, pooling="idf", embedding_size=4),
}
KINDS = list(CONFIGS)
#: Kinds that add special tokens to a text.
WITH_SPECIALS = {"bag_of_words_mlp", *(kind for kind in KINDS if kind.startswith("transformer"))}

_FOLDER = tempfile.TemporaryDirectory()  # removed when the tests end


@cache
def words() -> Vocabulary:
    """Return a vocabulary of words with vectors; the last five are untrained."""
    folder = Path(_FOLDER.name) / "words"
    trained = TRAINED - 5
    train_words([" ".join(WORDS[:trained])] * 2, WordsConfig(), folder)
    add_words(folder, WORDS[trained:], folder)
    vectors = np.random.default_rng(0).normal(size=(TOKENS.vocab_size, VECTOR_SIZE)).astype(np.float32)
    np.save(folder / VECTORS_FILE, vectors)
    save_idf(folder, np.linspace(0.5, 3, TOKENS.vocab_size, dtype=np.float32))
    vocabulary = Vocabulary.load(folder)
    assert (vocabulary.tokens, vocabulary.trained) == (TOKENS, TRAINED)
    return vocabulary


@cache
def subwords(kind: str = "wordpiece") -> Vocabulary:
    """Return a vocabulary of subwords, trained on the same words."""
    folder = Path(_FOLDER.name) / kind
    train_tokenizer([" ".join(WORDS)] * 3, VocabularyConfig(kind=kind, size=300), folder)  # type: ignore[arg-type]
    vocabulary = Vocabulary.load(folder)
    save_idf(folder, np.linspace(0.5, 3, vocabulary.tokens.vocab_size, dtype=np.float32))
    return vocabulary


def config(kind: str, **changed: Any) -> Any:
    return replace(CONFIGS[kind], **changed)


def build(
    kind: str | EncoderConfig,
    seed: int = 0,
    *,
    lengths: Lengths = LENGTHS,
    vocabulary: Vocabulary | None = None,
    table_sizes: TableSizes | None = None,
    head: bool = False,
    **changed: Any,
) -> Encoder:
    torch.manual_seed(seed)
    wanted = config(kind, **changed) if isinstance(kind, str) else kind
    return build_encoder(wanted, lengths, vocabulary or words(), table_sizes, head).eval()


def sentences(*texts: list[int]) -> Sentences:
    return rows(*([text] for text in texts))


def rows(*texts: Sequence[list[int] | None]) -> Sentences:
    """Return examples of several parts; None is an empty slot."""
    flat = [token for text in texts for part in text for token in part or ()]
    lengths = [[-1 if part is None else len(part) for part in text] for text in texts]
    return Sentences(np.array(flat, np.int64), np.array(lengths, np.int64))


def contiguous(encoder: Encoder, *texts: list[int], documents: list[int] | None = None) -> dict[str, Any]:
    """Return a batch of consecutive sentences in one document, or in the given documents."""
    documents = documents or [0] * len(texts)
    positions = [documents[:i].count(document) for i, document in enumerate(documents)]
    return sentence_batch(encoder, sentences(*texts), 100) | {
        "document_numbers": torch.tensor(documents),
        "positions": torch.tensor(positions),
        "first": torch.tensor(0),
    }

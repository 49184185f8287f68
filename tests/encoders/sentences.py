"""Small sentence encoders and batches of theirs."""

from typing import Any

import numpy as np
import torch

from contexture.encoders.config import SentenceEncoderConfig, SentenceLayoutConfig
from contexture.encoders.layout import Sentences
from contexture.encoders.sentence_encoders import SentenceEncoders, build_sentence_encoders
from contexture.vocabulary.tokenizers import SpecialTokens

TOKENS = SpecialTokens(pad=0, unk=1, cls=2, sep=3, mask=4, vocab_size=30)
TRAINED = 25
LAYOUT = SentenceLayoutConfig(sentence_words=8)


def build(config: SentenceEncoderConfig, pair: bool = True, seed: int = 0) -> SentenceEncoders:
    torch.manual_seed(seed)
    vectors = np.random.default_rng(seed).normal(size=(30, 5)).astype(np.float32)
    return build_sentence_encoders(config, LAYOUT, TOKENS, TRAINED, vectors, pair)


def sentences(*texts: list[int]) -> Sentences:
    return Sentences(np.concatenate(texts).astype(np.int64), np.array([[len(text)] for text in texts]))


def batch(encoders: SentenceEncoders, *texts: list[int], documents: list[int] | None = None) -> dict[str, Any]:
    """Sentences that follow one another in one document, or in those given."""
    documents = documents or [0] * len(texts)
    positions = [documents[:i].count(document) for i, document in enumerate(documents)]
    return encoders.batch(sentences(*texts), TOKENS, 100) | {
        "document_numbers": torch.tensor(documents),
        "positions": torch.tensor(positions),
        "first": torch.tensor(0),
    }

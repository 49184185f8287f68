"""SimCSE against a slow loop, and where it has nothing to learn from."""

import math
from pathlib import Path

import pytest
import torch

from contexture.encoders.base import build_encoder
from contexture.encoders.config import Lengths, TransformerConfig
from contexture.encoders.layout import Sentences
from contexture.objectives.devices import first_row, gathered, several
from contexture.objectives.simcse.config import SimcseConfig
from contexture.objectives.simcse.objective import Simcse, contrast
from contexture.streams.sentences.batches import sentence_batch
from contexture.vocabulary.tokenizers import VocabularyConfig, train_tokenizer
from contexture.vocabulary.vocabulary import Vocabulary


def test_contrast_against_a_loop() -> None:
    first, second = torch.randn(2, 5, 3, generator=torch.Generator().manual_seed(0))
    losses = []
    for i in range(5):
        cosines = [float(torch.cosine_similarity(first[i], second[j], dim=0)) / 0.1 for j in range(5)]
        losses.append(-cosines[i] + math.log(sum(math.exp(cosine) for cosine in cosines)))
    assert float(contrast(first, second, 0.1).value) == pytest.approx(sum(losses) / 5, rel=1e-5)


def test_dropout_makes_the_second_view(tmp_path: Path) -> None:
    train_tokenizer(["one sentence and another one"] * 4, VocabularyConfig(size=300), tmp_path)
    sentences = Sentences(torch.arange(6, 18).numpy(), torch.tensor([[4], [5], [3]]).numpy())
    lengths, vocabulary = Lengths(16, 16), Vocabulary.load(tmp_path)
    config = TransformerConfig(hidden_size=8, layers=1, heads=2, intermediate_size=8, dropout=0.5)
    encoder = build_encoder(config, lengths, vocabulary)
    objective, batch = Simcse(SimcseConfig(), encoder), sentence_batch(encoder, sentences, 64)
    first = {"document": encoder(batch["texts"], "document")}
    assert objective(encoder, first, batch).value.item() > 0
    assert not torch.equal(first["document"], encoder(batch["texts"], "document"))
    assert float(objective.flops(batch)) > float(encoder.flops(batch)) > 0
    still = build_encoder(TransformerConfig(hidden_size=8, layers=1, dropout=0.0), lengths, vocabulary)
    with pytest.raises(ValueError, match="dropout"):
        Simcse(SimcseConfig(), still)


def test_one_device_has_all_of_it() -> None:
    values = torch.arange(3.0)
    assert gathered(values) is values
    assert (several(), first_row(9)) == (False, 0)

"""SimCSE compared with a slow loop, and the error without dropout."""

import math

import pytest
import torch

from contexture.objectives.settings import SimcseConfig
from contexture.objectives.simcse import Simcse, contrastive_loss
from contexture.streams.sentences.batches import sentence_batch
from tests.encoders.toys import build, sentences


def test_contrast_against_a_loop() -> None:
    first, second = torch.randn(2, 5, 3, generator=torch.Generator().manual_seed(0))
    losses = []
    for i in range(5):
        cosines = [float(torch.cosine_similarity(first[i], second[j], dim=0)) / 0.1 for j in range(5)]
        losses.append(-cosines[i] + math.log(sum(math.exp(cosine) for cosine in cosines)))
    assert float(contrastive_loss(first, second, 0.1).value) == pytest.approx(sum(losses) / 5, rel=1e-5)


def test_dropout_makes_the_second_view() -> None:
    encoder = build("transformer_mean", dropout=0.5).train()
    objective, batch = Simcse(SimcseConfig(), encoder), sentence_batch(encoder, sentences([5, 6], [7, 8, 9], [10]), 64)
    first = {"document": encoder(batch["texts"], "document")}
    assert objective(encoder, first, batch).value.item() > 0
    assert not torch.equal(first["document"], encoder(batch["texts"], "document"))
    assert float(objective.flops(batch)) > float(encoder.flops(batch)) > 0
    with pytest.raises(ValueError, match="dropout"):
        Simcse(SimcseConfig(), build("transformer_mean", dropout=0.0))


def test_accuracy_by_hand() -> None:
    """The first row is nearest to its second vector, the others are nearest to the first one's."""
    second = torch.eye(3)[[0, 2, 1]]
    assert contrastive_loss(torch.eye(3), second, 0.1).metrics["accuracy"].item() == pytest.approx(1 / 3)


def test_the_loss_is_that_of_the_texts_read_again_with_other_dropout() -> None:
    """With the temperature of the settings; both readings get a gradient."""
    encoder = build("transformer_mean", dropout=0.5).train()
    objective = Simcse(SimcseConfig(temperature=0.2), encoder)
    batch = sentence_batch(encoder, sentences([5, 6], [7, 8, 9], [10]), 64)
    first = encoder(batch["texts"], "document").detach().requires_grad_()
    torch.manual_seed(3)
    second = encoder(batch["texts"], "document").detach()
    assert not torch.equal(first, second)
    torch.manual_seed(3)
    loss = objective(encoder, {"document": first}, batch).value
    assert loss.item() == pytest.approx(contrastive_loss(first, second, 0.2).value.item(), rel=1e-6)
    loss.backward()
    assert first.grad is not None and first.grad.abs().sum() > 0
    assert any(p.grad is not None and p.grad.abs().sum() > 0 for p in encoder.parameters())

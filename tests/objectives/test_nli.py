"""The loss of cross-lingual inference by hand."""

import math

import torch

from contexture.objectives.nli import NaturalLanguageInference
from contexture.objectives.settings import NliConfig
from tests.objectives.losses import towers


def test_the_loss_is_that_of_a_slow_loop() -> None:
    draw = torch.Generator().manual_seed(0)
    encoder = towers(shared=True)
    objective = NaturalLanguageInference(NliConfig(), encoder)
    width = encoder.dimension
    torch.nn.init.normal_(objective.linear.weight, generator=draw)
    u, v = torch.randn(2, 5, width, generator=draw)
    labels = torch.tensor([0, 2, 1, 1, 0])
    loss = objective(encoder, {"premise": u, "hypothesis": v}, {"labels": labels})
    weight, losses, right = objective.linear.weight.tolist(), [], 0
    for left, right_vector, label in zip(u.tolist(), v.tolist(), labels.tolist(), strict=True):
        pairs = [*zip(left, right_vector, strict=True)]
        features = [*left, *right_vector, *(abs(a - b) for a, b in pairs), *(a * b for a, b in pairs)]
        logits = [sum(w * x for w, x in zip(row, features, strict=True)) for row in weight]
        losses.append(math.log(sum(map(math.exp, logits))) - logits[label])
        right += max(range(3), key=logits.__getitem__) == label
    assert math.isclose(loss.value.item(), sum(losses) / 5, rel_tol=1e-5)
    assert math.isclose(loss.metrics["accuracy"].item(), right / 5, rel_tol=1e-6)

"""MarginMSE compared with a slow loop, and FLOPs."""

import pytest
import torch
from torch import nn

from contexture.objectives.margin_distillation import MarginDistillation
from contexture.objectives.settings import MarginDistillationConfig
from tests.encoders.toys import build


def objective(scale: float = 1.0) -> MarginDistillation:
    return MarginDistillation(MarginDistillationConfig(scale=scale), build("bag_of_words"))


def test_by_hand() -> None:
    """Margins 3 − 1 and 3 − 5 of one query, of which a cross-encoder says 1 and −4: squared errors 1 and 4."""
    states = {"query": torch.tensor([[1.0, 1.0]]), "document": torch.tensor([[1.0, 2.0]])}
    states["negative"] = torch.tensor([[1.0, 0.0], [0.0, 5.0]])
    loss = objective()(nn.Identity(), states, {"margins": torch.tensor([[1.0, -4.0]])})
    assert float(loss.value) == pytest.approx(2.5)
    assert float(loss.metrics["accuracy"]) == 0.5


@pytest.mark.parametrize("scale", [1.0, 0.2])
def test_the_loss_is_that_of_a_slow_loop(scale: float) -> None:
    draw = torch.Generator().manual_seed(0)
    queries, documents = torch.randn(2, 5, 4, generator=draw)
    negatives, margins = torch.randn(15, 4, generator=draw), torch.randn(5, 3, generator=draw)
    states = {"query": queries, "document": documents, "negative": negatives}
    loss = objective(scale)(nn.Identity(), states, {"margins": margins})
    errors = []
    for i in range(5):
        for k in range(3):
            margin = float(queries[i] @ documents[i]) - float(queries[i] @ negatives[3 * i + k])
            errors.append((margin - scale * float(margins[i, k])) ** 2)
    assert float(loss.value) == pytest.approx(sum(errors) / len(errors), rel=1e-5)


def test_flops_are_those_of_all_products() -> None:
    assert objective().flops({"margins": torch.zeros(5, 3)}) == 6 * 5 * 4 * 4

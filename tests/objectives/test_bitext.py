"""Bitext retrieval by hand, compared with a slow loop and with another library.

`test_devices` covers several processes.
"""

import math

import pytest
import torch
from torch import Tensor, nn

from contexture.objectives.bitext import BitextRetrieval, additive_margin
from contexture.objectives.settings import BitextObjectiveConfig
from tests.encoders.toys import build

#: Six pairs. The first and the fourth have the same source; the second's target is the fifth's source.
IDS = torch.tensor([[1, 11], [2, 12], [3, 13], [1, 14], [12, 15], [6, 16]])


def draw(pairs: int = 6) -> tuple[Tensor, Tensor]:
    both = torch.randn(2, pairs, 4, generator=torch.Generator().manual_seed(0))
    return both[0], both[1]


def unique_ids(pairs: int) -> Tensor:
    return torch.arange(2 * pairs).view(pairs, 2)


def slow_loss(sources: Tensor, targets: Tensor, ids: list[list[int]], margin: float, scale: float | None) -> float:
    """Both losses of section 4.2, with their logarithm."""
    total = 0.0
    for queries, candidates in ((sources, targets), (targets, sources)):
        for i, vector in enumerate(queries.tolist()):
            p = {}
            for j, other in enumerate(candidates.tolist()):
                if j != i and set(ids[i]) & set(ids[j]):
                    continue
                score = sum(map(float.__mul__, vector, other))
                if scale is not None:
                    score /= math.hypot(*vector) * math.hypot(*other)
                score -= margin if i == j else 0
                p[j] = math.exp(score * (scale or 1))
            total -= math.log(p[i] / sum(p.values()))
    return total / len(sources)


@pytest.mark.parametrize("scale", [None, 20.0])
def test_the_loss_is_that_of_a_slow_loop(scale: float | None) -> None:
    objective = BitextRetrieval(BitextObjectiveConfig(scale=scale), build("bag_of_words"))
    sources, targets = draw()
    for ids in (unique_ids(6), IDS):
        loss = objective(nn.Identity(), {"source": sources, "target": targets}, {"ids": ids})
        assert float(loss.value) == pytest.approx(slow_loss(sources, targets, ids.tolist(), 0.3, scale), abs=1e-5)
        loss = additive_margin(sources, targets, ids, 0.0, scale)
        assert float(loss.value) == pytest.approx(slow_loss(sources, targets, ids.tolist(), 0.0, scale), abs=1e-5)


def test_by_hand() -> None:
    """Two pairs, orthogonal, with targets of length 2: log(1 + e^-(2 - 0.3)) in each direction, all correct."""
    loss = additive_margin(torch.eye(2), 2 * torch.eye(2), unique_ids(2), 0.3)
    assert float(loss.value) == pytest.approx(2 * math.log(1 + math.exp(-1.7)))
    assert float(loss.metrics["accuracy"]) == 1


def test_the_directions_differ() -> None:
    """One target is close to both sources, so the directions differ."""
    sources, targets = torch.tensor([[1.0, 0.0], [1.0, 1.0]]), torch.tensor([[3.0, 0.0], [0.0, 1.0]])
    loss = additive_margin(sources, targets, unique_ids(2), 0.0)
    forward = -math.log(math.exp(3) / (math.exp(3) + 1)) - math.log(math.e / (math.e + math.exp(3)))
    backward = -math.log(0.5) - math.log(math.e / (math.e + 1))
    assert float(loss.value) == pytest.approx((forward + backward) / 2)
    assert float(loss.metrics["accuracy"]) == pytest.approx(0.75)


def test_without_a_margin_it_is_the_loss_of_sentence_transformers() -> None:
    from sentence_transformers.sentence_transformer.losses import MultipleNegativesRankingLoss

    class Identity(nn.Module):
        def forward(self, features: dict[str, Tensor]) -> dict[str, Tensor]:
            return {"sentence_embedding": features["x"]}

    sources, targets = draw(8)
    both = [{"x": sources}, {"x": targets}]
    peer = MultipleNegativesRankingLoss(Identity(), scale=20.0)  # type: ignore[arg-type]
    expected = float(peer(both, None)) + float(peer(both[::-1], None))
    assert float(additive_margin(sources, targets, unique_ids(8), 0.0, 20.0).value) == pytest.approx(expected, rel=1e-5)


def test_flops_are_those_of_the_products_of_both_directions() -> None:
    objective = BitextRetrieval(BitextObjectiveConfig(), build("bag_of_words"))
    assert objective.flops({"ids": unique_ids(7)}) == 2 * 6 * 7 * 7 * 4

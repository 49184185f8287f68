"""The softmax over the sentences of a batch, against numbers by hand and slow loops."""

import math

import pytest
import torch
from torch import Tensor, nn

from contexture.objectives.quick_thoughts import QuickThoughts, context_matrix
from contexture.objectives.settings import QuickThoughtsConfig
from tests.encoders.toys import build, contiguous

ENCODER = build("gru")


def positions_of(*documents: int) -> dict[str, Tensor]:
    positions = [documents[:i].count(document) for i, document in enumerate(documents)]
    return {
        "document_numbers": torch.tensor(documents),
        "positions": torch.tensor(positions),
        "first": torch.tensor(0),
    }


def loss_of(states: Tensor, batch: dict[str, Tensor], **settings: object) -> tuple[float, float]:
    """Loss and accuracy; `states` (2, B, D) are the vectors of queries and documents."""
    objective = QuickThoughts(QuickThoughtsConfig(**settings), ENCODER)  # type: ignore[arg-type]
    loss = objective(nn.Identity(), {"query": states[0], "document": states[1]}, batch)
    return loss.value.item(), float(loss.metrics["accuracy"])


def loop(f: Tensor, g: Tensor, documents: list[int], *, zero: bool = False, kind: str = "mean") -> float:
    """Equation 1 and 2, the plain way, over all sentences that have a context."""
    losses = []
    for i in range(len(f)):
        exponentials = {j: math.exp(float(f[i] @ g[j])) for j in range(len(g)) if j != i}
        total = sum(exponentials.values()) + (1 if zero else 0)
        near = [j for j in (i - 1, i + 1) if 0 <= j < len(f)]
        neighbours = [-math.log(exponentials[j] / total) for j in near if documents[j] == documents[i]]
        if neighbours:
            losses.append(sum(neighbours) / (len(neighbours) if kind == "mean" else 1))
    return sum(losses) / len(losses)


def test_by_hand() -> None:
    """Three sentences; the scores with another one are 2 for 0→1 and 0 for all others."""
    f = torch.tensor([[2.0, 0.0], [0.0, 0.0], [0.0, 0.0]])
    g = torch.tensor([[0.0, 1.0], [1.0, 0.0], [0.0, 1.0]])
    first = -math.log(math.e**2 / (math.e**2 + 1))  # sentence 0: its neighbour is 1, the other candidate 2
    middle = math.log(2)  # sentence 1: both others are neighbours, each at probability ½
    last = math.log(2)
    value, accuracy = loss_of(torch.stack([f, g]), positions_of(0, 0, 0))
    assert value == pytest.approx((first + middle + last) / 3)
    assert accuracy == pytest.approx(2 / 3)  # the last sentence's scores are equal: the first candidate is no neighbour
    value, _ = loss_of(torch.stack([f, g]), positions_of(0, 0, 0), context="sum")
    assert value == pytest.approx((first + 2 * middle + last) / 3)
    value, _ = loss_of(torch.stack([f, g]), positions_of(0, 0, 0), self_score="zero")
    first = -math.log(math.e**2 / (math.e**2 + 2))
    assert value == pytest.approx((first + 2 * math.log(3)) / 3)


@pytest.mark.parametrize("self_score", ["excluded", "zero"])
@pytest.mark.parametrize("context", ["mean", "sum"])
def test_every_setting_is_that_of_a_slow_loop(self_score: str, context: str) -> None:
    documents = [3, 3, 3, 5, 5, 1, 7, 7]  # the only sentence of document 1 has no context
    states = torch.randn(2, 8, 4, generator=torch.Generator().manual_seed(1))
    value, _ = loss_of(states, positions_of(*documents), self_score=self_score, context=context)
    expected = loop(*states, documents, zero=self_score == "zero", kind=context)
    assert value == pytest.approx(expected, rel=1e-5)


def test_neighbours_are_of_one_document_and_next_to_one_another() -> None:
    documents, positions = torch.tensor([0, 0, 1, 1, 0]), torch.tensor([4, 5, 0, 2, 6])
    assert context_matrix(documents, positions).nonzero().tolist() == [[0, 1], [1, 0], [1, 4], [4, 1]]


def test_the_loss_of_two_devices_averages_to_that_of_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each sees its own sentences and all candidates; they have different numbers of sentences with a context."""
    documents = [0, 0, 0, 1, 2, 2]
    states = torch.randn(2, 6, 4, generator=torch.Generator().manual_seed(2))
    whole, _ = loss_of(states, positions_of(*documents))
    monkeypatch.setattr("contexture.objectives.quick_thoughts.gather_devices", lambda _: states[1])
    halves = [
        loss_of(states[:, first : first + 3], positions_of(*documents) | {"first": torch.tensor(first)})[0]
        for first in (0, 3)
    ]
    assert sum(halves) / 2 == pytest.approx(whole, rel=1e-6)


def test_gradients_are_finite_and_a_batch_without_neighbours_costs_nothing() -> None:
    states = torch.randn(2, 3, 4, requires_grad=True)
    objective = QuickThoughts(QuickThoughtsConfig(), ENCODER)
    loss = objective(nn.Identity(), {"query": states[0], "document": states[1]}, positions_of(0, 0, 1))
    loss.value.backward()
    assert torch.isfinite(states.grad).all()
    assert states.grad.abs().sum() > 0
    assert loss_of(states, positions_of(0, 1, 2)) == (0, 0)


def test_one_network_may_play_both_roles() -> None:
    batch = contiguous(ENCODER, [5, 6], [7], [8, 9])
    vectors = ENCODER(batch["texts"], "query").detach()
    value, _ = loss_of(torch.stack([vectors, vectors]), batch)
    assert value == pytest.approx(loop(vectors, vectors, [0, 0, 0]), rel=1e-5)


def test_flops_are_those_of_this_devices_products_with_all() -> None:
    batch = contiguous(ENCODER, [5, 6], [7]) | {"positions": torch.arange(6)}
    assert QuickThoughts(QuickThoughtsConfig(), ENCODER).flops(batch) == 6 * 2 * 6 * 4

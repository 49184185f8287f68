"""Softmax over the sentences of a batch, by hand and compared with slow loops."""

import math

import pytest
import torch
from torch import Tensor, nn

from contexture.objectives.quick_thoughts import QuickThoughts, context_matrix
from contexture.objectives.settings import QuickThoughtsConfig
from tests.encoders.toys import build, contiguous

ENCODER = build("gru")


def make_positions(*documents: int) -> dict[str, Tensor]:
    positions = [documents[:i].count(document) for i, document in enumerate(documents)]
    return {
        "document_numbers": torch.tensor(documents),
        "positions": torch.tensor(positions),
        "first": torch.tensor(0),
    }


def compute_loss(states: Tensor, batch: dict[str, Tensor], **settings: object) -> tuple[float, float]:
    """Loss and accuracy; `states` (2, B, D) are the vectors of queries and documents."""
    objective = QuickThoughts(QuickThoughtsConfig(**settings), ENCODER)  # type: ignore[arg-type]
    loss = objective(nn.Identity(), {"query": states[0], "document": states[1]}, batch)
    return loss.value.item(), float(loss.metrics["accuracy"])


def slow_loss(f: Tensor, g: Tensor, documents: list[int], *, zero: bool = False, kind: str = "mean") -> float:
    """Equations 1 and 2 over all sentences that have a context."""
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
    """Three sentences. The score 0→1 is 2, all others are 0."""
    f = torch.tensor([[2.0, 0.0], [0.0, 0.0], [0.0, 0.0]])
    g = torch.tensor([[0.0, 1.0], [1.0, 0.0], [0.0, 1.0]])
    first = -math.log(math.e**2 / (math.e**2 + 1))  # sentence 0: its neighbour is 1, the other candidate 2
    middle = math.log(2)  # sentence 1: both others are neighbours, each at probability ½
    last = math.log(2)
    value, accuracy = compute_loss(torch.stack([f, g]), make_positions(0, 0, 0))
    assert value == pytest.approx((first + middle + last) / 3)
    assert accuracy == pytest.approx(2 / 3)  # the last sentence's scores are equal: the first candidate is no neighbour
    value, _ = compute_loss(torch.stack([f, g]), make_positions(0, 0, 0), context="sum")
    assert value == pytest.approx((first + 2 * middle + last) / 3)
    value, _ = compute_loss(torch.stack([f, g]), make_positions(0, 0, 0), self_score="zero")
    first = -math.log(math.e**2 / (math.e**2 + 2))
    assert value == pytest.approx((first + 2 * math.log(3)) / 3)


@pytest.mark.parametrize("self_score", ["excluded", "zero"])
@pytest.mark.parametrize("context", ["mean", "sum"])
def test_every_setting_is_that_of_a_slow_loop(self_score: str, context: str) -> None:
    documents = [3, 3, 3, 5, 5, 1, 7, 7]  # the only sentence of document 1 has no context
    states = torch.randn(2, 8, 4, generator=torch.Generator().manual_seed(1))
    value, _ = compute_loss(states, make_positions(*documents), self_score=self_score, context=context)
    expected = slow_loss(*states, documents, zero=self_score == "zero", kind=context)
    assert value == pytest.approx(expected, rel=1e-5)


def test_neighbours_are_adjacent_in_the_same_document() -> None:
    documents, positions = torch.tensor([0, 0, 1, 1, 0]), torch.tensor([4, 5, 0, 2, 6])
    assert context_matrix(documents, positions).nonzero().tolist() == [[0, 1], [1, 0], [1, 4], [4, 1]]


def test_the_loss_of_two_devices_averages_to_that_of_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each device has its own sentences and all candidates. The numbers of sentences with a context differ."""
    documents = [0, 0, 0, 1, 2, 2]
    states = torch.randn(2, 6, 4, generator=torch.Generator().manual_seed(2))
    whole, _ = compute_loss(states, make_positions(*documents))
    monkeypatch.setattr("contexture.objectives.quick_thoughts.gather_devices", lambda _: states[1])
    halves = [
        compute_loss(states[:, first : first + 3], make_positions(*documents) | {"first": torch.tensor(first)})[0]
        for first in (0, 3)
    ]
    assert sum(halves) / 2 == pytest.approx(whole, rel=1e-6)


def test_gradients_are_finite_and_the_loss_without_neighbours_is_zero() -> None:
    states = torch.randn(2, 3, 4, requires_grad=True)
    objective = QuickThoughts(QuickThoughtsConfig(), ENCODER)
    loss = objective(nn.Identity(), {"query": states[0], "document": states[1]}, make_positions(0, 0, 1))
    loss.value.backward()
    assert torch.isfinite(states.grad).all()
    assert states.grad.abs().sum() > 0
    assert compute_loss(states, make_positions(0, 1, 2)) == (0, 0)


def test_a_shared_network_can_play_both_roles() -> None:
    batch = contiguous(ENCODER, [5, 6], [7], [8, 9])
    vectors = ENCODER(batch["texts"], "query").detach()
    value, _ = compute_loss(torch.stack([vectors, vectors]), batch)
    assert value == pytest.approx(slow_loss(vectors, vectors, [0, 0, 0]), rel=1e-5)


def test_flops_are_those_of_this_devices_products_with_all() -> None:
    batch = contiguous(ENCODER, [5, 6], [7]) | {"positions": torch.arange(6)}
    assert QuickThoughts(QuickThoughtsConfig(), ENCODER).flops(batch) == 6 * 2 * 6 * 4


def test_accuracy_is_of_sentences_with_neighbours() -> None:
    """Four sentences, of which two are neighbours, each with the highest score for the other."""
    states = torch.stack([torch.eye(4), torch.eye(4)[[1, 0, 2, 3]]])
    assert compute_loss(states, make_positions(0, 0, 1, 2))[1] == 1

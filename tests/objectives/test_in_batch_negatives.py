"""In-batch softmax compared with slow loops. `test_devices` covers several processes."""

import math

import pytest
import torch
from torch import Tensor, nn

from contexture.objectives.in_batch_negatives import InBatchNegatives, in_batch_scores
from contexture.objectives.settings import InBatchNegativesConfig
from tests.encoders.toys import build
from tests.objectives.losses import CASES, pairs, towers


def objective(**settings: bool) -> InBatchNegatives:
    return InBatchNegatives(InBatchNegativesConfig(**settings), build("bag_of_words"))  # type: ignore[arg-type]


def slow_loss(queries: Tensor, documents: Tensor, ids: list[int], log_q: list[float]) -> float:
    """−log p of each query's document (equation 3)."""
    total = 0.0
    for i, query in enumerate(queries):
        scores = {
            j: float(query @ document) - log_q[j] for j, document in enumerate(documents) if j == i or ids[j] != ids[i]
        }
        total -= scores[i] - math.log(sum(math.exp(score) for score in scores.values()))
    return total / len(queries)


@pytest.mark.parametrize("log_q", [False, True])
def test_the_loss_is_that_of_a_slow_loop(log_q: bool) -> None:
    draw = torch.Generator().manual_seed(0)
    queries, documents = torch.randn(2, 6, 4, generator=draw)
    ids = [7, 8, 7, 9, 7, 5]
    frequency = torch.rand(6, generator=draw).log()
    batch = {"document_ids": torch.tensor(ids), "log_q": frequency}
    loss = objective(log_q=log_q)(nn.Identity(), {"query": queries, "document": documents}, batch)
    expected = slow_loss(queries, documents, ids, frequency.tolist() if log_q else [0.0] * 6)
    assert float(loss.value) == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("log_q", [False, True])
def test_hard_negatives_are_further_columns(log_q: bool) -> None:
    """A negative that is a query's document, by its id, is no negative of this query, but one of the others."""
    draw = torch.Generator().manual_seed(1)
    queries, documents = torch.randn(2, 4, 3, generator=draw)
    negatives = torch.randn(8, 3, generator=draw)
    ids, negative_ids = [7, 8, 7, 9], [20, 7, 8, 21, 22, 23, 9, 24]
    frequency = torch.rand(4, generator=draw).log() if log_q else torch.zeros(4)
    batch = {"document_ids": torch.tensor(ids), "negative_ids": torch.tensor(negative_ids), "log_q": frequency}
    states = {"query": queries, "document": documents, "negative": negatives}
    loss = objective(log_q=log_q)(nn.Identity(), states, batch)
    total = 0.0
    for i, query in enumerate(queries):
        scores = [float(query @ documents[i]) - float(frequency[i])]
        for j in range(4):
            if ids[j] != ids[i]:
                scores.append(float(query @ documents[j]) - float(frequency[j]))
        for j in range(8):
            if negative_ids[j] != ids[i]:
                scores.append(float(query @ negatives[j]))
        total -= scores[0] - math.log(sum(map(math.exp, scores)))
    assert float(loss.value) == pytest.approx(total / 4, abs=1e-5)
    assert objective().flops(batch) == 6 * 4 * (4 + 8) * 4


def test_by_hand() -> None:
    """Two queries, orthogonal documents of length 2: log(1 + e^-2) each, all correct."""
    states = {"query": torch.eye(2), "document": 2 * torch.eye(2)}
    loss = objective()(nn.Identity(), states, {"document_ids": torch.arange(2)})
    assert float(loss.value) == pytest.approx(math.log(1 + math.exp(-2)))
    assert float(loss.metrics["accuracy"]) == 1


def test_a_repeated_document_is_not_its_own_negative() -> None:
    same = torch.tensor([[1.0, 0.0], [1.0, 0.0]])
    scores, targets = in_batch_scores(same, same, torch.tensor([3, 3]))
    assert nn.functional.cross_entropy(scores, targets) == 0
    assert torch.isinf(scores).sum() == 2


def test_no_negatives_are_excluded() -> None:
    states = {"query": torch.eye(3), "document": 2 * torch.eye(3)}
    batch = {"document_ids": torch.arange(3), "no_negatives": torch.eye(3).bool()}
    batch["no_negatives"][0, 1] = True
    loss = objective()(nn.Identity(), states, batch)
    with_one, with_two = (math.log(1 + negatives * math.exp(-2)) for negatives in (1, 2))
    assert float(loss.value) == pytest.approx((with_one + 2 * with_two) / 3)


@pytest.mark.parametrize("name", ["in_batch", "in_batch, two networks", "bitext"])
@pytest.mark.parametrize("tokens_at_once", [1, 40, 90, 10_000])
def test_gradient_caching_is_exact_for_any_chunk(tokens_at_once: int, name: str) -> None:
    model = CASES[name].encoder()
    loss, expected = CASES[name].gradients(model, 10_000)
    model.recompute = True
    cached, actual = CASES[name].gradients(model, tokens_at_once)
    assert float(cached) == pytest.approx(float(loss), abs=1e-5) and expected
    # Rounding depends on the order of sums, and on the processor.
    torch.testing.assert_close(actual, expected, atol=3e-5, rtol=1e-4)


def test_gradient_caching_keeps_one_chunk_in_memory() -> None:
    """Saved tensors do not grow with the layers: only vectors outlive a chunk's forward pass."""
    sizes = {}
    for recompute in (False, True):
        model, saved = towers(recompute=recompute), 0

        def pack(tensor: Tensor) -> Tensor:
            nonlocal saved
            saved += tensor.numel()
            return tensor

        batch = pairs(model, range(8), 40)
        with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
            model(batch["query"], "query")
            model(batch["document"], "document")
        sizes[recompute] = saved
    assert sizes[True] * 20 < sizes[False]


def test_flops_are_those_of_all_products() -> None:
    batch = {"document_ids": torch.arange(7)}
    assert objective().flops(batch) == 6 * 7 * 7 * 4


def test_scores_are_not_rounded_under_autocast() -> None:
    generator = torch.Generator().manual_seed(0)
    queries, documents = 8 * torch.randn(2, 24, 16, generator=generator)
    expected, _ = in_batch_scores(queries, documents, torch.arange(24))
    with torch.autocast("cpu", torch.bfloat16):
        actual, _ = in_batch_scores(queries.bfloat16(), documents, torch.arange(24))
    assert actual.dtype == torch.float32
    torch.testing.assert_close(actual, queries.bfloat16().float() @ documents.T)
    assert len(actual[0].unique()) == 24 and expected.abs().max() > 256  # where bfloat16 has steps of 2


def test_no_negatives_are_excluded_besides_repetitions() -> None:
    """The first and the third document are equal, and the third is no negative of the second query: one is left."""
    states = {"query": torch.eye(3), "document": 2 * torch.eye(3)}
    batch = {"document_ids": torch.tensor([4, 5, 4]), "no_negatives": torch.zeros(3, 3, dtype=torch.bool)}
    batch["no_negatives"][1, 2] = True
    loss = objective()(nn.Identity(), states, batch)
    assert float(loss.value) == pytest.approx(math.log(1 + math.exp(-2)))


def test_accuracy_is_the_share_of_queries_whose_document_is_first() -> None:
    """The first document is the best of all three queries; each document is best for another query or none."""
    states = {"query": torch.tensor([[1.0, 0], [3, 1], [2, 0]]), "document": torch.tensor([[2.0, 0], [0, 0], [0, 0]])}
    loss = objective()(nn.Identity(), states, {"document_ids": torch.arange(3)})
    assert float(loss.metrics["accuracy"]) == pytest.approx(1 / 3)

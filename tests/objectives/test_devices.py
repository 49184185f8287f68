"""Two processes give the losses and gradients of the whole batch."""

import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from contexture.objectives.simcse import contrastive_loss
from tests.objectives.losses import CASES
from tests.objectives.two_ranks import VIEWS, cross_thought, cross_thought_batch

pytestmark = pytest.mark.slow  # two processes import torch

PROJECT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def ranks(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """Results of two processes."""
    folder = tmp_path_factory.mktemp("ranks")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    command = [sys.executable, "-m", "tests.objectives.two_ranks"]
    processes = [subprocess.Popen([*command, str(rank), port, str(folder)], cwd=PROJECT) for rank in range(2)]
    try:
        assert [process.wait(120) for process in processes] == [0, 0]
    finally:
        for process in processes:
            process.kill()
    return [torch.load(folder / f"{rank}.pt", weights_only=True) for rank in range(2)]


@pytest.mark.parametrize("name", CASES)
def test_loss_and_gradient_are_those_of_the_whole_batch(name: str, ranks: list[dict[str, Any]]) -> None:
    """Negatives, neighbours and other translations may be on the other rank. Losses are averaged over ranks."""
    encoder = CASES[name].encoder()
    loss, expected = CASES[name].gradients(encoder, 10_000)
    parts = [result[name] for result in ranks]
    assert float(parts[0]["loss"] + parts[1]["loss"]) / 2 == pytest.approx(loss.item(), abs=1e-5)
    torch.testing.assert_close(parts[0]["gradient"], expected, atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(parts[1]["gradient"], parts[0]["gradient"], atol=0, rtol=0)


def test_cross_thought_means_over_the_masked_tokens_of_the_whole_batch(ranks: list[dict[str, Any]]) -> None:
    """The ranks have different numbers of masked tokens."""
    encoder, objective = cross_thought()
    batch = cross_thought_batch(encoder, objective, 0, 1)
    whole = objective(encoder, encoder.sequence_states(batch["sequences"]["chunks"]), batch).value
    assert float(sum(result["cross_thought"] for result in ranks)) / 2 == pytest.approx(whole.item(), abs=1e-5)


def test_other_views_are_those_of_the_whole_batch(ranks: list[dict[str, Any]]) -> None:
    views = VIEWS.clone().requires_grad_()
    whole = contrastive_loss(views[0], views[1], 0.1)
    whole.value.backward()
    parts = [gradient["views"] for gradient in ranks]
    assert float(sum(part["loss"] for part in parts)) / 2 == pytest.approx(whole.value.item(), abs=1e-5)
    assert float(sum(part["accuracy"] for part in parts)) / 2 == pytest.approx(float(whole.metrics["accuracy"]))
    gradient = torch.cat([part["gradient"] for part in parts], dim=1) / 2
    torch.testing.assert_close(gradient, views.grad, atol=1e-5, rtol=1e-4)


def test_values_are_gathered_by_rank(ranks: list[dict[str, Any]]) -> None:
    for rank, result in enumerate(ranks):
        assert result["several"] and result["first_row"] == 5 * rank
        assert result["gathered"].tolist() == [[1, 2], [3, 4], [11, 12], [13, 14]]
        assert result["numbers"].tolist() == [0, 7, 1, 7]
        assert result["turned"].tolist() == [[0, 3], [1, 4], [2, 5], [10, 13], [11, 14], [12, 15]]
        # Both ranks read this one's values: the first once, the second twice as strongly.
        assert result["gathered_gradient"].tolist() == (3 * torch.arange(8.0).view(4, 2)[2 * rank :][:2]).tolist()

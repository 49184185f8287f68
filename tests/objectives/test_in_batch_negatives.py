"""The softmax over the documents of a batch, against slow loops and over several processes."""

import math
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from torch import Tensor, distributed, nn

from contexture.encoders.config import EncoderConfig, PairLayoutConfig, TransformerTowers
from contexture.encoders.layout import Sentences, Specials, select
from contexture.encoders.towers import TwoTowers, build_towers
from contexture.objectives.config import InBatchNegativesConfig
from contexture.objectives.in_batch_negatives import InBatchNegatives, in_batch_scores
from contexture.systems.two_tower.batches import pair_batch
from contexture.vocabulary.tokenizers import SpecialTokens

TOKENS = SpecialTokens(cls=1, sep=2, pad=0, mask=3, unk=4, vocab_size=50)
LAYOUT = PairLayoutConfig(query_tokens=12, document_tokens=24)


def loop(queries: Tensor, documents: Tensor, ids: list[int], log_q: list[float]) -> float:
    """−log p of each query's document, the plain way (equation 3)."""
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
    objective = InBatchNegatives(InBatchNegativesConfig(log_q=log_q))
    batch = {"document_ids": torch.tensor(ids), "log_q": frequency}
    loss = objective(nn.Identity(), torch.stack([queries, documents]), batch)
    expected = loop(queries, documents, ids, frequency.tolist() if log_q else [0.0] * 6)
    assert float(loss.value) == pytest.approx(expected, abs=1e-5)


def test_by_hand() -> None:
    """Two queries, orthogonal documents of length 2: log(1 + e^-2) each, all right."""
    queries = torch.eye(2)
    states = torch.stack([queries, 2 * torch.eye(2)])
    loss = InBatchNegatives(InBatchNegativesConfig())(nn.Identity(), states, {"document_ids": torch.arange(2)})
    assert float(loss.value) == pytest.approx(math.log(1 + math.exp(-2)))
    assert float(loss.metrics["accuracy"]) == 1


def test_a_document_that_comes_twice_is_no_negative_of_itself() -> None:
    same = torch.tensor([[1.0, 0.0], [1.0, 0.0]])
    scores, targets = in_batch_scores(same, same, torch.tensor([3, 3]))
    assert nn.functional.cross_entropy(scores, targets) == 0
    assert torch.isinf(scores).sum() == 2


def towers(shared: bool) -> TwoTowers:
    torch.manual_seed(0)
    encoder = EncoderConfig(hidden_size=16, layers=2, heads=2, intermediate_size=32, dropout=0.0)
    return build_towers(TransformerTowers(encoder, embedding_size=8, shared=shared), LAYOUT, TOKENS)


def texts(rows: int, parts: int, longest: int, seed: int) -> Sentences:
    draw = torch.Generator().manual_seed(seed)
    lengths = torch.randint(1, longest, (rows, parts), generator=draw).numpy()
    return Sentences(torch.randint(5, 50, (int(lengths.sum()),), generator=draw).numpy(), lengths)


def batch_of(rows: range, tokens_at_once: int) -> dict[str, object]:
    """Some of eight pairs; queries are short, documents long and of very different lengths, two are the same."""
    specials = Specials(cls=1, sep=2, pad=0)
    chosen = torch.tensor(list(rows)).numpy()
    queries, documents = select(texts(8, 1, 10, 1), chosen), select(texts(8, 2, 20, 2), chosen)
    ids = torch.tensor([0, 1, 2, 3, 4, 1, 6, 7])[torch.from_numpy(chosen)]
    return pair_batch(queries, documents, specials, LAYOUT, tokens_at_once) | {"document_ids": ids}


def gradients(model: TwoTowers, tokens_at_once: int, rows: range = range(8)) -> tuple[float, dict[str, Tensor]]:
    batch = batch_of(rows, tokens_at_once)
    model.zero_grad()
    loss = InBatchNegatives(InBatchNegativesConfig())(model, model(batch), batch).value
    loss.backward()
    return float(loss.detach()), {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("tokens_at_once", [1, 40, 90, 10_000])
def test_gradient_caching_is_exact_for_any_chunk(tokens_at_once: int, shared: bool) -> None:
    model = towers(shared)
    loss, expected = gradients(model, 10_000)
    model.recompute = True
    cached, found = gradients(model, tokens_at_once)
    assert cached == pytest.approx(loss, abs=1e-5)
    assert found.keys() == expected.keys()
    for name in expected:
        torch.testing.assert_close(found[name], expected[name], atol=1e-5, rtol=1e-4)


def test_gradient_caching_keeps_one_chunk_in_memory() -> None:
    """No activation of a chunk outlives its forward pass but the vectors: saved tensors do not grow with the layers."""
    sizes = {}
    for recompute in (False, True):
        model = towers(True)
        model.recompute = recompute
        saved = 0

        def pack(tensor: Tensor) -> Tensor:
            nonlocal saved
            saved += tensor.numel()
            return tensor

        with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
            model(batch_of(range(8), 40))
        sizes[recompute] = saved
    assert sizes[True] * 20 < sizes[False]


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def one_rank(rank: int, port: int, folder: Path, recompute: bool) -> None:
    torch.set_num_threads(1)
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    distributed.init_process_group("gloo", rank=rank, world_size=2)
    model = towers(True)
    model.recompute = recompute
    parallel = nn.parallel.DistributedDataParallel(model)
    batch = batch_of(range(rank * 4, rank * 4 + 4), 40)
    loss = InBatchNegatives(InBatchNegativesConfig())(model, parallel(batch), batch).value
    loss.backward()
    gradient = {name: p.grad for name, p in model.named_parameters() if p.grad is not None}
    torch.save({"loss": loss.detach(), "gradient": gradient}, folder / f"{rank}.new")
    (folder / f"{rank}.new").rename(folder / f"{rank}.pt")
    while not (folder / f"{1 - rank}.pt").exists():  # who leaves early closes connections that the other still reads
        time.sleep(0.1)
    os._exit(0)  # gloo's threads now and then hang in the interpreter's exit


@pytest.mark.parametrize("recompute", [pytest.param(False, marks=pytest.mark.slow), True])
def test_two_processes_give_the_loss_and_gradient_of_the_whole_batch(recompute: bool, tmp_path: Path) -> None:
    port = free_port()
    commands = [[sys.executable, __file__, str(rank), str(port), str(tmp_path), str(recompute)] for rank in range(2)]
    ranks = [subprocess.Popen(command) for command in commands]
    assert [process.wait(120) for process in ranks] == [0, 0]
    first, second = (torch.load(tmp_path / f"{rank}.pt", weights_only=True) for rank in range(2))
    loss, expected = gradients(towers(True), 10_000)
    assert float(first["loss"] + second["loss"]) / 2 == pytest.approx(loss, abs=1e-5)
    for name in expected:
        torch.testing.assert_close(first["gradient"][name], expected[name], atol=1e-5, rtol=1e-4)
        torch.testing.assert_close(second["gradient"][name], first["gradient"][name], atol=0, rtol=0)


if __name__ == "__main__":
    one_rank(int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]), sys.argv[4] == "True")

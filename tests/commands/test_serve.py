"""`contexture serve`: results of concurrent requests, and errors."""

import asyncio
import json
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.error import HTTPError

import numpy as np
import pyarrow.parquet as pq
import pytest
import uvicorn

from contexture.commands.main import main
from contexture.encoders.models import load_model
from contexture.retrieval.passage_search import ENCODER_DIR, PassageSearch, build_passage_index
from contexture.retrieval.server import MAX_BATCH, Batches, create_app
from tests.factories import free_port
from tests.tasks.retrieval.test_passage_search import PASSAGES, toy_encoder, toy_index

QUESTIONS = [" ".join(words) for words in zip(" ".join(PASSAGES.values()).split(), [*PASSAGES] * 9, strict=False)]


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return toy_index(tmp_path_factory.mktemp("serve"))


@contextmanager
def run_server(index: Path) -> Iterator[str]:
    """Serve an index inside the block; yield its address."""
    port = free_port()
    app = create_app(PassageSearch(index))
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=port, log_level="warning"))
    thread = Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.05)
    yield f"http://127.0.0.1:{port}"
    server.should_exit = True
    thread.join()


@pytest.fixture(scope="module")
def address(index: Path) -> Iterator[str]:
    with run_server(index) as url:
        yield url


def post(url: str, content: dict[str, Any], **headers: str) -> Any:
    request = urllib.request.Request(url, json.dumps(content).encode(), {"Content-Type": "application/json"} | headers)
    with urllib.request.urlopen(request, timeout=30) as response:
        return json.load(response)


def test_concurrent_searches_equal_single_ones(address: str, index: Path) -> None:
    search = PassageSearch(index)
    requests = [(question, 1 + number % 4) for number, question in enumerate(QUESTIONS * 5)]
    with ThreadPoolExecutor(50) as clients:
        answers = list(
            clients.map(lambda request: post(f"{address}/search", {"question": request[0], "k": request[1]}), requests)
        )
    for (question, k), answer in zip(requests, answers, strict=True):
        hits = [asdict(hit) for hit in search(question, k)]
        assert answer["question"] == question and answer["by"] == "hybrid"
        assert [hit.pop("score") for hit in answer["hits"]] == pytest.approx([hit.pop("score") for hit in hits])
        assert answer["hits"] == hits


def test_embed_equals_the_encoder(address: str, index: Path) -> None:
    for role in ("query", "document"):
        answer = post(f"{address}/embed", {"texts": QUESTIONS, "role": role})
        expected = load_model(index / ENCODER_DIR).embed(QUESTIONS, role)
        np.testing.assert_allclose(answer["vectors"], expected, rtol=1e-5)


@pytest.mark.parametrize(
    ("path", "content"),
    [
        ("search", {"question": " "}),
        ("search", {"question": "\x1c"}),
        ("search", {"question": "\ud800"}),
        ("search", {"question": "gulls", "k": 0}),
        ("search", {"question": "gulls", "k": float("nan")}),
        ("search", {"question": "gulls", "k": float("inf")}),
        ("search", {}),
        ("embed", {"texts": []}),
        ("embed", {"texts": ["gulls", ""]}),
        ("embed", {"texts": ["gulls", "\ud800"]}),
        ("embed", {"texts": ["gulls"], "role": "other"}),
    ],
)
def test_bad_requests_are_rejected(address: str, path: str, content: dict[str, Any]) -> None:
    with pytest.raises(HTTPError) as caught:
        post(f"{address}/{path}", content)
    assert caught.value.code == 422 and json.load(caught.value)["detail"][0]["msg"]


def test_a_rebuilt_index_is_not_mixed_with_the_open_one(tmp_path: Path) -> None:
    index = toy_index(tmp_path)
    expected = [asdict(hit) for hit in PassageSearch(index)("gulls wait")]
    passages = tmp_path / "passages" / "part-0.parquet"
    with run_server(index) as address:
        pq.write_table(pq.read_table(passages)[::-1], passages)
        build_passage_index(tmp_path / "passages", toy_encoder(tmp_path / "other", scale=3.0), index)
        assert post(f"{address}/search", {"question": "gulls wait"})["hits"] == expected
        with pytest.raises(HTTPError) as caught:  # the encoder is loaded when the first texts are embedded
            post(f"{address}/embed", {"texts": ["gulls"]})
    assert caught.value.code == 503
    assert json.load(caught.value)["detail"] == f"{index} was replaced after it was opened: start the command again"


def test_other_host_names_are_rejected(address: str) -> None:
    with pytest.raises(HTTPError) as caught:
        post(f"{address}/search", {"question": "gulls"}, Host="evil.test")
    assert caught.value.code == 400


def test_requests_that_wait_are_computed_together() -> None:
    sizes: list[int] = []

    def double(items: Sequence[int]) -> list[int]:
        sizes.append(len(items))
        if 13 in items:
            raise ValueError("thirteen")
        time.sleep(0.05)
        return [2 * item for item in items]

    async def run() -> None:
        batches = Batches(double)
        task = asyncio.create_task(batches.run())
        numbers = range(100, 100 + MAX_BATCH + 20)
        first = asyncio.create_task(batches.get(1))
        await asyncio.sleep(0.02)
        assert await asyncio.gather(*map(batches.get, numbers)) == [2 * number for number in numbers]
        assert await first == 2
        with pytest.raises(ValueError, match="thirteen"):
            await batches.get(13)
        assert await batches.get(5) == 10  # an error does not end the loop
        results = await asyncio.gather(*map(batches.get, (1, 13, 2)), return_exceptions=True)
        assert results[::2] == [2, 4] and isinstance(results[1], ValueError)  # nor does it reach other requests
        task.cancel()

    asyncio.run(run())
    assert sizes == [1, MAX_BATCH, 20, 1, 1, 3, 1, 1, 1]


@pytest.mark.parametrize("port", ["0", "99999"])
def test_ports_that_do_not_exist_are_rejected(port: str, index: Path) -> None:
    with pytest.raises(SystemExit, match=rf"^contexture serve: --port {port}: use a number from 1 to 65535"):
        main(["serve", "--index", str(index), "--port", port])


def test_the_command_serves_on_loopback(index: Path) -> None:
    port = free_port()
    command = [sys.executable, "-m", "contexture", "serve", "--index", str(index), "--port", str(port), "--by", "bm25"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        assert f"http://127.0.0.1:{port}/docs" in server.stdout.readline()
        for _ in range(100):
            try:
                answer = post(f"http://127.0.0.1:{port}/search", {"question": "brass lamps"})
                break
            except OSError:
                time.sleep(0.1)
        server.terminate()
    assert answer["by"] == "bm25" and answer["hits"][0]["title"] == "Lamps"


@pytest.mark.slow
def test_fifty_clients_for_a_minute(address: str) -> None:
    """Each request is answered; the latencies are printed."""
    end = time.monotonic() + 60

    def ask(client: int) -> list[float]:
        seconds = []
        while time.monotonic() < end:
            question = QUESTIONS[(client + len(seconds)) % len(QUESTIONS)]
            start = time.monotonic()
            assert post(f"{address}/search", {"question": question})["question"] == question
            seconds.append(time.monotonic() - start)
        return seconds

    with ThreadPoolExecutor(50) as clients:
        seconds = np.concatenate(list(clients.map(ask, range(50))))
    print(f"{len(seconds):,} requests; median {np.median(seconds):.3f} s, p95 {np.quantile(seconds, 0.95):.3f} s")
    assert len(seconds) > 50

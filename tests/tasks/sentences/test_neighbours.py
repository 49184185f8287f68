from collections.abc import Iterator, Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from contexture.tasks.sentences import neighbours
from contexture.tasks.sentences.neighbours import Block, embed_blocks, nearest_neighbours

Floats = NDArray[np.float32]
QUERY = np.array([[1, 0]], np.float32)


def blocks(texts: list[str], vectors: Floats, size: int) -> Iterator[Block]:
    for start in range(0, len(texts), size):
        yield texts[start : start + size], vectors[start : start + size]


@pytest.mark.parametrize("size", [1, 3, 50, 1000])
def test_equals_brute_force_for_any_block_size(size: int) -> None:
    pool, queries = (np.random.default_rng(n).normal(size=(n, 12)).astype(np.float32) for n in (301, 9))
    texts, names = [f"sentence {n}" for n in range(301)], [f"query {n}" for n in range(9)]
    table = nearest_neighbours(names, queries, blocks(texts, pool, size), k=7)
    lengths = np.linalg.norm(queries, axis=1)[:, None] * np.linalg.norm(pool, axis=1)
    cosines = queries.astype(np.float64) @ pool.T / lengths
    order = np.argsort(-cosines, axis=1)[:, :7]
    assert table["query"].tolist() == np.repeat(names, 7).tolist()
    assert table["neighbour"].tolist() == [texts[n] for n in order.ravel()]
    assert table["cosine"].to_numpy() == pytest.approx(np.take_along_axis(cosines, order, axis=1).ravel(), abs=1e-5)


@pytest.mark.parametrize("size", [1, 2, 100])
def test_queries_and_repetitions_are_not_neighbours(size: int) -> None:
    texts = ["The cat sat.", "A cat  sat.", "The  cat sat. ", "A cat sat.", "Snow fell.", "the cat sat."]
    vectors = np.array([[1, 0], [0.9, 0.1], [1, 0], [0.9, 0.1], [0, 1], [0.5, 0.5]], np.float32)
    table = nearest_neighbours(["The cat sat.", "Snow fell."], vectors[[0, 4]], blocks(texts, vectors, size), k=3)
    assert table["neighbour"].tolist() == [
        *("A cat  sat.", "the cat sat.", "Snow fell."),
        *("the cat sat.", "A cat  sat.", "The cat sat."),
    ]


@pytest.mark.parametrize("size", [2, 5, 40])
def test_ties_are_broken_by_the_order_of_the_pool(size: int) -> None:
    pool = np.tile(np.array([[0, 2], [2, 0]], np.float32), (20, 1)) * np.repeat([[1], [2]], 20, axis=0)
    table = nearest_neighbours(["q"], QUERY, blocks([str(n) for n in range(40)], pool, size), 4)
    assert table["neighbour"].tolist() == ["1", "3", "5", "7"]


def test_a_vector_of_zeros_has_cosine_zero() -> None:
    pool = np.array([[0, 0], [-1, 0]], np.float32)
    table = nearest_neighbours(["q"], QUERY, [(["nothing", "opposite"], pool)], k=5)
    assert table.to_numpy().tolist() == [["q", "nothing", 0.0], ["q", "opposite", -1.0]]
    assert nearest_neighbours(["q"], QUERY, []).empty


def test_a_pool_is_embedded_a_block_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(neighbours, "BLOCK_SENTENCES", 4)
    sizes: list[int] = []

    def lookup(texts: Sequence[str]) -> Floats:
        sizes.append(len(texts))
        return np.array([[len(text), 1] for text in texts], np.float32)

    sentences = ("x" * n for n in range(1, 11))
    table = nearest_neighbours(["q"], np.array([[3, 1]], np.float32), embed_blocks(sentences, lookup), k=1)
    assert sizes == [4, 4, 2]
    assert table["neighbour"].tolist() == ["xxx"]

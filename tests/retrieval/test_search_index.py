import json
from collections.abc import Callable
from pathlib import Path

import faiss
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from contexture.retrieval import search_index
from contexture.retrieval import vectors as vectors_module
from contexture.retrieval.config import IndexConfig
from contexture.retrieval.search_index import compare_indexes, open_index, search_exact
from contexture.retrieval.vectors import Vectors, search_numpy, write_vectors

Floats = NDArray[np.float32]
Search = Callable[[Vectors, Floats, int], tuple[Floats, NDArray[np.int64]]]
IVF, HNSW = IndexConfig(kind="ivf", probes=2), IndexConfig(kind="hnsw", breadth=20)


def write(folder: Path, rows: Floats, per_shard: int = 1000) -> Vectors:
    return write_vectors(
        folder, len(rows), rows.shape[1], lambda r: rows[r.start : r.stop], {"encoder": "a"}, rows_per_shard=per_shard
    )


def brute_force(rows: Floats, queries: Floats, k: int) -> NDArray[np.int64]:
    scores = queries.astype(np.float64) @ rows.astype(np.float64).T
    order: NDArray[np.int64] = np.lexsort((np.broadcast_to(np.arange(len(rows)), scores.shape), -scores), axis=1)
    return order[:, :k]


def random_rows(rows: int, dimension: int, seed: int = 0) -> Floats:
    return np.random.default_rng(seed).normal(size=(rows, dimension)).astype(np.float32)


def set_block(patch: pytest.MonkeyPatch, size: int) -> None:
    for module in (vectors_module, search_index):
        patch.setattr(module, "BLOCK_ROWS", size)


@pytest.mark.parametrize("search", [search_exact, search_numpy])
@pytest.mark.parametrize(("per_shard", "block"), [(13, 7), (400, 100), (1000, 32_768)])
def test_equals_brute_force_for_any_shards_and_blocks(
    tmp_path: Path, per_shard: int, block: int, search: Search, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_block(monkeypatch, block)
    rows, queries = random_rows(201, 96), random_rows(20, 96, seed=1)
    vectors = write(tmp_path / "v", rows, per_shard)
    scores, results = search(vectors, queries, 50)
    assert np.array_equal(results, brute_force(rows, queries, 50))
    assert scores == pytest.approx(np.take_along_axis(queries @ rows.T, results, axis=1), abs=1e-4)
    assert search(vectors, queries, 500)[1].shape == (20, 201)
    assert search_exact(vectors, queries[:0], 100)[1].shape == (0, 100)
    same = write(tmp_path / "same", np.tile(rows[:1], (900, 1)), per_shard)
    scores, results = search(same, queries, 100)
    assert np.array_equal(results, np.tile(np.arange(100), (20, 1)))
    assert (scores == scores[:, :1]).all()


@settings(max_examples=40, deadline=None)  # the cores may be shared
@given(st.integers(1, 120), st.integers(1, 130), st.integers(1, 90), st.integers(0, 2**32 - 1))
def test_ties_are_ordered_by_row(
    tmp_path_factory: pytest.TempPathFactory, rows: int, k: int, block: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    candidates = rng.integers(-1, 2, (rows, 3)).astype(np.float32)  # integers: all sums are exact
    queries = rng.integers(-1, 2, (4, 3)).astype(np.float32)
    with pytest.MonkeyPatch.context() as patch:
        set_block(patch, block)
        vectors = write(tmp_path_factory.mktemp("ties") / "v", candidates, 17)
        for search in (search_exact, search_numpy):
            assert np.array_equal(search(vectors, queries, k)[1], brute_force(candidates, queries, k))


def test_a_score_depends_on_its_two_vectors_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows, queries = random_rows(300, 100), random_rows(12, 100, seed=1)
    expected = search_exact(write(tmp_path / "v", rows), queries, 20)
    set_block(monkeypatch, 37)
    monkeypatch.setattr(vectors_module, "_MAX_GATHERED_NUMBERS", 500)
    vectors = write(tmp_path / "w", rows, 41)
    for query in range(len(queries)):
        for search in (search_exact, search_numpy):
            scores, results = search(vectors, queries[query : query + 1], 20)
            assert np.array_equal(scores[0], expected[0][query])
            assert np.array_equal(results[0], expected[1][query])


def test_near_ties_do_not_depend_on_rounding(tmp_path: Path) -> None:
    direction = random_rows(1, 200)
    rows = direction + 1e-6 * random_rows(500, 200, seed=1)
    vectors = write(tmp_path / "v", rows.astype(np.float32))
    queries = direction + 0.1 * random_rows(50, 200, seed=2)
    best_five, all_results = (search_exact(vectors, queries, k) for k in (5, 500))
    for part, whole in zip(best_five, all_results, strict=True):
        assert np.array_equal(part, whole[:, :5])


def test_no_more_than_a_block_is_read_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_index, "BLOCK_ROWS", 50)
    read: list[int] = []
    whole = Vectors.__getitem__
    monkeypatch.setattr(
        Vectors, "__getitem__", lambda self, rows: read.append(rows.stop - rows.start) or whole(self, rows)
    )
    search_exact(write(tmp_path / "v", random_rows(500, 8), 30), random_rows(3, 8), 10)
    assert (max(read), sum(read)) == (50, 500)


@pytest.mark.parametrize("config", [IndexConfig(), HNSW])
@pytest.mark.parametrize(
    ("queries", "k", "message"),
    [
        (random_rows(2, 5), 3, r"\(2, 5\) cannot be compared with .*v, whose vectors have 4 numbers"),
        (np.full((1, 4), np.nan), 3, "not finite"),
        (random_rows(2, 4), 0, "the 0 best"),
    ],
)
def test_invalid_queries_raise(tmp_path: Path, config: IndexConfig, queries: Floats, k: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        open_index(write(tmp_path / "v", random_rows(30, 4)), config).search(queries, k)


@pytest.mark.parametrize("config", [IVF, HNSW])
def test_approximate_results_are_true_scores_in_order(tmp_path: Path, config: IndexConfig) -> None:
    rows, queries = random_rows(600, 16), random_rows(20, 16, seed=1)
    scores, results = open_index(write(tmp_path / "v", rows, 77), config).search(queries, 10)
    is_row = results >= 0
    assert is_row[:, 0].all()
    assert (np.isneginf(scores) == ~is_row).all()
    assert (np.diff(scores, axis=1)[is_row[:, 1:]] <= 0).all()
    exact = np.take_along_axis(queries @ rows.T, np.maximum(results, 0), axis=1)
    assert scores[is_row] == pytest.approx(exact[is_row], abs=1e-4)
    assert all(len(set(line[line >= 0])) == (line >= 0).sum() for line in results)


def test_an_index_that_searches_everything_is_exact(tmp_path: Path) -> None:
    rows, queries = random_rows(300, 8), random_rows(20, 8, seed=1)
    vectors, threads = write(tmp_path / "v", rows), faiss.omp_get_max_threads()
    for config in (IndexConfig(kind="ivf", probes=7), IndexConfig(kind="hnsw", breadth=300)):
        assert np.array_equal(open_index(vectors, config).search(queries, 10)[1], brute_force(rows, queries, 10))
    assert faiss.omp_get_max_threads() == threads
    scores, results = open_index(vectors, IndexConfig(kind="ivf", probes=1)).search(queries, 300)
    assert results.shape == (20, 300) and (results[:, -1] == -1).all() and np.isneginf(scores[:, -1]).all()


@pytest.mark.parametrize("config", [IVF, HNSW])
def test_an_index_is_rebuilt_only_if_necessary(
    tmp_path: Path, config: IndexConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    built: list[str] = []
    build = search_index._build_index

    def counted(vectors: Vectors, kind: str, work: Path) -> None:
        built.append(kind)
        build(vectors, kind, work)

    monkeypatch.setattr(search_index, "_build_index", counted)
    rows, queries = random_rows(500, 12), random_rows(5, 12, seed=1)
    vectors, cache = write(tmp_path / "v", rows), tmp_path / f"v.{config.kind}"
    expected = open_index(vectors, config).search(queries, 5)[1]
    files = {file: file.read_bytes() for file in cache.iterdir()}
    names = {"index.faiss", "index.json"} | ({"sizes.npy", "lists.bin"} if config.kind == "ivf" else set())
    assert {file.name for file in files} == names

    def check(count: int) -> None:
        assert np.array_equal(open_index(vectors, config).search(queries, 5)[1], expected)
        assert len(built) == count
        assert {file: file.read_bytes() for file in cache.iterdir()} == files  # the same vectors give the same index

    check(1)
    count = 1
    for file, content in files.items():
        damages: list[bytes | None] = [None, content[:-9], content[:50] + bytes([content[50] ^ 255]) + content[51:]]
        if file.name == "index.json":
            damages.append(json.dumps({**json.loads(content), "faiss": "0.1"}).encode())
        for damaged in damages:
            file.unlink()
            if damaged is not None:
                file.write_bytes(damaged)
            count += 1
            check(count)
    searched = IndexConfig(kind=config.kind, probes=5, breadth=99)  # search parameters do not need a new index
    index = open_index(vectors, searched).index
    assert (index.nprobe if config.kind == "ivf" else index.hnsw.efSearch) == (5 if config.kind == "ivf" else 99)
    assert len(built) == count
    other = write_vectors(tmp_path / "v", 500, 12, lambda r: -rows[r.start : r.stop], {"encoder": "b"})
    assert (open_index(other, config).search(-queries, 5)[1][:, 0] >= 0).all()
    assert len(built) == count + 1


def test_comparison_of_indexes(tmp_path: Path) -> None:
    rows, queries = random_rows(500, 8), random_rows(40, 8, seed=1)
    vectors = write(tmp_path / "v", rows)
    table = compare_indexes(vectors, queries, 10, [IVF, HNSW, IndexConfig(kind="ivf", probes=12)])
    assert table["kind"].tolist() == ["flat", "ivf", "hnsw", "ivf"]
    truth, results = brute_force(rows, queries, 10), open_index(vectors, IVF).search(queries, 10)[1]
    shared = [len(set(a) & set(b)) / 10 for a, b in zip(truth.tolist(), results.tolist(), strict=True)]
    recall = table["recall_against_exact"]
    assert recall.tolist() == [1, pytest.approx(np.mean(shared)), recall[2], 1]
    assert 0 < recall[1] < 1
    assert (table["queries_per_second"] > 0).all()


def test_few_candidates_have_few_lists(tmp_path: Path) -> None:
    for rows in (1, 38, 39, 80):
        index = open_index(write(tmp_path / str(rows), random_rows(rows, 4)), IndexConfig(kind="ivf"))
        assert index.index.nlist == max(1, rows // 39)
        assert index.search(random_rows(1, 4), 1)[1].shape == (1, 1)


@pytest.mark.parametrize(("block", "vectors_per_batch"), [(7, 1), (50, 300), (1000, 5000)])
def test_lists_do_not_depend_on_the_batch_size(
    tmp_path: Path, block: int, vectors_per_batch: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They equal those of an index in memory to which all vectors are added at once."""
    rows, queries = random_rows(900, 12), random_rows(20, 12, seed=1)
    vectors = write(tmp_path / "v", rows, 110)
    monkeypatch.setattr(search_index, "BLOCK_ROWS", block)
    monkeypatch.setattr(search_index, "_VECTORS_PER_BATCH", vectors_per_batch)
    mapped, whole = open_index(vectors, IVF).index, search_index._train_lists(vectors)
    whole.add(rows)

    def members(lists: faiss.InvertedLists, number: int) -> list[list[int]]:
        size = lists.list_size(number)
        return [
            faiss.rev_swig_ptr(lists.get_ids(number), size).tolist(),
            faiss.rev_swig_ptr(lists.get_codes(number), 48 * size).tolist(),
        ]

    for number in range(900 // 39):
        assert members(mapped.invlists, number) == members(whole.invlists, number)
    whole.nprobe = IVF.probes
    assert np.array_equal(mapped.search(queries, 9)[1], whole.search(queries, 9)[1])


def test_centroids_of_many_vectors_come_from_a_sample(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[NDArray[np.int64]] = []
    whole = Vectors.take
    monkeypatch.setattr(Vectors, "take", lambda self, rows: read.append(rows) or whole(self, rows))
    vectors = write(tmp_path / "v", random_rows(400, 4))
    for per_list, lists in ((2, 80), (39, 10)):
        monkeypatch.setattr(search_index, "_VECTORS_PER_LIST", per_list)
        assert search_index._train_lists(vectors).nlist == lists
    sample, all_rows = read
    assert len(sample) == len(set(sample.tolist())) == 160 and all_rows.tolist() == list(range(400))
    assert (np.diff(sample) > 0).all() and len(set(np.diff(sample).tolist())) > 2  # random, not equidistant


@pytest.mark.parametrize("config", [IVF, HNSW])
def test_an_interrupted_build_leaves_no_index(
    tmp_path: Path, config: IndexConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    vectors = write(tmp_path / "v", random_rows(500, 12))

    def die(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(faiss, "write_index", die)  # the last step
        with pytest.raises(KeyboardInterrupt):
            open_index(vectors, config)
    assert (tmp_path / f"v.{config.kind}.unfinished" / "lists.bin").exists() == (config.kind == "ivf")
    assert not (tmp_path / f"v.{config.kind}").exists()
    open_index(vectors, config)
    assert not list(tmp_path.glob("*.unfinished"))

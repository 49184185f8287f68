import json
from collections.abc import Callable
from pathlib import Path

import faiss
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from contexture.retrieval import exact_search, search_index
from contexture.retrieval.config import IndexConfig
from contexture.retrieval.exact_search import search_every
from contexture.retrieval.search_index import ApproximateIndex, compare_indexes, open_index, search_exact
from contexture.retrieval.vectors import Vectors, write_vectors

Floats = NDArray[np.float32]
Search = Callable[[Vectors, Floats, int], tuple[Floats, NDArray[np.int64]]]
IVF = IndexConfig(kind="ivf", lists=8, probes=2)
HNSW = IndexConfig(kind="hnsw", neighbours=8, breadth=20)


def stored(folder: Path, rows: Floats, per_shard: int = 1000) -> Vectors:
    return write_vectors(
        folder, len(rows), rows.shape[1], lambda r: rows[r.start : r.stop], {"encoder": "a"}, rows_per_shard=per_shard
    )


def brute_force(rows: Floats, queries: Floats, k: int) -> NDArray[np.int64]:
    scores = queries.astype(np.float64) @ rows.astype(np.float64).T
    order: NDArray[np.int64] = np.lexsort((np.broadcast_to(np.arange(len(rows)), scores.shape), -scores), axis=1)
    return order[:, :k]


def random_rows(rows: int, dimension: int, seed: int = 0) -> Floats:
    return np.random.default_rng(seed).normal(size=(rows, dimension)).astype(np.float32)


@pytest.mark.parametrize("search", [search_exact, search_every])
@pytest.mark.parametrize(("per_shard", "block"), [(13, 7), (400, 100), (1000, 32_768)])
def test_equals_brute_force_whatever_the_shards_and_blocks(
    tmp_path: Path, per_shard: int, block: int, search: Search, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (exact_search, search_index):
        monkeypatch.setattr(module, "BLOCK", block)
    rows, queries = random_rows(401, 24), random_rows(30, 24, seed=1)
    vectors = stored(tmp_path / "v", rows, per_shard)
    scores, found = search(vectors, queries, 50)
    assert np.array_equal(found, brute_force(rows, queries, 50))
    assert scores == pytest.approx(np.take_along_axis(queries @ rows.T, found, axis=1), abs=1e-4)
    assert search(vectors, queries, 500)[1].shape == (30, 401)
    assert search_exact(vectors, queries[:0], 100)[1].shape == (0, 100)


@settings(max_examples=40, deadline=None)  # the cores may be shared
@given(st.integers(1, 120), st.integers(1, 130), st.integers(1, 90), st.integers(0, 2**32 - 1))
def test_ties_are_in_the_order_of_their_rows(
    tmp_path_factory: pytest.TempPathFactory, rows: int, k: int, block: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    candidates = rng.integers(-1, 2, (rows, 3)).astype(np.float32)  # whole numbers: every sum is exact
    queries = rng.integers(-1, 2, (4, 3)).astype(np.float32)
    with pytest.MonkeyPatch.context() as patch:
        for module in (exact_search, search_index):
            patch.setattr(module, "BLOCK", block)
        vectors = stored(tmp_path_factory.mktemp("ties") / "v", candidates, 17)
        for search in (search_exact, search_every):
            assert np.array_equal(search(vectors, queries, k)[1], brute_force(candidates, queries, k))


@pytest.mark.parametrize("search", [search_exact, search_every])
@pytest.mark.parametrize("block", [64, 1000, 32_768])
def test_an_encoder_that_says_the_same_of_all_finds_the_first_rows(
    tmp_path: Path, block: int, search: Search, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (exact_search, search_index):
        monkeypatch.setattr(module, "BLOCK", block)
    rows, queries = np.tile(random_rows(1, 96), (3000, 1)), random_rows(40, 96, seed=1)
    scores, found = search(stored(tmp_path / "v", rows), queries, 100)
    assert np.array_equal(found, np.tile(np.arange(100), (40, 1)))
    assert (scores == scores[:, :1]).all()


def test_a_score_depends_on_its_two_vectors_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows, queries = random_rows(700, 100), random_rows(33, 100, seed=1)
    expected = search_exact(stored(tmp_path / "v", rows), queries, 20)
    for module in (exact_search, search_index):
        monkeypatch.setattr(module, "BLOCK", 37)
    monkeypatch.setattr(exact_search, "_GATHERED", 500)
    vectors = stored(tmp_path / "w", rows, 41)
    for query in range(len(queries)):
        for search in (search_exact, search_every):
            scores, found = search(vectors, queries[query : query + 1], 20)
            assert np.array_equal(scores[0], expected[0][query])
            assert np.array_equal(found[0], expected[1][query])


def test_near_ties_are_decided_by_our_scores_not_by_the_rounding_of_a_matrix_product(tmp_path: Path) -> None:
    direction = random_rows(1, 200)
    rows = direction + 1e-6 * random_rows(500, 200, seed=1)
    vectors = stored(tmp_path / "v", rows.astype(np.float32))
    queries = direction + 0.1 * random_rows(50, 200, seed=2)
    scores, found = search_exact(vectors, queries, 5)
    all_scores, all_found = search_exact(vectors, queries, 500)
    assert np.array_equal(scores, all_scores[:, :5])
    assert np.array_equal(found, all_found[:, :5])


def test_no_more_than_a_block_is_read_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_index, "BLOCK", 50)
    read: list[int] = []
    whole = Vectors.__getitem__
    monkeypatch.setattr(
        Vectors, "__getitem__", lambda self, rows: read.append(rows.stop - rows.start) or whole(self, rows)
    )
    search_exact(stored(tmp_path / "v", random_rows(500, 8), 30), random_rows(3, 8), 10)
    assert max(read) == 50
    assert sum(read) == 500


def test_what_cannot_be_searched(tmp_path: Path) -> None:
    vectors = stored(tmp_path / "v", random_rows(30, 4))
    for index in (open_index(vectors, IndexConfig()), open_index(vectors, HNSW)):
        with pytest.raises(ValueError, match=r"\(2, 5\) cannot be compared with .*v, whose vectors have 4 numbers"):
            index.search(random_rows(2, 5), 3)
        with pytest.raises(ValueError, match="not finite"):
            index.search(np.full((1, 4), np.nan, np.float32), 3)
        with pytest.raises(ValueError, match="the 0 best"):
            index.search(random_rows(2, 4), 0)
    with pytest.raises(ValueError, match=r"index\.lists is 31, but there are only 30 candidates"):
        open_index(vectors, IndexConfig(kind="ivf", lists=31))


@pytest.mark.parametrize("config", [IVF, HNSW])
def test_approximate_results_are_true_scores_in_order(tmp_path: Path, config: IndexConfig) -> None:
    rows, queries = random_rows(600, 16), random_rows(20, 16, seed=1)
    index = open_index(stored(tmp_path / "v", rows, 77), config)
    scores, found = index.search(queries, 10)
    there = found >= 0
    assert there[:, 0].all()
    assert (np.isneginf(scores) == ~there).all()
    assert (np.diff(scores, axis=1)[there[:, 1:]] <= 0).all()
    exact = np.take_along_axis(queries @ rows.T, np.maximum(found, 0), axis=1)
    assert scores[there] == pytest.approx(exact[there], abs=1e-4)
    assert all(len(set(line[line >= 0])) == (line >= 0).sum() for line in found)


def test_an_index_that_searches_everything_is_exact(tmp_path: Path) -> None:
    rows, queries = random_rows(300, 8), random_rows(20, 8, seed=1)
    vectors, threads = stored(tmp_path / "v", rows), faiss.omp_get_max_threads()
    for config in (IndexConfig(kind="ivf", lists=8, probes=8), IndexConfig(kind="hnsw", breadth=300)):
        assert np.array_equal(open_index(vectors, config).search(queries, 10)[1], brute_force(rows, queries, 10))
    assert faiss.omp_get_max_threads() == threads
    scores, found = open_index(vectors, IndexConfig(kind="ivf", lists=30, probes=1)).search(queries, 300)
    assert found.shape == (20, 300) and (found[:, -1] == -1).all() and np.isneginf(scores[:, -1]).all()


@pytest.mark.parametrize("config", [IVF, HNSW])
def test_an_index_is_built_once_and_again_when_it_must_be(
    tmp_path: Path, config: IndexConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    built: list[str] = []
    build = search_index._build

    def counted(vectors: Vectors, config: IndexConfig, work: Path) -> None:
        built.append(config.kind)
        build(vectors, config, work)

    monkeypatch.setattr(search_index, "_build", counted)
    rows, queries = random_rows(500, 12), random_rows(5, 12, seed=1)
    vectors, cache = stored(tmp_path / "v", rows), tmp_path / f"v.{config.kind}"
    expected = open_index(vectors, config).search(queries, 5)[1]
    file, description = cache / "index.faiss", cache / "index.json"
    content = file.read_bytes()

    def opened(count: int) -> None:
        assert np.array_equal(open_index(vectors, config).search(queries, 5)[1], expected)
        assert len(built) == count
        assert file.read_bytes() == content  # the same vectors give the same index

    opened(1)
    file.unlink()
    opened(2)
    file.write_bytes(content[:-9])
    opened(3)
    file.write_bytes(content[:500] + bytes([content[500] ^ 255]) + content[501:])
    opened(4)
    description.write_text('{"kind"')
    opened(5)
    description.write_text(json.dumps({**json.loads(description.read_text()), "faiss": "0.1"}))
    opened(6)
    other = write_vectors(tmp_path / "v", 500, 12, lambda r: -rows[r.start : r.stop], {"encoder": "b"})
    found = open_index(other, config).search(-queries, 5)[1]
    assert len(built) == 7
    assert (found[:, 0] >= 0).all()


def test_how_an_index_is_searched_does_not_rebuild_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    vectors = stored(tmp_path / "v", random_rows(400, 8))
    open_index(vectors, IVF)
    open_index(vectors, HNSW)
    monkeypatch.setattr(search_index, "_build", None)
    ivf, hnsw = (
        open_index(vectors, IndexConfig(kind="ivf", lists=8, probes=5)),
        open_index(vectors, IndexConfig(kind="hnsw", neighbours=8, breadth=99)),
    )
    assert isinstance(ivf, ApproximateIndex)
    assert isinstance(hnsw, ApproximateIndex)
    assert (ivf.index.nprobe, hnsw.index.hnsw.efSearch) == (5, 99)


def test_comparison_counts_what_is_found(tmp_path: Path) -> None:
    rows, queries = random_rows(500, 8), random_rows(40, 8, seed=1)
    vectors = stored(tmp_path / "v", rows)
    everything = IndexConfig(kind="ivf", lists=8, probes=8)
    table = compare_indexes(vectors, queries, 10, [IVF, HNSW, everything])
    assert table["kind"].tolist() == ["flat", "ivf", "hnsw", "ivf"]
    truth = brute_force(rows, queries, 10)
    found = open_index(vectors, IVF).search(queries, 10)[1]
    shared = [len(set(a) & set(b)) / 10 for a, b in zip(truth.tolist(), found.tolist(), strict=True)]
    assert table["recall_against_exact"].tolist() == [
        1,
        pytest.approx(np.mean(shared)),
        table["recall_against_exact"][2],
        1,
    ]
    assert 0 < table["recall_against_exact"][1] < 1
    assert (table["queries_per_second"] > 0).all()


def test_centroids_of_few_candidates(tmp_path: Path) -> None:
    for rows in (1, 38, 39, 80):
        vectors = stored(tmp_path / str(rows), random_rows(rows, 4))
        index = open_index(vectors, IndexConfig(kind="ivf"))
        assert isinstance(index, ApproximateIndex)
        assert index.index.nlist == max(1, rows // 39)
        assert index.search(random_rows(1, 4), 1)[1].shape == (1, 1)


@pytest.mark.parametrize(("block", "at_once"), [(7, 1), (50, 300), (1000, 5000)])
def test_lists_are_the_same_however_many_vectors_are_in_memory(
    tmp_path: Path, block: int, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As those of one index in memory that is given all vectors at once."""
    rows, queries = random_rows(900, 12), random_rows(20, 12, seed=1)
    vectors = stored(tmp_path / "v", rows, 110)
    monkeypatch.setattr(search_index, "BLOCK", block)
    monkeypatch.setattr(search_index, "_AT_ONCE", at_once)
    index = open_index(vectors, IVF)
    whole = search_index._trained(vectors, IVF.lists)
    whole.add(rows)
    for number in range(8):
        ours, theirs = (
            [
                faiss.rev_swig_ptr(lists.get_ids(number), lists.list_size(number)).tolist(),
                faiss.rev_swig_ptr(lists.get_codes(number), 48 * lists.list_size(number)).tolist(),
            ]
            for lists in (index.index.invlists, whole.invlists)  # type: ignore[union-attr]
        )
        assert ours == theirs
    whole.nprobe = IVF.probes
    assert np.array_equal(index.index.search(queries, 9)[1], whole.search(queries, 9)[1])  # type: ignore[union-attr]
    assert {file.name for file in (tmp_path / "v.ivf").iterdir()} == {
        "index.faiss",
        "sizes.npy",
        "lists.bin",
        "index.json",
    }


def test_centroids_of_many_vectors_are_found_from_a_sample(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[NDArray[np.int64]] = []
    whole = Vectors.take
    monkeypatch.setattr(Vectors, "take", lambda self, rows: taken.append(rows) or whole(self, rows))
    vectors = stored(tmp_path / "v", random_rows(400, 4))
    for lists in (2, 6):
        search_index._trained(vectors, lists)
    few, every = taken
    assert len(few) == len(set(few.tolist())) == 78 and every.tolist() == list(range(400))
    assert (np.diff(few) > 0).all() and len(set(np.diff(few).tolist())) > 2  # drawn, not every so-manieth


@pytest.mark.parametrize("config", [IVF, HNSW])
def test_a_killed_build_leaves_nothing_that_looks_whole(
    tmp_path: Path, config: IndexConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    vectors = stored(tmp_path / "v", random_rows(500, 12))

    def die(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(faiss, "write_index", die)  # the last that is done
        with pytest.raises(KeyboardInterrupt):
            open_index(vectors, config)
    assert (tmp_path / f"v.{config.kind}.unfinished" / "lists.bin").exists() == (config.kind == "ivf")
    assert not (tmp_path / f"v.{config.kind}").exists()
    open_index(vectors, config)
    assert not list(tmp_path.glob("*.unfinished"))


def test_lists_that_are_cut_off_or_gone_are_built_again(tmp_path: Path) -> None:
    vectors, queries = stored(tmp_path / "v", random_rows(500, 12)), random_rows(5, 12, seed=1)
    expected = open_index(vectors, IVF).search(queries, 5)[1]
    lists = tmp_path / "v.ivf" / "lists.bin"
    content = lists.read_bytes()
    for damaged in (content[:-9], b"\0" + content[1:], None):
        lists.unlink()
        if damaged is not None:
            lists.write_bytes(damaged)
        assert np.array_equal(open_index(vectors, IVF).search(queries, 5)[1], expected)
        assert lists.read_bytes() == content

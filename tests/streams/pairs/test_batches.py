"""Batches of pairs: mixtures, probabilities, and functions of (seed, step)."""

from collections import Counter
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contexture.encoders.base import Encoder
from contexture.encoders.config import Lengths
from contexture.encoders.layout import row_lengths
from contexture.streams.base import Batching
from contexture.streams.pairs.batches import HardPairs, PairRows, Pairs, Passages
from contexture.streams.pairs.config import (
    PAIR_TASKS,
    HardPairsConfig,
    PairSampling,
    PairsConfig,
    PairTask,
    PassagesConfig,
)
from contexture.streams.rows import EmptyExamplesError
from tests.encoders.toys import TOKENS, build
from tests.factories import Ids, rows_of, texts_of
from tests.training.toys import write_hard_pairs, write_pairs

LENGTHS = Lengths(query=8, document=16)
SIZES = {"ict": 30, "bfs": 17, "wlp": 5}
ROWS = sum(SIZES.values())
Mixture = Literal["uniform", "pooled"]
#: A pair of a batch: ids of its query and its document without padding, and log q.
Pair = tuple[Ids, Ids, float]


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pair n of task t has the query [10 + t, 100 + n]; document m of a task is in up to m of its pairs."""
    folder = tmp_path_factory.mktemp("pairs")
    draw = np.random.default_rng(0)
    for task, (name, size) in enumerate(SIZES.items()):
        documents = [number for number in range(1, size + 1) for _ in range(number)][:size]
        times = Counter(documents)
        rows: list[dict[str, Any]] = [
            {
                "pair_id": f"{name}{number}",
                "query": [10 + task, 100 + number],
                "title": [20 + task],
                "passage": [200 + document, *[7] * int(draw.integers(0, 20))],
                "document": f"{name}{document}",
                "document_pairs": times[document],
            }
            for number, document in enumerate(documents)
        ]
        write_pairs(rows, folder / name)
    return folder


def open_rows(tables: Path, mixture: Mixture = "uniform", seed: int = 0) -> PairRows:
    return PairRows([tables / task for task in PAIR_TASKS], mixture, seed)


@pytest.fixture(scope="module")
def encoder() -> Encoder:
    return build("transformer_cls", lengths=LENGTHS)


def open_pairs(tables: Path, encoder: Encoder, mixture: Mixture = "uniform", seed: int = 0, **changed: Any) -> Pairs:
    steps: dict[str, Any] = {"batch_size": 12, "tokens_at_once": 40} | changed
    return Pairs(PairsConfig(mixture=mixture), tables, encoder, seed, Batching(**steps))


def read_pairs(batch: dict[str, Any]) -> list[Pair]:
    """Return the pairs of a batch in order."""
    texts = [texts_of(batch[role]) for role in ("query", "document")]
    return list(zip(*texts, batch["log_q"].tolist(), strict=True))


def count_tasks(pairs: PairRows, start: int, count: int) -> Counter[int]:
    return Counter(query[0] - 10 for query in pairs.take(start, count)["query"].to_pylist())


@settings(deadline=None)
@given(start=st.integers(0, 500), count=st.integers(1, 40))
def test_uniform_mixture_has_equally_many_pairs_of_each_task(tables: Path, start: int, count: int) -> None:
    counts = count_tasks(open_rows(tables), start, count)
    assert counts.total() == count
    assert max(counts.values()) - min(counts[task] for task in range(3)) <= 1


@pytest.mark.parametrize("mixture", ["uniform", "pooled"])
def test_batches_of_five_tasks_have_their_size(mixture: Mixture, encoder: Encoder, tmp_path: Path) -> None:
    sizes = dict(zip(get_args(PairTask), (35, 26, 13, 13, 13), strict=True))
    for task, size in sizes.items():
        row = {"query": [5], "title": [6], "passage": [7], "document": task, "document_pairs": size}
        write_pairs([row | {"pair_id": f"{task}{number}"} for number in range(size)], tmp_path / task)
    config = PairsConfig(mixture=mixture, sampling=PairSampling(tasks=list(sizes)))
    for batch_size in (2, 6, 8, 12):
        try:
            rows = Pairs(config, tmp_path, encoder, 0, Batching(batch_size)).rows
        except ValueError as error:
            message = f"batch_size {batch_size} is too small for the pooled pairs of 5 tasks"
            assert mixture == "pooled" and batch_size < 12 and message in str(error)
        else:
            assert {rows.take(start, batch_size).num_rows for start in range(300)} == {batch_size}


@pytest.mark.parametrize("epoch", range(3))
def test_pooled_mixture_has_each_pair_once_per_epoch(tables: Path, epoch: int) -> None:
    queries = open_rows(tables, "pooled").take(epoch * ROWS, ROWS)["query"].to_pylist()
    assert len(set(map(tuple, queries))) == ROWS


@pytest.mark.parametrize("mixture", ["uniform", "pooled"])
def test_log_q_is_the_log_frequency_of_the_document(tables: Path, mixture: Mixture) -> None:
    """Over whole epochs of all tasks (30 × 17 × 5 pairs each), shares equal probabilities."""
    table = open_rows(tables, mixture).take(0, ROWS if mixture == "pooled" else 3 * 30 * 17 * 5)
    documents, log_q = table["document"].to_pylist(), np.array(table["log_q"])
    shares = {document: times / len(table) for document, times in Counter(documents).items()}
    np.testing.assert_allclose(np.exp(log_q), [shares[document] for document in documents], rtol=1e-5)


@pytest.mark.parametrize("mixture", ["uniform", "pooled"])
def test_another_seed_gives_another_order(tables: Path, mixture: Mixture) -> None:
    first, again, other = (open_rows(tables, mixture, seed).take(0, 24)["query"].to_pylist() for seed in (0, 0, 1))
    assert first == again != other


@settings(deadline=None, max_examples=30)
@given(steps=st.lists(st.integers(0, 60), min_size=1, max_size=6), tokens_at_once=st.sampled_from([1, 30, 90, 10_000]))
def test_a_batch_is_a_function_of_the_step_alone(
    tables: Path, encoder: Encoder, steps: list[int], tokens_at_once: int
) -> None:
    """Previous batches and `tokens_at_once` make no difference."""
    resumed = open_pairs(tables, encoder, tokens_at_once=tokens_at_once)
    for step in steps:
        assert read_pairs(resumed.batch(step, 0)) == read_pairs(open_pairs(tables, encoder).batch(step, 0))


@pytest.mark.parametrize("ranks", [2, 4])
def test_document_ids_are_the_same_on_all_ranks(tables: Path, encoder: Encoder, ranks: int) -> None:
    whole = open_pairs(tables, encoder)
    parts = [open_pairs(tables, encoder, rank=rank, ranks=ranks) for rank in range(ranks)]
    for step in range(9):
        expected, of_ranks = whole.batch(step, 0), [part.batch(step, 0) for part in parts]
        names = dict(zip(read_pairs(expected), expected["document_ids"].tolist(), strict=True))
        for part in of_ranks:
            assert [names[pair] for pair in read_pairs(part)] == part["document_ids"].tolist()
        tokens = [int(row_lengths(part["document"]).sum()) for part in of_ranks]
        assert max(tokens) <= min(tokens) + LENGTHS.document  # ranks have similar work


def test_equal_document_ids_are_equal_documents(tables: Path, encoder: Encoder) -> None:
    batch = open_pairs(tables, encoder, batch_size=ROWS).batch(0, 0)
    numbers = batch["document_ids"].tolist()
    documents = [
        document[1:4:2] for _, document, _ in read_pairs(batch)
    ]  # its title and the first token of its passage
    assert len(set(numbers)) < len(numbers)
    assert len(set(zip(numbers, documents, strict=True))) == len(set(numbers)) == len(set(documents))


def test_texts_are_cut_and_chunks_respect_tokens_at_once(tables: Path, encoder: Encoder) -> None:
    batch = open_pairs(tables, encoder, batch_size=48).batch(0, 0)
    for chunk in batch["query"]["chunks"] + batch["document"]["chunks"]:
        rows, width = chunk["input_ids"].shape
        assert rows * width <= 40 or rows == 1
        assert width <= LENGTHS.document
    cls, sep = TOKENS.cls, TOKENS.sep
    for query, document, _ in read_pairs(batch):
        assert (query[0], query[-1], document[0], document[2], document[-1]) == (cls, sep, cls, sep, sep)
    assert max(len(document) for _, document, _ in read_pairs(batch)) == LENGTHS.document


def test_vectors_are_in_the_order_of_the_pairs(tables: Path, encoder: Encoder) -> None:
    stream = open_pairs(tables, encoder)
    batch = stream.batch(2, 0)
    states = stream.encode(encoder, batch)
    assert states["query"].shape == states["document"].shape == (12, encoder.dimension)
    whole = open_pairs(tables, encoder, tokens_at_once=10_000)
    for role, vectors in whole.encode(encoder, whole.batch(2, 0)).items():
        np.testing.assert_allclose(states[role].detach(), vectors.detach(), atol=1e-5)


def test_masked_language_modelling_reads_the_same_documents(tables: Path, encoder: Encoder) -> None:
    stream = Passages(PassagesConfig(), tables, encoder, 0, Batching(12))
    batch = stream.batch(3, 0)
    assert stream.encode(encoder, batch).shape == (*batch["input_ids"].shape, 8)
    documents = [document for _, document, _ in read_pairs(open_pairs(tables, encoder).batch(3, 0))]
    assert sorted(rows_of(batch)) == sorted(documents)


def test_a_run_can_select_tasks(tables: Path, encoder: Encoder) -> None:
    stream = Pairs(PairsConfig(tasks=["wlp"]), tables, encoder, 0, Batching(10))
    assert {query[1] for query, *_ in read_pairs(stream.batch(0, 0))} == {12}
    assert stream.rows.rows == SIZES["wlp"]


def test_missing_pairs_raise_an_error(tables: Path, tmp_path: Path) -> None:
    (tmp_path / "ict").mkdir()
    with pytest.raises(FileNotFoundError, match="ict: no Parquet files"):
        PairRows([tmp_path / "ict"], "uniform", 0)
    write_pairs([], tmp_path / "bfs")
    with pytest.raises(EmptyExamplesError, match="bfs: no pairs"):
        PairRows([tmp_path / "bfs"], "uniform", 0)


@pytest.mark.parametrize("mixture", ["uniform", "pooled"])
def test_a_task_without_pairs_is_skipped(mixture: str, tables: Path, tmp_path: Path) -> None:
    write_pairs([], tmp_path / "bfs")
    stream = PairRows([tables / "wlp", tmp_path / "bfs"], mixture, 0)  # type: ignore[arg-type]
    assert stream.take(0, 9).equals(PairRows([tables / "wlp"], "uniform", 0).take(0, 9))


@pytest.mark.parametrize("ranks", [1, 2])
def test_equal_ids_of_documents_and_negatives_are_equal_documents(ranks: int, tmp_path: Path) -> None:
    """Document n has the tokens 200 + n. Some negatives are documents of other pairs of the step."""
    draw = np.random.default_rng(0)
    rows = []
    for number in range(12):
        document, *negatives = draw.permutation(15)[:3].tolist()
        rows.append(
            {
                "pair_id": f"{number}", "query": [5], "title": [], "passage": [200 + document],
                "document": f"d{document}", "document_pairs": 1,
                "negative_titles": [[], []], "negative_passages": [[200 + name] for name in negatives],
                "negative_documents": [f"d{name}" for name in negatives],
                "margins": [document - name for name in negatives],
            }
        )  # fmt: skip
    write_hard_pairs(rows, tmp_path / "ict")
    tokens: dict[int, set[int]] = {}
    for rank in range(ranks):
        stream = HardPairs(HardPairsConfig(), tmp_path, build("bag_of_words"), 0, Batching(12, rank=rank, ranks=ranks))
        batch = stream.batch(0, 0)
        documents, negatives = ([text[-1] for text in texts_of(batch[side])] for side in ("document", "negative"))
        for side, texts in (("document_ids", documents), ("negative_ids", negatives)):
            for name, token in zip(batch[side].tolist(), texts, strict=True):
                tokens.setdefault(name, set()).add(token)
        expected = np.array(documents)[:, None] - np.array(negatives).reshape(-1, 2)
        assert batch["margins"].tolist() == expected.tolist()
    assert all(len(of_id) == 1 for of_id in tokens.values())
    assert len({token for of_id in tokens.values() for token in of_id}) == len(tokens) < 36

"""Batches of pairs: mixtures, probabilities, and that a batch is a function of (seed, step) alone."""

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from torch.utils.data import DataLoader

from contexture.encoders.config import PairLayoutConfig
from contexture.encoders.layout import Specials
from contexture.systems.two_tower.batches import DocumentBatches, NoPairsError, PairBatches, PairStream
from contexture.systems.two_tower.config import PAIR_TASKS
from tests.training.conftest import two_towers, write_pairs

SPECIALS = Specials(cls=1, sep=2, pad=0)
LAYOUT = PairLayoutConfig(query_tokens=8, document_tokens=16)
SIZES = {"ict": 30, "bfs": 17, "wlp": 5}
ROWS = sum(SIZES.values())
Mixture = Literal["uniform", "pooled"]
#: A pair of a batch: the ids of its query and its document, padding left out, and log q.
Pair = tuple[tuple[int, ...], tuple[int, ...], float]


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pair n of task t has the query [10 + t, 100 + n]; document m of a task stands in m of its pairs, or fewer."""
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


def stream(tables: Path, mixture: Mixture = "uniform", seed: int = 0) -> PairStream:
    return PairStream([tables / task for task in PAIR_TASKS], mixture, seed)


def batches(pairs: PairStream, steps: range = range(9), **changed: Any) -> PairBatches:
    settings: dict[str, Any] = {"batch_size": 12, "tokens_at_once": 40} | changed
    return PairBatches(pairs, SPECIALS, LAYOUT, steps=steps, **settings)


def content(batch: dict[str, Any]) -> list[Pair]:
    """The pairs of a batch, in its order."""
    texts = []
    for name in ("query", "document"):
        chunks = batch["queries" if name == "query" else "documents"]
        rows = [
            tuple(ids[mask.bool()].tolist())
            for chunk in chunks
            for ids, mask in zip(chunk["input_ids"], chunk["attention_mask"], strict=True)
        ]
        texts.append([rows[row] for row in batch[f"{name}_rows"].tolist()])
    return list(zip(*texts, batch["log_q"].tolist(), strict=True))


def tasks_of(pairs: PairStream, start: int, count: int) -> Counter[int]:
    return Counter(query[0] - 10 for query in pairs.take(start, count)["query"].to_pylist())


@given(start=st.integers(0, 500), count=st.integers(1, 40))
def test_uniform_gives_as_many_pairs_of_each_task_wherever_one_looks(tables: Path, start: int, count: int) -> None:
    counts = tasks_of(stream(tables), start, count)
    assert counts.total() == count
    assert max(counts.values()) - min(counts[task] for task in range(3)) <= 1


def test_uniform_batches_of_a_multiple_of_the_tasks_are_even(tables: Path) -> None:
    assert all(tasks_of(stream(tables), step * 12, 12) == {0: 4, 1: 4, 2: 4} for step in range(20))


@pytest.mark.parametrize("epoch", range(3))
def test_pooled_gives_each_pair_as_often_as_any_other(tables: Path, epoch: int) -> None:
    found = stream(tables, "pooled").take(epoch * ROWS, ROWS)["query"].to_pylist()
    assert len(set(map(tuple, found))) == ROWS


@pytest.mark.parametrize("mixture", ["uniform", "pooled"])
def test_log_q_is_the_logarithm_of_how_often_a_document_comes(tables: Path, mixture: Mixture) -> None:
    """Over whole epochs of every task, 30 × 17 × 5 turns of each task, shares are exactly probabilities."""
    table = stream(tables, mixture).take(0, ROWS if mixture == "pooled" else 3 * 30 * 17 * 5)
    documents, log_q = table["document"].to_pylist(), np.array(table["log_q"])
    shares = {document: times / len(table) for document, times in Counter(documents).items()}
    np.testing.assert_allclose(np.exp(log_q), [shares[document] for document in documents], rtol=1e-5)


@pytest.mark.parametrize("mixture", ["uniform", "pooled"])
def test_another_seed_gives_another_order(tables: Path, mixture: Mixture) -> None:
    first, again, other = (stream(tables, mixture, seed).take(0, 24)["query"].to_pylist() for seed in (0, 0, 1))
    assert first == again != other


@given(step=st.integers(0, 60), ahead=st.integers(0, 5), tokens_at_once=st.sampled_from([1, 30, 90, 10_000]))
def test_a_batch_is_a_function_of_the_step_alone(tables: Path, step: int, ahead: int, tokens_at_once: int) -> None:
    """Not of where the run was resumed, of the batches before, or of how many tokens are embedded at a time."""
    resumed = batches(stream(tables), range(max(0, step - ahead), step + 1), tokens_at_once=tokens_at_once)
    index = min(ahead, step)
    for before in range(index, -1, -1):
        resumed[before]
    assert content(resumed[index]) == content(batches(stream(tables), range(step, step + 1))[0])


def test_processes_that_load_give_the_same_batches(tables: Path) -> None:
    loader = DataLoader(batches(stream(tables)), batch_size=None, num_workers=2)
    alone = batches(stream(tables))
    assert [content(batch) for batch in loader] == [content(alone[step]) for step in range(len(alone))]


@pytest.mark.parametrize("mixture", ["uniform", "pooled"])
@pytest.mark.parametrize("ranks", [2, 3, 4])
def test_the_ranks_batches_together_are_the_batch(tables: Path, ranks: int, mixture: Mixture) -> None:
    whole = batches(stream(tables, mixture))
    parts = [batches(stream(tables, mixture), rank=rank, ranks=ranks) for rank in range(ranks)]
    for step in range(len(whole)):
        expected, found = whole[step], [part[step] for part in parts]
        assert {len(part["log_q"]) for part in found} == {12 // ranks}
        assert sorted(pair for part in found for pair in content(part)) == sorted(content(expected))
        # Numbers of documents mean the same on every rank.
        names = dict(zip(content(expected), expected["document_ids"].tolist(), strict=True))
        for part in found:
            assert [names[pair] for pair in content(part)] == part["document_ids"].tolist()
        tokens = [sum(int(chunk["attention_mask"].sum()) for chunk in part["documents"]) for part in found]
        assert max(tokens) <= min(tokens) + LAYOUT.document_tokens  # the ranks have like work


def test_equal_numbers_are_equal_documents(tables: Path) -> None:
    batch = batches(stream(tables), batch_size=ROWS)[0]
    numbers = batch["document_ids"].tolist()
    documents = [document[1:4:2] for _, document, _ in content(batch)]  # its title and the first token of its passage
    assert len(set(numbers)) < len(numbers)
    assert len(set(zip(numbers, documents, strict=True))) == len(set(numbers)) == len(set(documents))


def test_texts_are_cut_and_keep_to_the_tokens_at_once(tables: Path) -> None:
    batch = batches(stream(tables), batch_size=48)[0]
    for chunk in batch["queries"] + batch["documents"]:
        rows, width = chunk["input_ids"].shape
        assert rows * width <= 40 or rows == 1
        assert width <= LAYOUT.document_tokens
    for query, document, _ in content(batch):
        assert (query[0], query[-1], document[0], document[2], document[-1]) == (1, 2, 1, 2, 2)
    assert max(len(document) for _, document, _ in content(batch)) == LAYOUT.document_tokens


@pytest.mark.parametrize(("ranks", "passes"), [(1, 1), (2, 1), (1, 3), (2, 3)])
def test_masked_language_modelling_reads_the_same_documents(tables: Path, ranks: int, passes: int) -> None:
    found = []
    for rank in range(ranks):
        rows = DocumentBatches(
            stream(tables), SPECIALS, LAYOUT, batch_size=12, accumulated=passes, steps=range(4), rank=rank, ranks=ranks
        )
        assert len(rows) == 4 * passes
        for batch in (rows[3 * passes + part] for part in range(passes)):
            assert len(batch["input_ids"]) == 12 // (ranks * passes)
            found += [
                tuple(ids[mask.bool()].tolist())
                for ids, mask in zip(batch["input_ids"], batch["attention_mask"], strict=True)
            ]
    assert sorted(found) == sorted(document for _, document, _ in content(batches(stream(tables))[3]))


def test_masked_passes_keep_to_the_budget() -> None:
    config = two_towers().pretrain
    for budget, passes in ((10**6, 1), (12 * 20, 1), (12 * 20 - 1, 2), (4 * 20, 3), (1, 12)):
        assert replace(config, batch_size=12, tokens_at_once=budget).masked_passes(20) == passes


def test_a_step_that_is_not_there(tables: Path) -> None:
    for wrong in (-1, 9):
        with pytest.raises(IndexError):
            batches(stream(tables))[wrong]


def test_pairs_that_are_not_there_are_named(tables: Path, tmp_path: Path) -> None:
    (tmp_path / "ict").mkdir()
    with pytest.raises(FileNotFoundError, match="ict: no Parquet files"):
        PairStream([tmp_path / "ict"], "uniform", 0)
    write_pairs([], tmp_path / "bfs")
    with pytest.raises(NoPairsError, match="bfs: no pairs"):
        PairStream([tmp_path / "bfs"], "uniform", 0)


@pytest.mark.parametrize("mixture", ["uniform", "pooled"])
def test_a_task_without_pairs_has_no_part_in_the_mixture(mixture: str, tables: Path, tmp_path: Path) -> None:
    write_pairs([], tmp_path / "bfs")
    stream = PairStream([tables / "wlp", tmp_path / "bfs"], mixture, 0)  # type: ignore[arg-type]
    assert stream.take(0, 9).equals(PairStream([tables / "wlp"], "uniform", 0).take(0, 9))

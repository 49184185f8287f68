"""Base functions of streams, and the streams of sentences."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from contexture.encoders.base import Encoder
from contexture.encoders.config import Lengths, TableSizes
from contexture.streams.base import Batching, combine_needs, factorize, part_rows, read_token_columns
from contexture.streams.joint.config import JointConfig
from contexture.streams.pairs.config import PassagesConfig
from contexture.streams.sentences.batches import Contiguous, ShuffledSentences
from contexture.streams.sentences.config import ContiguousConfig, SentencesConfig
from contexture.training.config import OptimizerConfig, PretrainConfig
from tests.encoders.toys import build
from tests.factories import rows_of, texts_of
from tests.training.toys import write_sentences

#: Sentences of each document; the corpus has 30.
DOCUMENTS = [11, 2, 7, 3, 7]
LIMIT = 5


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[dict[str, Any]]]:
    """A folder and its rows. Each sentence begins with a unique token; some exceed the limit."""
    draw = np.random.default_rng(0)
    rows: list[dict[str, Any]] = []
    for number, size in enumerate(DOCUMENTS):
        for position in range(size):
            tokens = [100 + len(rows), *draw.integers(5, 25, draw.integers(0, 8)).tolist()]
            rows.append({"document": f"d{number}", "position": position, "tokens": tokens})
    folder = tmp_path_factory.mktemp("sentences")
    write_sentences(rows, folder)
    return folder, rows


@pytest.fixture(scope="module")
def encoder() -> Encoder:
    return build("gru", shared=False, lengths=Lengths(LIMIT, LIMIT))


def open_contiguous(folder: Path, encoder: Encoder, boundaries: str = "documents", **steps: Any) -> Contiguous:
    config = ContiguousConfig(boundaries=boundaries)  # type: ignore[arg-type]
    return Contiguous(config, folder, encoder, 0, Batching(**{"batch_size": 12} | steps))


def encoded_texts(batch: dict[str, Any]) -> list[list[int]]:
    """Return the texts that the encoder reads, in the order of the batch."""
    return [list(text) for text in texts_of(batch["texts"])]


def words_of(batch: dict[str, Any]) -> list[list[int]]:
    return [list(words) for words in rows_of(batch["words"])]


def test_contiguous_batches_repeat_the_corpus_in_order(corpus: Any, encoder: Encoder) -> None:
    folder, rows = corpus
    stream = open_contiguous(folder, encoder)
    for step in (0, 1, 2, 7, 4):
        batch = stream.batch(step, 0)
        expected = [rows[(step * 12 + offset) % 30] for offset in range(12)]
        assert encoded_texts(batch) == words_of(batch) == [row["tokens"][:LIMIT] for row in expected]
        assert batch["positions"].tolist() == [row["position"] for row in expected]
        names = dict(zip(batch["document_numbers"].tolist(), (row["document"] for row in expected), strict=True))
        assert [names[number] for number in batch["document_numbers"].tolist()] == [row["document"] for row in expected]
        assert len(set(names.values())) == len(names)
        assert int(batch["first"]) == 0


def test_boundaries_of_documents_are_kept_or_crossed(corpus: Any, encoder: Encoder) -> None:
    kept, crossed = (open_contiguous(corpus[0], encoder, kind).batch(0, 0) for kind in ("documents", "cross"))
    assert len(set(kept["document_numbers"].tolist())) == 2 and kept["positions"].tolist() == [*range(11), 0]
    assert crossed["document_numbers"].tolist() == [0] * 12 and crossed["positions"].tolist() == list(range(12))
    assert encoded_texts(crossed) == encoded_texts(kept)


@pytest.mark.parametrize("boundaries", ["documents", "cross"])
@pytest.mark.parametrize("ranks", [2, 3])
def test_each_rank_has_a_contiguous_range_and_all_positions(
    boundaries: str, ranks: int, corpus: Any, encoder: Encoder
) -> None:
    whole = open_contiguous(corpus[0], encoder, boundaries)
    parts = [open_contiguous(corpus[0], encoder, boundaries, rank=rank, ranks=ranks, passes=2) for rank in range(ranks)]
    for step in range(5):
        batches, expected = [part.batch(step, 0) for part in parts], whole.batch(step, 0)
        assert [text for batch in batches for text in encoded_texts(batch)] == encoded_texts(expected)
        assert [int(batch["first"]) for batch in batches] == [12 // ranks * rank for rank in range(ranks)]
        for batch in batches:
            for name in ("document_numbers", "positions"):
                assert torch.equal(batch[name], expected[name])


def test_fewer_sentences_than_a_batch_raise_an_error(corpus: Any, encoder: Encoder) -> None:
    with pytest.raises(ValueError, match="30 sentences are fewer than batch_size 31; add text or lower"):
        open_contiguous(corpus[0], encoder, batch_size=31)
    assert len(encoded_texts(open_contiguous(corpus[0], encoder, batch_size=30).batch(0, 0))) == 30


def test_shuffled_sentences_come_once_an_epoch(corpus: Any, encoder: Encoder) -> None:
    folder, rows = corpus
    stream = ShuffledSentences(SentencesConfig(), folder, encoder, 0, Batching(batch_size=10))
    epochs = [
        [text for step in range(3) for text in encoded_texts(stream.batch(epoch * 3 + step, 0))] for epoch in (0, 1)
    ]
    for epoch in epochs:
        assert sorted(epoch) == sorted(row["tokens"][:LIMIT] for row in rows)
    assert epochs[0] != epochs[1]
    assert epochs[0][20:] == words_of(stream.batch(2, 0))


@pytest.mark.parametrize("kind", ["gru", "transformer_cls"])
@pytest.mark.parametrize("shared", [True, False])
def test_a_shared_network_encodes_sentences_once_for_both_roles(kind: str, shared: bool, corpus: Any) -> None:
    encoder = build(kind, shared=shared, lengths=Lengths(LIMIT, LIMIT))
    stream = open_contiguous(corpus[0], encoder, tokens_at_once=9)
    batch = stream.batch(1, 0)
    states = stream.encode(encoder, batch)
    assert (states["query"] is states["document"]) == shared
    for role in ("query", "document"):
        torch.testing.assert_close(states[role], encoder(batch["texts"], role))  # type: ignore[arg-type]
    words = words_of(batch)
    assert len(words) == 12 and all(len(text) <= LIMIT for text in words)
    if kind == "transformer_cls":  # with [CLS] and [SEP]
        assert [text[1:-1] for text in encoded_texts(batch)] == [text[: LIMIT - 2] for text in words]


@given(st.lists(st.integers(0, 30), min_size=1, max_size=40), st.integers(1, 8))
def test_parts_have_rows_of_similar_total_length(lengths: list[int], count: int) -> None:
    parts = [part_rows(np.array(lengths), number, count) for number in range(count)]
    assert sorted(row for part in parts for row in part.tolist()) == list(range(len(lengths)))
    assert all(part.tolist() == sorted(part.tolist()) for part in parts)
    sums = [sum(lengths[row] for row in part.tolist()) for part in parts]
    assert max(sums) - min(sums) <= max(lengths)


def test_token_columns_are_read_from_slices_and_several_chunks() -> None:
    rows = [{"a": [1, 2], "b": [3]}, {"a": [], "b": [4, 5]}, {"a": [6], "b": []}, {"a": [7], "b": [8, 9]}]
    schema = pa.schema({name: pa.list_(pa.int32()) for name in "ab"})
    whole = pa.Table.from_pylist(rows, schema)
    pieces = pa.concat_tables([whole.slice(1, 1), whole.slice(2, 2)])
    for table in (whole.slice(1), pieces):
        both = read_token_columns(table, "a", "b")
        assert (both.tokens.tolist(), both.lengths.tolist()) == ([4, 5, 6, 7, 8, 9], [[0, 2], [1, 0], [1, 2]])
        single = read_token_columns(table, "b")
        assert (single.tokens.tolist(), single.lengths.tolist()) == ([4, 5, 8, 9], [[2], [0], [2]])
    assert factorize(pa.chunked_array([["x", "y"], ["x", "z", "y"]])).tolist() == [0, 1, 0, 2, 1]


def test_needs_of_all_streams_are_combined() -> None:
    lengths = Lengths(query=9, document=40)
    joint, passages = JointConfig(sentence_tokens=8), PassagesConfig()
    assert combine_needs({}, lengths) == TableSizes()
    assert combine_needs({"joint": joint}, lengths) == TableSizes(6 * 8, 6)
    assert combine_needs({"passages": passages, "joint": joint}, Lengths(9, 60)) == TableSizes(60, 6)
    assert combine_needs({"contiguous": ContiguousConfig(), "sentences": SentencesConfig()}, lengths) == TableSizes()


@pytest.mark.parametrize(
    ("micro", "devices", "passes"), [(None, 1, 1), (12, 1, 1), (11, 1, 2), (6, 1, 2), (5, 1, 3), (1, 1, 12), (1, 3, 4)]
)
def test_passes_follow_from_the_micro_batch_size(micro: int | None, devices: int, passes: int) -> None:
    config = PretrainConfig({}, 12, OptimizerConfig(1e-3), devices=devices, micro_batch_size=micro)
    assert config.passes({"joint": 12, "passages": 6}) == passes
    assert config.passes({}) == 1  # nothing that could be split

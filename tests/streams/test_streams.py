"""Batches of all streams are functions of (seed, step) and do not depend on ranks and passes."""

from pathlib import Path
from typing import Any

import pytest
import torch
from pydantic import TypeAdapter

from contexture.encoders.base import Encoder
from contexture.encoders.config import Lengths
from contexture.imports import resolve
from contexture.streams.base import Batching, Stream, combine_needs
from contexture.streams.config import STREAMS
from contexture.vocabulary.vocabulary import Vocabulary
from tests.encoders.toys import build
from tests.factories import Ids, rows_of, texts_of
from tests.training.toys import STREAMS as SETTINGS

LENGTHS = Lengths(query=12, document=24)
#: Streams of texts that are negatives of one another.
NEGATIVES = {"bitext", "contiguous", "hard_pairs", "pairs", "sentences"}
#: Columns of the tokens that are counted.
COUNTED = {
    "joint": ["sentences"], "bitext": ["source", "target"], "nli": ["premise", "hypothesis"], "contiguous": ["tokens"],
    "sentences": ["tokens"], "passages": ["title", "passage"], "sequence_pairs": ["second"],
    "sequences": ["first", "second"], "sequence_samples": ["pieces"], "short_sequences": ["pieces"],
}  # fmt: skip


class StreamOpener:
    """Opens a stream with one encoder."""

    def __init__(self, name: str, examples: Path, tokenizer: Path) -> None:
        self.name = name
        self.config: Any = TypeAdapter(STREAMS[name]).validate_python(SETTINGS[name])
        kind = "transformer_cross" if name == "sequence_samples" else "transformer_cls"
        needs = combine_needs({name: self.config}, LENGTHS)
        self.encoder: Encoder = build(kind, vocabulary=Vocabulary.load(tokenizer), lengths=LENGTHS, table_sizes=needs)
        self.folder = examples / self.config.examples

    def __call__(self, seed: int = 0, **steps: int) -> Stream:
        kind = resolve(self.config.implementation)
        return kind(self.config, self.folder, self.encoder, seed, Batching(batch_size=12, **steps))  # type: ignore[no-any-return]


@pytest.fixture(params=sorted(STREAMS))
def opened(request: pytest.FixtureRequest, examples: Path, tokenizer: Path) -> StreamOpener:
    return StreamOpener(request.param, examples, tokenizer)


def read_rows(batch: dict[str, Any]) -> list[tuple[Any, ...]]:
    """Return each row's tokens and other values, sorted; for samples their sequences."""
    if "sequences" in batch:
        return sorted(texts_of(batch["sequences"]))
    sides: list[list[Ids]] = [texts_of(batch[name]) for name in ("query", "document", "texts") if name in batch]
    if "query" not in batch and "document" in batch:  # first sides, then second sides
        half = len(sides[0]) // 2
        sides = [sides[0][:half], sides[0][half:]]
    sides += [rows_of(batch[name]) for name in ("second", "words") if name in batch]
    if "negative" in batch:  # two of each pair
        negatives = texts_of(batch["negative"])
        sides += [negatives[::2], negatives[1::2]]
    sides += [rows_of(batch)] if "input_ids" in batch else []
    values = [
        batch[name].view(len(sides[0]), -1).tolist() for name in ("labels", "ids", "log_q", "margins") if name in batch
    ]
    return sorted(zip(*sides, *(map(tuple, rows) for rows in values), strict=True))


@pytest.mark.parametrize(("ranks", "passes"), [(2, 3), (3, 2), (1, 12), (4, 1)])
def test_ranks_and_passes_split_the_rows_of_a_step(ranks: int, passes: int, opened: StreamOpener) -> None:
    whole = opened()
    assert whole.can_split == (opened.name not in NEGATIVES)
    num_passes = passes if whole.can_split else 1
    streams = [opened(passes=passes, rank=rank, ranks=ranks) for rank in range(ranks)]
    for step in (0, 3):
        parts = [stream.batch(step, part) for stream in streams for part in range(num_passes)]
        assert sorted(row for part in parts for row in read_rows(part)) == read_rows(whole.batch(step, 0))
        batches = [streams[0].batch(step, part, rank) for rank in range(ranks) for part in range(num_passes)]
        torch.testing.assert_close(batches, parts, rtol=0, atol=0)


def test_a_batch_is_a_function_of_seed_and_step(opened: StreamOpener) -> None:
    stream = opened()
    expected = [stream.batch(step, 0) for step in range(6)]
    for step in (4, 2, 5, 0):
        torch.testing.assert_close(opened().batch(step, 0), expected[step], rtol=0, atol=0)
    other = [read_rows(opened(seed=1).batch(step, 0)) for step in range(6)]
    assert (other == [read_rows(batch) for batch in expected]) == (opened.name == "contiguous")


def test_sample_returns_the_tokens_of_the_first_examples(opened: StreamOpener) -> None:
    stream = opened()
    if opened.name not in COUNTED:
        with pytest.raises(NotImplementedError, match="Pairs has no tokens to count"):
            stream.sample_tokens(9)
        return
    for count in (8, 10_000):
        # A sample has four sequences.
        table = stream.rows.take(0, min(stream.rows.rows, count // 4 if COUNTED[opened.name] == ["pieces"] else count))
        expected = [token for name in COUNTED[opened.name] for token in flatten(table[name].to_pylist())]
        assert sorted(stream.sample_tokens(count)) == sorted(expected)


def flatten(values: Any) -> list[int]:
    return [token for value in values for token in flatten(value)] if isinstance(values, list) else [values]

"""Joint batches: what they hold, and that a batch is a function of (seed, step) alone."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import torch

from contexture.encoders.base import Encoder
from contexture.encoders.config import Lengths
from contexture.streams.base import Steps, needs_of
from contexture.streams.joint.batches import Joint
from contexture.streams.joint.config import JointConfig, JointSampling
from tests.encoders.toys import build
from tests.factories import rows_of
from tests.training.toys import TOKENS, write_rows

CONFIG = JointConfig(sentence_tokens=8, sampling=JointSampling(positives=1, hard_negatives=1, easy_negatives=0))


@pytest.fixture(scope="module")
def rows() -> list[dict[str, Any]]:
    """Sixty examples of two candidates and very different lengths, told apart by their first token."""
    draw = np.random.default_rng(0)
    return [
        {
            "sentences": [
                [100 + number, *draw.integers(5, 25, draw.integers(0, 4))],
                *(draw.integers(5, 25, draw.integers(1, 12)).tolist() for _ in range(2)),
            ],
            "labels": [number % 2, 1 - number % 2],
        }
        for number in range(60)
    ]


@pytest.fixture(scope="module")
def examples(rows: list[dict[str, Any]], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(rows, tmp_path_factory.mktemp("examples") / "joint")


def write(rows: list[dict[str, Any]], folder: Path) -> Path:
    write_rows(rows, folder, sentences=pa.list_(TOKENS), labels=TOKENS)
    return folder


@pytest.fixture(scope="module")
def encoder() -> Encoder:
    lengths = Lengths(8, 8)
    return build("transformer_cls", lengths=lengths, needs=needs_of({"joint": CONFIG}, lengths))


def stream(examples: Path, encoder: Encoder, seed: int = 1, **steps: int) -> Joint:
    return Joint(CONFIG, examples, encoder, seed, Steps(batch_size=12, **steps))


def labelled(batch: dict[str, torch.Tensor]) -> list[tuple[int, ...]]:
    return sorted((*row, *labels) for row, labels in zip(rows_of(batch), batch["labels"].tolist(), strict=True))


def test_a_batch_holds_whole_examples(examples: Path, encoder: Encoder, rows: list[dict[str, Any]]) -> None:
    def expected(row: dict[str, Any]) -> tuple[int, ...]:
        specials = encoder.specials
        texts = [[specials.cls, *text[:6], specials.sep] for text in row["sentences"]]
        return (*(token for text in texts for token in text), *row["labels"])

    found = [row for step in range(5) for row in labelled(stream(examples, encoder).batch(step, 0))]
    assert sorted(found) == sorted(map(expected, rows))  # an epoch holds each once
    batch = stream(examples, encoder).batch(0, 0)
    assert batch["labels"].shape == (12, 2) and batch["pooling"].shape[:2] == (12, 3)
    assert stream(examples, encoder).encode(encoder, batch).shape == (*batch["input_ids"].shape, 8)


@pytest.mark.parametrize(("ranks", "passes"), [(1, 1), (2, 3), (3, 2), (1, 12), (4, 1)])
def test_ranks_and_passes_share_out_the_rows_of_a_step(
    examples: Path, encoder: Encoder, ranks: int, passes: int
) -> None:
    whole = labelled(stream(examples, encoder).batch(1, 0))

    def parts() -> Iterator[dict[str, torch.Tensor]]:
        for rank in range(ranks):
            mine = stream(examples, encoder, passes=passes, rank=rank, ranks=ranks)
            for part in range(passes):
                batch = mine.batch(1, part)
                of_rank = stream(examples, encoder, passes=passes, ranks=ranks).batch(1, part, rank)
                torch.testing.assert_close(of_rank, batch, rtol=0, atol=0)
                yield batch

    assert all(len(part["labels"]) == 12 // (ranks * passes) for part in parts())
    assert sorted(row for part in parts() for row in labelled(part)) == whole


def test_a_batch_is_a_function_of_seed_and_step(examples: Path, encoder: Encoder) -> None:
    one = stream(examples, encoder)
    expected = [one.batch(step, 0) for step in range(9)]
    for step in (7, 2, 8, 0):
        torch.testing.assert_close(stream(examples, encoder).batch(step, 0), expected[step], rtol=0, atol=0)
    other = [labelled(stream(examples, encoder, seed=2).batch(step, 0)) for step in range(9)]
    assert other != [labelled(batch) for batch in expected]


def test_the_tokens_of_some_examples_are_there_to_be_counted(
    examples: Path, encoder: Encoder, rows: list[dict[str, Any]]
) -> None:
    every = sorted(token for row in rows for text in row["sentences"] for token in text)
    assert sorted(stream(examples, encoder).sample(10_000)) == every
    assert sum(token >= 100 for token in stream(examples, encoder).sample(7)) == 7


def test_examples_of_another_layout_are_refused(rows: list[dict[str, Any]], encoder: Encoder, tmp_path: Path) -> None:
    for name in ("labels", "sentences"):
        folder = write([row | {name: row[name][:-1]} for row in rows], tmp_path / name)
        with pytest.raises(ValueError, match=r"do not hold 2 candidates each, as streams\.joint\.sampling says"):
            stream(folder, encoder).batch(0, 0)

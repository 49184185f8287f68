"""Joint batches: what they hold, and that a batch is a function of (seed, step) alone."""

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

    actual = [row for step in range(5) for row in labelled(stream(examples, encoder).batch(step, 0))]
    assert sorted(actual) == sorted(map(expected, rows))  # an epoch holds each once
    batch = stream(examples, encoder).batch(0, 0)
    assert batch["labels"].shape == (12, 2) and batch["pooling"].shape[:2] == (12, 3)
    assert stream(examples, encoder).encode(encoder, batch).shape == (*batch["input_ids"].shape, 8)


def test_examples_of_another_layout_are_refused(rows: list[dict[str, Any]], encoder: Encoder, tmp_path: Path) -> None:
    for name in ("labels", "sentences"):
        folder = write([row | {name: row[name][:-1]} for row in rows], tmp_path / name)
        with pytest.raises(ValueError, match=r"do not hold 2 candidates each, as streams\.joint\.sampling says"):
            stream(folder, encoder).batch(0, 0)

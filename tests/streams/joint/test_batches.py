"""Content of joint batches. `test_streams` tests what all streams share."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from contexture.encoders.config import Lengths
from contexture.streams.base import Batching, combine_needs
from contexture.streams.joint.batches import Joint
from contexture.streams.joint.config import JointConfig, JointSampling
from tests.encoders.toys import build
from tests.factories import rows_of
from tests.training.toys import TOKENS, write_rows

CONFIG = JointConfig(sentence_tokens=8, sampling=JointSampling(positives=1, hard_negatives=1, easy_negatives=0))
DRAW = np.random.default_rng(0)
#: Examples of two candidates and very different lengths.
ROWS: list[dict[str, Any]] = [
    {
        "sentences": [DRAW.integers(5, 25, DRAW.integers(1, 12)).tolist() for _ in range(3)],
        "labels": [number % 2, 1 - number % 2],
    }
    for number in range(60)
]


def open_stream(rows: list[dict[str, Any]], folder: Path) -> Joint:
    write_rows(rows, folder, sentences=pa.list_(TOKENS), labels=TOKENS)
    encoder = build(
        "transformer_cls", lengths=Lengths(8, 8), table_sizes=combine_needs({"joint": CONFIG}, Lengths(8, 8))
    )
    return Joint(CONFIG, folder, encoder, 1, Batching(batch_size=12))


def test_a_batch_holds_whole_examples(tmp_path: Path) -> None:
    stream = open_stream(ROWS, tmp_path / "joint")
    specials = stream.encoder.specials

    def expected(row: dict[str, Any]) -> tuple[int, ...]:
        texts = [[specials.cls, *text[:6], specials.sep] for text in row["sentences"]]
        return (*(token for text in texts for token in text), *row["labels"])

    batches = [stream.batch(step, 0) for step in range(5)]
    rows = [
        (*row, *labels)
        for batch in batches
        for row, labels in zip(rows_of(batch), batch["labels"].tolist(), strict=True)
    ]
    assert sorted(rows) == sorted(map(expected, ROWS))  # an epoch holds each once
    assert batches[0]["labels"].shape == (12, 2) and batches[0]["pooling"].shape[:2] == (12, 3)
    assert stream.encode(stream.encoder, batches[0]).shape == (*batches[0]["input_ids"].shape, 8)


@pytest.mark.parametrize("name", ["labels", "sentences"])
def test_examples_of_another_layout_raise_an_error(name: str, tmp_path: Path) -> None:
    stream = open_stream([row | {name: row[name][:-1]} for row in ROWS], tmp_path / name)
    with pytest.raises(ValueError, match=r"streams\.joint\.sampling: the examples do not have 2 candidates each"):
        stream.batch(0, 0)

"""Batches of Cross-Thought's samples by hand."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from contexture.encoders.config import Lengths, TableSizes
from contexture.streams.base import Batching
from contexture.streams.sequence_samples import batches
from contexture.streams.sequence_samples.batches import SequenceSamples
from contexture.streams.sequence_samples.config import SampleSampling, SequenceSamplesConfig
from tests.encoders.toys import TOKENS as SPECIAL
from tests.encoders.toys import build
from tests.training.toys import TOKENS, write_rows

#: A sample of two documents with five and two tokens, and one of one document; sequences have two tokens.
PIECES = [[[5, 6, 7, 8, 5], [9, 6]], [[10, 11, 12]]]
SEQUENCES = [[5, 6], [7, 8], [5], [9, 6], [10, 11], [12]]


@pytest.mark.parametrize("attends", ["sample", "others", "document"])
def test_a_batch_of_samples_by_hand(attends: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Words may be masked that another sequence of the sample has: 5 and 6."""
    monkeypatch.setattr(batches, "MAX_SEQUENCE_SHARE", 1.0)
    rows = [{"sample": str(n), "documents": len(p), "pieces": p} for n, p in enumerate(PIECES)]
    write_rows(rows, tmp_path / "samples", sample=pa.string(), documents=pa.int32(), pieces=pa.list_(TOKENS))
    encoder = build("transformer_cross", table_sizes=TableSizes(12), lengths=Lengths(10, 10))
    sampling: dict[str, Any] = {
        "sampling": SampleSampling(sequences=4, tokens=2),
        "maskable": "shared",
        "positions": 12,
    }
    config = SequenceSamplesConfig(**sampling, attends=attends)
    stream = SequenceSamples(config, tmp_path / "samples", encoder, 0, Batching(2, tokens_at_once=12))
    table = pa.table({"pieces": pa.array(PIECES, pa.list_(pa.list_(pa.int32())))})
    monkeypatch.setattr(batches, "part_rows", lambda lengths, part, parts: np.arange(len(lengths)))
    batch = stream.collate(table, 0, 1)
    chunks = batch["sequences"]["chunks"]
    assert len(chunks) > 1
    flat = [
        (row, words)
        for chunk in chunks
        for row, words in zip(chunk["input_ids"].tolist(), chunk["maskable"].tolist(), strict=True)
    ]
    cls, sep = SPECIAL.cls, SPECIAL.sep
    extra = list(encoder.specials.extra)
    for number, row in enumerate(batch["sequences"]["rows"].tolist()):
        words = SEQUENCES[number]
        ids, maskable = flat[row]
        assert ids[: len(words) + len(extra) + 2] == [cls, *extra, *words, sep]
        expected = [token in (5, 6) and number < 4 for token in words]
        assert maskable[: len(words) + len(extra) + 2] == [*[False] * (1 + len(extra)), *expected, False]
    assert batch["grid"].tolist() == [0, 1, 2, 3, 4, 5]
    assert batch["present"].tolist() == [[True] * 4, [True, True, False, False]]
    assert batch["documents"].tolist() == [[0, 0, 0, 1], [2, 2, 0, 0]]
    groups = batch["documents"].tolist() if attends == "document" else [[0] * 4] * 2
    assert batch["groups"].tolist() == groups and batch["to_itself"] == (attends != "others")

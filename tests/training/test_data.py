"""Batches are a function of (seed, step)."""

from pathlib import Path

import pyarrow.parquet as pq
import pytest
import torch

from contexture.encoders.layout import Specials
from contexture.training.config import MsppSystem
from contexture.training.data import JointBatches, ShuffledRows

SPECIALS = Specials(cls=1, sep=2, pad=0)


def identifiers(rows: ShuffledRows, start: int, count: int) -> list[str]:
    return rows.take(start, count)["example_id"].to_pylist()


def test_an_epoch_holds_every_row_once_and_epochs_differ(examples: Path) -> None:
    rows = ShuffledRows(examples, ["example_id"], seed=3)
    first, second = identifiers(rows, 0, 60), identifiers(rows, 60, 60)
    assert sorted(first) == sorted(second) == sorted(str(n) for n in range(60))
    assert first != second
    assert identifiers(ShuffledRows(examples, ["example_id"], seed=4), 0, 60) != first


def test_any_stretch_is_the_same_stretch_of_the_stream(examples: Path) -> None:
    rows = ShuffledRows(examples, ["example_id"], seed=3)
    whole = identifiers(rows, 0, 150)
    for start, count in ((0, 7), (5, 30), (55, 12), (119, 31)):
        assert identifiers(ShuffledRows(examples, ["example_id"], seed=3), start, count) == whole[start : start + count]


def batches(examples: Path, config: MsppSystem, **options: int) -> JointBatches:
    rows = ShuffledRows(examples, ["sentences", "labels"], seed=1)
    steps = range(options.pop("first", 0), 4)
    parts = {"accumulated": 1} | options
    return JointBatches(rows, SPECIALS, config.layout, batch_size=12, steps=steps, **parts)


def rows_of(batch: dict[str, torch.Tensor]) -> list[tuple[int, ...]]:
    kept = [ids[mask.bool()].tolist() for ids, mask in zip(batch["input_ids"], batch["attention_mask"], strict=True)]
    return sorted(tuple(row + label) for row, label in zip(kept, batch["labels"].tolist(), strict=True))


def test_ranks_and_passes_share_out_the_rows_of_a_step(examples: Path, config: MsppSystem) -> None:
    whole = batches(examples, config)[1]
    parts = [
        row
        for rank in range(2)
        for part in range(3)
        for row in rows_of(batches(examples, config, accumulated=3, rank=rank, ranks=2)[3 + part])
    ]
    assert sorted(parts) == rows_of(whole)


def test_a_resumed_run_sees_the_batches_it_would_have_seen(examples: Path, config: MsppSystem) -> None:
    later, all_of_it = batches(examples, config, first=2), batches(examples, config)
    assert len(later) == 2
    for name, tensor in later[0].items():
        assert torch.equal(tensor, all_of_it[2][name])


def test_examples_of_another_layout_are_refused(tmp_path: Path, examples: Path, config: MsppSystem) -> None:
    table = pq.read_table(next(examples.glob("*.parquet")))
    short = table.set_column(2, "labels", [[labels[:1] for labels in table["labels"].to_pylist()]])
    pq.write_table(short, tmp_path / "part.parquet")
    with pytest.raises(ValueError, match=r"layout\.candidates"):
        batches(tmp_path, config)[0]


def test_no_examples_is_an_error_that_names_the_folder(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="run the examples stage"):
        ShuffledRows(tmp_path, ["labels"], seed=0)

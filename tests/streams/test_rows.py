"""Rows and batches are functions of (seed, step), for any passes and devices."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader

from contexture.encoders.base import build_encoder
from contexture.streams.base import MixedBatches, Stream, combine_needs
from contexture.streams.rows import EmptyExamplesError, OrderedRows, ShuffledRows
from contexture.systems.config import SystemConfig
from contexture.systems.launch import training_files
from contexture.training.prepare import open_stages
from contexture.vocabulary.vocabulary import Vocabulary
from tests.factories import Ids, rows_of, texts_of
from tests.training.toys import DOCUMENTS, make_mixed_system, schedule, write_sentences


def identifiers(rows: ShuffledRows, start: int, count: int) -> list[str]:
    return rows.take(start, count)["example_id"].to_pylist()


def test_an_epoch_has_each_row_once_and_epochs_differ(examples: Path) -> None:
    rows = ShuffledRows(examples / "joint", ["example_id"], seed=3)
    first, second = identifiers(rows, 0, 60), identifiers(rows, 60, 60)
    assert sorted(first) == sorted(second) == sorted(str(n) for n in range(60))
    assert first != second
    # Rows within a group are shuffled, too.
    assert [number for number in first if int(number) < 8] != [number for number in second if int(number) < 8]
    assert identifiers(ShuffledRows(examples / "joint", ["example_id"], seed=4), 0, 60) != first


def test_take_returns_any_range_of_the_stream(examples: Path) -> None:
    folder = examples / "joint"
    whole = identifiers(ShuffledRows(folder, ["example_id"], seed=3), 0, 150)
    for start, count in ((0, 7), (5, 30), (55, 12), (119, 31)):
        assert identifiers(ShuffledRows(folder, ["example_id"], seed=3), start, count) == whole[start : start + count]


def test_each_group_is_shuffled_once_per_epoch(examples: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shuffled: list[tuple[int, ...]] = []
    monkeypatch.setattr(ShuffledRows, "_make_order", lambda _, size, *key: (shuffled.append(key), np.arange(size))[1])
    rows = ShuffledRows(examples / "joint", ["example_id"], seed=3)
    for start in range(0, 120, 3):
        rows.take(start, 3)
    assert len(shuffled) == len(set(shuffled)) == 2 * (1 + len(rows.groups))


def test_ordered_rows_repeat_from_the_start(examples: Path) -> None:
    rows = OrderedRows(examples / "sentences", ["document", "position"], 0)
    in_order = [(f"d{document}", position) for document, size in enumerate(DOCUMENTS) for position in range(size)]
    for start, count in ((0, 90), (3, 20), (85, 12), (89, 100), (360, 5)):
        table = rows.take(start, count)
        expected = [in_order[(start + position) % 90] for position in range(count)]
        assert list(zip(*(table[name].to_pylist() for name in ("document", "position")), strict=True)) == expected


def test_missing_examples_raise_an_error_that_names_the_folder(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="run the examples stage"):
        ShuffledRows(tmp_path, ["labels"], seed=0)
    write_sentences([], tmp_path / "none")
    with pytest.raises(EmptyExamplesError, match="none: no examples in these files"):
        OrderedRows(tmp_path / "none", ["tokens"], 0)


#: A run with two streams of independent rows, and streams whose texts are negatives of one another.
ALL = {"mlm": 1, "mspp": 1, "in_batch_negatives": 1, "quick_thoughts": 1, "simcse": 1}
RUNS: dict[str, Any] = {"all": schedule(4, **ALL)}


def system(**pretrain: Any) -> SystemConfig:
    return make_mixed_system(RUNS, 0.1, **pretrain)


def streams(config: SystemConfig, examples: Path, tokenizer: Path, rank: int = 0) -> tuple[dict[str, Stream], int]:
    pretraining = config.pretraining("all")
    needs = combine_needs(pretraining.streams, pretraining.lengths)
    encoder = build_encoder(pretraining.encoder, pretraining.lengths, Vocabulary.load(tokenizer), needs)
    (stage,), passes = open_stages(pretraining, 0, training_files(config, examples, tokenizer, None), encoder, rank)
    return stage, passes


def texts(batch: dict[str, Any]) -> list[Ids]:
    """Return the tokens of a batch's rows, query and document joined, sorted."""
    if "input_ids" in batch:
        return sorted(rows_of(batch))
    sides = [texts_of(batch[role]) for role in ("query", "document", "texts") if role in batch]
    return sorted(sum(parts, ()) for parts in zip(*sides, strict=True))


def test_batches_of_negatives_are_read_in_the_first_pass(examples: Path, tokenizer: Path) -> None:
    opened, passes = streams(system(micro_batch_size=3), examples, tokenizer)
    batches = MixedBatches(
        lambda step: {name: opened[name] for name in (["joint", "pairs"] if step else ["pairs"])}, range(3), passes
    )
    assert len(batches) == 12 and passes == 4
    assert [set(batch) for batch in batches] == [
        {"pairs"}, set(), set(), set(), *[{"joint", "pairs"}, {"joint"}, {"joint"}, {"joint"}] * 2
    ]  # fmt: skip
    for index in (-1, 12):
        with pytest.raises(IndexError):
            batches[index]


def test_a_resumed_run_reads_the_same_batches(examples: Path, tokenizer: Path) -> None:
    first, passes = streams(system(micro_batch_size=6), examples, tokenizer)
    second, _ = streams(system(micro_batch_size=6), examples, tokenizer)
    whole, later = (
        MixedBatches(lambda _, opened=opened: opened, steps, passes)  # type: ignore[misc]
        for opened, steps in ((first, range(4)), (second, range(2, 4)))
    )
    assert len(later) == 4
    for index in range(4):
        for name, batch in later[index].items():
            assert texts(batch) == texts(whole[index + 4][name])


def test_worker_processes_do_not_change_batches(examples: Path, tokenizer: Path) -> None:
    opened, passes = streams(system(micro_batch_size=6), examples, tokenizer)
    batches = MixedBatches(lambda _: opened, range(4), passes)
    loaded = list(DataLoader(batches, batch_size=None, num_workers=2))
    assert len(loaded) == 8 and set(loaded[0]) == {"joint", "pairs", "contiguous", "sentences"}
    torch.testing.assert_close(loaded, list(batches), rtol=0, atol=0)


def test_each_stream_can_have_a_batch_size(examples: Path, tokenizer: Path) -> None:
    run = RUNS["all"] | {"batch_size": {"pairs": 20, "joint": 8}}
    opened, _ = streams(make_mixed_system({"all": run}, 0.1), examples, tokenizer)
    sizes = {name: len(texts(stream.batch(1, 0))) for name, stream in opened.items()}
    assert sizes == {"joint": 8, "pairs": 20, "contiguous": 12, "sentences": 12}
    opened, _ = streams(make_mixed_system({"all": run | {"batch_size": 30}}, 0.1), examples, tokenizer)
    assert {len(texts(stream.batch(1, 0))) for stream in opened.values()} == {30}


def test_a_batch_size_that_passes_do_not_divide_raises_an_error(examples: Path, tokenizer: Path) -> None:
    with pytest.raises(ValueError, match="run all, stream joint: batch_size 7 must be a multiple of 2 passes × 1 dev"):
        streams(system(batch_size=7, micro_batch_size=5), examples, tokenizer)


def test_a_device_needs_two_texts(examples: Path, tokenizer: Path) -> None:
    config = make_mixed_system({"all": schedule(in_batch_negatives=1) | {"batch_size": 2}}, devices=2)
    with pytest.raises(ValueError, match="pairs: batch_size 2 on 2 devices: texts are negatives of one another"):
        streams(config, examples, tokenizer)
    run = replace(config.pretrain.runs["all"], batch_size=4)
    streams(replace(config, pretrain=replace(config.pretrain, runs={"all": run})), examples, tokenizer)

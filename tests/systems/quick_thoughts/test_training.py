"""Quick-Thoughts and Skip-Thought in training: contiguous batches, exact resumption, snapshots, several processes."""

import json
import shutil
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from pydantic import TypeAdapter, ValidationError

from contexture.encoders.models import EncoderModel
from contexture.encoders.sentence_encoder_files import load_sentence_encoders, save_sentence_encoders
from contexture.folders import UNFINISHED
from contexture.systems.quick_thoughts.batches import ContiguousBatches, prepare_quick_thoughts
from contexture.systems.quick_thoughts.config import QuickThoughtsSystem
from contexture.training import checkpoints
from contexture.training.curves import read_curves
from contexture.training.launcher import launch_pretraining
from contexture.training.snapshots import snapshots, time_of, totals_of
from contexture.vocabulary.tokenizers import load_tokenizer
from contexture.vocabulary.words import VECTORS_FILE
from tests.systems.two_tower.test_training import entry_point, killed_at, weights
from tests.training.conftest import DOCUMENTS, WORDS, quick_thoughts, write_sentences
from tests.training.test_pretrain import Killed, assert_same

KINDS = ["uni", "bi", "bow", "fixed", "transformer"]


def train(
    run: str, sentences: Path, words: Path, folder: Path, config: QuickThoughtsSystem | None = None, seed: int = 0
) -> dict[str, torch.Tensor]:
    launch_pretraining(config or quick_thoughts(), run, seed, sentences, words, folder)
    return weights(folder)


def batches(
    config: QuickThoughtsSystem, sentences: Path, words: Path, run: str = "uni", rank: int = 0, steps: int = 20
) -> Any:
    prepared = prepare_quick_thoughts(config, run, 0, sentences, words, load_tokenizer(words)[1], None)
    assert prepared.batches is not None
    return prepared.batches(range(steps), rank)


def texts_of(batch: dict[str, Any]) -> list[list[int]]:
    """The words of the sentences of a batch, padding aside."""
    (chunk,) = batch["sentences"]
    return [ids[mask.bool()].tolist() for ids, mask in zip(chunk["input_ids"], chunk["attention_mask"], strict=True)]


def corpus(sentences: Path) -> pd.DataFrame:
    return pd.concat([pd.read_parquet(file) for file in sorted(sentences.glob("*.parquet"))], ignore_index=True)


def test_batches_are_the_corpus_in_its_order_again_and_again(sentences: Path, words: Path) -> None:
    table = corpus(sentences)
    assert len(table) == sum(DOCUMENTS) == 90
    found = batches(quick_thoughts(), sentences, words)
    assert len(found) == 20  # 240 sentences: two times the corpus and two thirds
    for step, batch in enumerate(found):
        rows = table.take([(step * 12 + place) % 90 for place in range(12)])
        assert texts_of(batch) == [tokens[:7].tolist() for tokens in rows["tokens"]]
        assert batch["positions"].tolist() == rows["position"].tolist()
        names = dict(zip(batch["document_numbers"].tolist(), rows["document"], strict=True))
        assert [names[number] for number in batch["document_numbers"].tolist()] == rows["document"].tolist()
        assert int(batch["first"]) == 0
    lengths = [len(tokens) for tokens in table["tokens"]]
    assert min(lengths) < 7 < max(lengths)


def test_boundaries_of_documents_are_kept_or_crossed(sentences: Path, words: Path) -> None:
    """The second document, of two sentences, and the third start in the second batch; see DOCUMENTS."""
    kept = batches(quick_thoughts(), sentences, words)[1]
    crossed = batches(quick_thoughts({"boundaries": "cross"}), sentences, words)[1]
    numbers = kept["document_numbers"].tolist()
    assert numbers[0] == numbers[1] != numbers[2] == numbers[3] != numbers[4]
    assert len(set(numbers)) == 3
    assert kept["positions"].tolist() == [12, 13, 0, 1, *range(8)]
    assert crossed["document_numbers"].tolist() == [0] * 12
    assert crossed["positions"].tolist() == list(range(12))
    assert texts_of(crossed) == texts_of(kept)


@pytest.mark.parametrize("boundaries", ["documents", "cross"])
def test_the_runs_of_two_ranks_are_the_whole(boundaries: str, sentences: Path, words: Path) -> None:
    whole = batches(quick_thoughts({"boundaries": boundaries}), sentences, words)
    config = quick_thoughts({"boundaries": boundaries}, devices=2)
    first, second = (batches(config, sentences, words, rank=rank) for rank in (0, 1))
    for step in range(9):
        assert texts_of(first[step]) + texts_of(second[step]) == texts_of(whole[step])
        assert (int(first[step]["first"]), int(second[step]["first"])) == (0, 6)
        for name in ("document_numbers", "positions"):  # of all devices' sentences, on each
            assert first[step][name].tolist() == second[step][name].tolist() == whole[step][name].tolist()


def test_a_run_may_have_its_own_batch_size(sentences: Path, words: Path) -> None:
    runs = asdict(quick_thoughts())["pretrain"]["runs"]
    config = quick_thoughts(runs=runs | {"bow": runs["bow"] | {"batch_size": 30}})
    assert [len(texts_of(batches(config, sentences, words, run)[1])) for run in ("uni", "bow")] == [12, 30]
    assert texts_of(batches(config, sentences, words, "bow")[1])[0] == corpus(sentences)["tokens"][30][:7].tolist()
    with pytest.raises(ValidationError, match="run bow: batch_size is 30: it must be a multiple of devices, 4"):
        quick_thoughts(runs=runs | {"bow": runs["bow"] | {"batch_size": 30}}, devices=4)


@pytest.mark.parametrize(
    ("run", "changed"),
    [
        ("uni", {}),
        ("bow", {"optimizer": {"learning_rate": 1e-2, "schedule": "constant", "clip": "each", "clip_norm": 1e-2}}),
        ("transformer", {"optimizer": {"learning_rate": 1e-3, "warmup_steps": 3, "clip_norm": 1e-2}}),
        ("fixed", {"optimizer": {"learning_rate": 1e-2, "schedule": "constant", "warmup_steps": 4}}),
        ("skip_thought", {"optimizer": {"learning_rate": 1e-2, "schedule": "constant", "clip": "each"}}),
    ],
)
def test_a_run_killed_at_any_step_resumes_bit_for_bit(
    run: str,
    changed: dict[str, Any],
    sentences: Path,
    words: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Behind a checkpoint and a snapshot, and between the two; what it kept on the way is the same, too."""
    config = quick_thoughts(**changed)
    expected = train(run, sentences, words, tmp_path / "whole", config)
    assert sum("snapshots/" in name for name in expected) == len(expected) * 2 / 3
    for steps in ((1,), (4,), (3, 5)):
        folder = tmp_path / f"killed-{steps}"
        for step in steps:
            with monkeypatch.context() as patch:
                killed_at(step, patch, kinds=[ContiguousBatches])
                with pytest.raises(Killed):
                    train(run, sentences, words, folder, config)
            assert not folder.exists()
            assert (folder.with_name(folder.name + UNFINISHED) / checkpoints.NAME).exists() == (step >= 2)
        assert_same(train(run, sentences, words, folder, config), expected)
        assert read_curves(folder)["step"].tolist() == list(range(1, 7))


@pytest.mark.parametrize("run", ["uni", "skip_thought", "random"])
def test_the_same_seed_gives_the_same_weights(run: str, sentences: Path, words: Path, tmp_path: Path) -> None:
    one, again, other = (train(run, sentences, words, tmp_path / f"{i}", seed=seed) for i, seed in enumerate((0, 0, 1)))
    assert_same(one, again)
    assert any(not torch.equal(one[name], other[name]) for name in one)


def test_clipping_every_parameter_is_not_clipping_all(sentences: Path, words: Path, tmp_path: Path) -> None:
    """After one step of plain descent a parameter has moved by its clipped gradient, here a thousand times it."""
    moved = {}
    for clip in ("all", "each"):
        runs = {"uni": {"encoder": "uni", "schedule": [{"steps": 1, "weights": {"quick_thoughts": 1}}]}}
        start = runs | {"uni": {"encoder": "uni", "schedule": []}}
        # With an epsilon this large Adam's first step is the gradient, times learning_rate / epsilon.
        optimizer = {"learning_rate": 1e6, "epsilon": 1e3, "weight_decay": 0.0, "schedule": "constant"}
        config = quick_thoughts(runs=runs, optimizer=optimizer | {"clip": clip, "clip_norm": 1e-6}, snapshots=0)
        before = train("uni", sentences, words, tmp_path / f"{clip}-start", quick_thoughts(runs=start))
        after = train("uni", sentences, words, tmp_path / clip, config)
        moved[clip] = torch.stack([torch.linalg.norm(after[name] - before[name]) for name in before])
    assert float(torch.linalg.norm(moved["all"])) == pytest.approx(1e-3, rel=0.01)
    torch.testing.assert_close(moved["each"], torch.full_like(moved["each"], 1e-3), rtol=0.01, atol=0)


@pytest.fixture
def ticking(monkeypatch: pytest.MonkeyPatch) -> Callable[[], float]:
    """A clock for snapshots alone, by which every step takes a second, and saving a hundred."""
    now = 0.0

    def tick(self: ContiguousBatches, index: int) -> Any:
        nonlocal now
        now += 1
        return read(self, index)

    def slow(*arguments: Any) -> None:
        nonlocal now
        now += 100
        save(*arguments)

    read = ContiguousBatches.__getitem__
    save = save_sentence_encoders
    monkeypatch.setattr(ContiguousBatches, "__getitem__", tick)
    monkeypatch.setattr("contexture.systems.quick_thoughts.batches.save_sentence_encoders", slow)
    monkeypatch.setattr("contexture.training.snapshots.time", type("Clock", (), {"perf_counter": lambda: now}))
    return lambda: now


def test_snapshots_are_evenly_spaced_and_tell_the_time_of_training(
    sentences: Path, words: Path, tmp_path: Path, ticking: Callable[[], float]
) -> None:
    for count, steps in ((0, []), (1, [6]), (2, [3, 6]), (4, [2, 3, 4, 6]), (50, [1, 2, 3, 4, 5, 6])):
        folder = tmp_path / f"{count}"
        train("uni", sentences, words, folder, quick_thoughts(snapshots=count))
        kept = snapshots(folder)
        assert [one.name for one in kept] == [f"{step:08d}" for step in steps]
        assert [time_of(one)["step"] for one in kept] == steps
        seconds = [time_of(one)["seconds"] for one in kept]
        # The batch of the next step is read, hence its second counted, before the callbacks of this one.
        assert all(abs(spent - step) <= 1 for spent, step in zip(seconds, steps, strict=True))
        assert totals_of(folder)["seconds"] == (seconds[-1] if kept else None)
        if kept:
            assert_same(weights(kept[-1]), {name: one for name, one in weights(folder).items() if "/" not in name})


@pytest.mark.parametrize("steps", [(1,), (3,), (4,), (5,), (2, 5)])
def test_the_time_of_a_resumed_run_is_that_of_an_uninterrupted_one(
    steps: tuple[int, ...],
    sentences: Path,
    words: Path,
    tmp_path: Path,
    ticking: Callable[[], float],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    config = quick_thoughts(snapshots=3, checkpoint_every=3)
    for step in steps:
        with monkeypatch.context() as patch:
            killed_at(step, patch, kinds=[ContiguousBatches])
            with pytest.raises(Killed):
                train("bow", sentences, words, tmp_path / "run", config)
    train("bow", sentences, words, tmp_path / "run", config)
    times = [time_of(one) for one in snapshots(tmp_path / "run")]
    assert [one["step"] for one in times] == [2, 4, 6]
    assert all(abs(one["seconds"] - one["step"]) <= 2 for one in times)
    assert times[0]["seconds"] < times[1]["seconds"] < times[2]["seconds"]


@pytest.mark.parametrize("run", [*KINDS, "skip_thought"])
def test_the_loss_falls_and_the_encoder_embeds(run: str, sentences: Path, words: Path, tmp_path: Path) -> None:
    objective = "skip_thought" if run == "skip_thought" else "quick_thoughts"
    runs = {
        run: {"schedule": [{"steps": 40, "weights": {objective: 1}}], "encoder": {"skip_thought": "uni"}.get(run, run)}
    }
    config = quick_thoughts(runs=runs, batch_size=30, log_every=4, checkpoint_every=100)
    train(run, sentences, words, tmp_path / "run", config)
    losses = read_curves(tmp_path / "run")[f"train/{objective}"]
    assert len(losses) == 10
    assert losses[-3:].mean() < losses[:3].mean() - 0.1
    model = EncoderModel(tmp_path / "run")
    vectors = model([" ".join(WORDS[:3]), WORDS[0], " ".join(WORDS[5:20])])
    sides = 1 if run == "skip_thought" else 2
    assert vectors.shape == (3, 8 * sides)
    np.testing.assert_allclose(np.linalg.norm(vectors.reshape(3, sides, 8), axis=2), 1, rtol=1e-5)
    assert len(np.unique(vectors.round(3), axis=0)) == 3
    assert (load_sentence_encoders(tmp_path / "run").g is None) == (run == "skip_thought")


def test_parameters_of_a_run_are_counted_with_those_of_its_decoders(
    sentences: Path, words: Path, tmp_path: Path
) -> None:
    trained = 5 + len(WORDS) - 6
    one_gru = 3 * 8 * (8 + 8 + 2)
    for run, parameters in (
        ("uni", 2 * (one_gru + trained * 8)),
        ("bow", 2 * trained * 8),
        ("skip_thought", one_gru + trained * 8 + 2 * (one_gru + trained * (8 + 1))),
        ("random", 2 * (one_gru + trained * 8)),
    ):
        train(run, sentences, words, tmp_path / run)
        assert totals_of(tmp_path / run)["parameters"] == parameters


def test_fewer_sentences_than_a_batch_are_refused(sentences: Path, words: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"90 sentences are fewer than a batch of 92: give more text, or a smaller"):
        train("uni", sentences, words, tmp_path / "run", quick_thoughts(batch_size=92))
    assert not (tmp_path / "run").exists()
    train("uni", sentences, words, tmp_path / "run", quick_thoughts(batch_size=90))  # the way out is open
    write_sentences([], tmp_path / "none")
    with pytest.raises(ValueError, match=r"none: no examples in these files"):
        train("uni", tmp_path / "none", words, tmp_path / "other")


def test_fixed_words_need_vectors(sentences: Path, words: Path, tmp_path: Path) -> None:
    without = tmp_path / "words"
    shutil.copytree(words, without)
    (without / VECTORS_FILE).unlink()
    with pytest.raises(ValueError, match=r"word_vectors\.npy is missing or damaged .* run the vocabulary stage"):
        train("fixed", sentences, without, tmp_path / "fixed")
    train("uni", sentences, without, tmp_path / "uni")  # which has words of its own
    fixed = train("fixed", sentences, words, tmp_path / "fixed")
    vectors = np.load(words / VECTORS_FILE)
    (table,) = (tensor for name, tensor in fixed.items() if name.startswith("model") and name.endswith("words.weight"))
    np.testing.assert_array_equal(table.numpy(), vectors)


@pytest.mark.parametrize(
    ("runs", "said"),
    [
        (
            {"a": {"encoder": "transformer", "schedule": [{"steps": 1, "weights": {"skip_thought": 1}}]}},
            "run a: skip_thought reads and writes trained words of a gru or a bag_of_words",
        ),
        (
            {"a": {"encoder": "fixed", "schedule": [{"steps": 1, "weights": {"skip_thought": 1}}]}},
            "run a: skip_thought reads and writes trained words of a gru or a bag_of_words",
        ),
        (
            {"a": {"encoder": "uni", "schedule": [], "batch_size": 1}},
            "run a: batch_size is 1: .*at least two sentences",
        ),
        ({"a": {"encoder": "gnu", "schedule": []}}, "run a: no encoder 'gnu'; there are"),
        (
            {"a": {"encoder": "uni", "schedule": [{"steps": 1, "weights": {"skip_thought": 1, "quick_thoughts": 1}}]}},
            "by quick_thoughts or by skip_thought, alone",
        ),
        ({"a": {"encoder": "uni", "schedule": [{"steps": 1, "weights": {"mlm": 1}}]}}, "by quick_thoughts or by"),
        ({"a": {"schedule": []}}, "encoder"),
    ],
)
def test_runs_that_cannot_be_are_refused(runs: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        quick_thoughts(runs=runs)


def test_a_run_begins_with_new_weights(sentences: Path, words: Path, tmp_path: Path) -> None:
    train("random", sentences, words, tmp_path / "first")
    with pytest.raises(ValueError, match="first: runs of quick_thoughts start from new weights; leave --start out"):
        launch_pretraining(quick_thoughts(), "uni", 0, sentences, words, tmp_path / "run", tmp_path / "first")


def test_a_configuration_survives_the_way_to_another_process() -> None:
    config = quick_thoughts()
    told = json.loads(json.dumps(config.training()))
    assert TypeAdapter(QuickThoughtsSystem).validate_python(told) == config


def test_a_run_is_not_resumed_with_other_settings(
    sentences: Path, words: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        killed_at(3, patch, kinds=[ContiguousBatches])
        with pytest.raises(Killed):
            train("uni", sentences, words, tmp_path / "run")
    config = quick_thoughts()
    for changed, difference in (
        (quick_thoughts({"boundaries": "cross"}), 'layout.boundaries: was "documents", is "cross"'),
        (quick_thoughts(batch_size=10), "pretrain.batch_size: was 12, is 10"),
        (
            replace(config, encoders=config.encoders | {"uni": replace(config.encoders["uni"], embedding_size=4)}),
            "encoder.embedding_size: was 8, is 4",
        ),
    ):
        with pytest.raises(ValueError, match="begun with other settings") as raised:
            train("uni", sentences, words, tmp_path / "run", changed)
        assert difference in str(raised.value)
    other = tmp_path / "words"
    shutil.copytree(words, other)
    np.save(other / VECTORS_FILE, 2 * np.load(words / VECTORS_FILE))
    with pytest.raises(ValueError, match=r"begun with other settings \(tokenizer: was"):
        train("uni", sentences, other, tmp_path / "run")


def test_encoders_train_in_bf16(sentences: Path, words: Path, tmp_path: Path) -> None:
    for precision, run in (("bf16", "bi"), ("auto", "skip_thought")):
        found = train(run, sentences, words, tmp_path / run, quick_thoughts(precision=precision))
        assert all(tensor.dtype == torch.float32 and torch.isfinite(tensor).all() for tensor in found.values())


@pytest.mark.slow
def test_training_runs_from_files_alone(sentences: Path, words: Path, tmp_path: Path) -> None:
    """Where Kedro, Spark, Java and MLflow are not installed."""
    (tmp_path / "config.json").write_text(json.dumps(quick_thoughts().training()))
    done = entry_point(
        tmp_path, "-m", "contexture.training", "pretrain", "--config", "config.json", "--recipe", "bi",
        "--examples", str(sentences), "--tokenizer", str(words), "--output", "encoder",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert_same(weights(tmp_path / "encoder"), train("bi", sentences, words, tmp_path / "here"))


#: With Adam's own epsilon a gradient that is zero but for rounding moves a weight as far as any other does.
STEADY = {"learning_rate": 2e-3, "schedule": "constant", "epsilon": 1e-3}


@pytest.mark.slow
@pytest.mark.parametrize(("run", "boundaries"), [("uni", "documents"), ("bow", "cross"), ("fixed", "documents")])
def test_two_processes_give_what_one_gives(
    run: str, boundaries: str, sentences: Path, words: Path, tmp_path: Path
) -> None:
    """Sentences whose neighbour the other process has, and ranks with different numbers of them that have any."""
    one, two = (
        train(run, sentences, words, tmp_path / f"{devices}", quick_thoughts({"boundaries": boundaries}, **changed))
        for devices in (1, 2)
        for changed in [{"optimizer": STEADY, "devices": devices}]
    )
    assert_same(one, two, atol=1e-5, rtol=1e-4)
    start = train("random", sentences, words, tmp_path / "start") if run == "uni" else {}
    assert all(not torch.equal(tensor, one[name]) for name, tensor in start.items())


@pytest.mark.slow
def test_skip_thought_trains_in_two_processes(sentences: Path, words: Path, tmp_path: Path) -> None:
    train("skip_thought", sentences, words, tmp_path / "run", quick_thoughts(devices=2))
    assert read_curves(tmp_path / "run")["train/skip_thought"].between(0, 20).all()
    assert totals_of(tmp_path / "run")["seconds"] > 0

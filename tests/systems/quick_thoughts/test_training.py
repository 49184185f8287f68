"""Training of Quick-Thoughts and Skip-Thought: contiguous batches, exact resumption, snapshots, several processes."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from pydantic import ValidationError

from contexture.encoders.base import build_encoder
from contexture.encoders.files import load_encoder, save_encoder
from contexture.encoders.models import load_model
from contexture.folders import SET_ASIDE, UNFINISHED
from contexture.streams.base import MixedBatches
from contexture.systems.config import SystemConfig
from contexture.systems.launch import training_files
from contexture.training import checkpoints
from contexture.training.curves import read_curves
from contexture.training.prepare import open_stages
from contexture.training.pretrain import read_summary
from contexture.training.snapshots import list_snapshots, read_time
from contexture.vocabulary.vocabulary import Vocabulary
from contexture.vocabulary.words import VECTORS_FILE
from tests.systems.resume import kill
from tests.training import runs
from tests.training.runs import are_different, assert_same, weights
from tests.training.toys import DOCUMENTS, WORDS, quick_thoughts, schedule, write_sentences

KINDS = ["uni", "bi", "bow", "fixed", "transformer"]
CONTIGUOUS = "contiguous"


def train(
    run: str, word_examples: Path, words: Path, folder: Path, config: SystemConfig | None = None, seed: int = 0
) -> dict[str, torch.Tensor]:
    return runs.train(config or quick_thoughts(), run, word_examples, words, folder, seed)


def train_with_changes(
    run: str, words_of: Path, words: Path, folder: Path, config: SystemConfig, caplog: pytest.LogCaptureFixture
) -> str:
    """Train with other settings than an unfinished run, restore that run, and return the warning."""
    unfinished = folder.with_name(folder.name + UNFINISHED)
    unfinished_contents = runs.read_files(unfinished)
    caplog.clear()
    train(run, words_of, words, folder, config)
    shutil.rmtree(folder)
    aside = folder.with_name(folder.name + SET_ASIDE)
    assert runs.read_files(aside) == unfinished_contents
    aside.rename(unfinished)
    [message] = [record.getMessage() for record in caplog.records if "begun with other settings" in record.getMessage()]
    return message


def read_batches(
    config: SystemConfig, word_examples: Path, words: Path, run: str = "uni", rank: int = 0, steps: int = 20
) -> list[dict[str, Any]]:
    pretraining = config.pretraining(run)
    encoder = build_encoder(pretraining.encoder, pretraining.lengths, Vocabulary.load(words))
    (streams,), _ = open_stages(pretraining, 0, training_files(config, word_examples, words, None), encoder, rank)
    return [streams[CONTIGUOUS].batch(step, 0) for step in range(steps)]


def sentence_tokens(batch: dict[str, Any]) -> list[list[int]]:
    """Return the tokens of the sentences of a batch without padding."""
    (chunk,) = batch["texts"]["chunks"]
    rows = [ids[mask.bool()].tolist() for ids, mask in zip(chunk["input_ids"], chunk["attention_mask"], strict=True)]
    words = batch["words"]
    assert [rows[position] for position in batch["texts"]["rows"].tolist()] == [
        ids[mask.bool()].tolist() for ids, mask in zip(words["input_ids"], words["attention_mask"], strict=True)
    ]
    return [rows[position] for position in batch["texts"]["rows"].tolist()]


def corpus(word_examples: Path) -> pd.DataFrame:
    files = sorted((word_examples / "sentences").glob("*.parquet"))
    return pd.concat([pd.read_parquet(file) for file in files], ignore_index=True)


def test_batches_repeat_the_corpus_in_order(word_examples: Path, words: Path) -> None:
    table = corpus(word_examples)
    assert len(table) == sum(DOCUMENTS) == 90
    batches = read_batches(quick_thoughts(), word_examples, words)
    assert len(batches) == 20  # 240 sentences: 2 2/3 passes over the corpus
    for step, batch in enumerate(batches):
        rows = table.take([(step * 12 + position) % 90 for position in range(12)])
        assert sentence_tokens(batch) == [tokens[:7].tolist() for tokens in rows["tokens"]]
        assert batch["positions"].tolist() == rows["position"].tolist()
        names = dict(zip(batch["document_numbers"].tolist(), rows["document"], strict=True))
        assert [names[number] for number in batch["document_numbers"].tolist()] == rows["document"].tolist()
        assert int(batch["first"]) == 0
    lengths = [len(tokens) for tokens in table["tokens"]]
    assert min(lengths) < 7 < max(lengths)


def test_boundaries_of_documents_are_kept_or_crossed(word_examples: Path, words: Path) -> None:
    """Documents 2 (two sentences) and 3 start in the second batch; see DOCUMENTS."""
    kept = read_batches(quick_thoughts(), word_examples, words)[1]
    crossed = read_batches(quick_thoughts({"boundaries": "cross"}), word_examples, words)[1]
    numbers = kept["document_numbers"].tolist()
    assert numbers[0] == numbers[1] != numbers[2] == numbers[3] != numbers[4]
    assert len(set(numbers)) == 3
    assert kept["positions"].tolist() == [12, 13, 0, 1, *range(8)]
    assert crossed["document_numbers"].tolist() == [0] * 12
    assert crossed["positions"].tolist() == list(range(12))
    assert sentence_tokens(crossed) == sentence_tokens(kept)


@pytest.mark.parametrize("boundaries", ["documents", "cross"])
def test_batches_of_two_ranks_are_the_whole(boundaries: str, word_examples: Path, words: Path) -> None:
    whole = read_batches(quick_thoughts({"boundaries": boundaries}), word_examples, words)
    config = quick_thoughts({"boundaries": boundaries}, devices=2)
    first, second = (read_batches(config, word_examples, words, rank=rank) for rank in (0, 1))
    for step in range(9):
        assert sentence_tokens(first[step]) + sentence_tokens(second[step]) == sentence_tokens(whole[step])
        assert (int(first[step]["first"]), int(second[step]["first"])) == (0, 6)
        for name in ("document_numbers", "positions"):  # of the sentences of all devices, on each device
            assert first[step][name].tolist() == second[step][name].tolist() == whole[step][name].tolist()


def test_a_run_may_have_its_own_batch_size(word_examples: Path, words: Path) -> None:
    runs_by_name = {
        "uni": schedule(quick_thoughts=1),
        "bow": schedule(quick_thoughts=1) | {"encoder": "bow", "batch_size": 30},
    }
    config = quick_thoughts(runs=runs_by_name)
    assert [len(sentence_tokens(read_batches(config, word_examples, words, run)[1])) for run in ("uni", "bow")] == [
        12,
        30,
    ]
    first = sentence_tokens(read_batches(config, word_examples, words, "bow")[1])[0]
    assert first == corpus(word_examples)["tokens"][30][:7].tolist()
    with pytest.raises(ValidationError, match=r"runs\.bow\n.*batch_size 30 must be a multiple of devices, 4"):
        quick_thoughts(runs=runs_by_name, devices=4)


@pytest.mark.parametrize(
    ("run", "changed"),
    [
        ("uni", {}),
        ("skip_thought", {"optimizer": {"learning_rate": 1e-2, "schedule": "constant", "clip": "each"}}),
        pytest.param(
            "bow",
            {"optimizer": {"learning_rate": 1e-2, "schedule": "constant", "clip": "each", "clip_norm": 1e-2}},
            marks=pytest.mark.slow,
        ),
        pytest.param(
            "transformer",
            {"optimizer": {"learning_rate": 1e-3, "warmup_steps": 3, "clip_norm": 1e-2}},
            marks=pytest.mark.slow,
        ),
        pytest.param(
            "fixed",
            {"optimizer": {"learning_rate": 1e-2, "schedule": "constant", "warmup_steps": 4}},
            marks=pytest.mark.slow,
        ),
    ],
)
def test_killed_run_resumes_exactly(
    run: str,
    changed: dict[str, Any],
    word_examples: Path,
    words: Path,
    tmp_path: Path,
) -> None:
    """Kill a run before, between and after checkpoints and snapshots; snapshots are equal, too."""
    config = quick_thoughts(**changed)
    expected = train(run, word_examples, words, tmp_path / "whole", config)
    kept = [name for name in expected if name.startswith("snapshots/")]
    assert len(kept) == 2 * len([name for name in expected if not name.startswith(("snapshots/", "objectives."))])
    for steps in ((1,), (4,), (3, 5)):
        folder = tmp_path / f"killed-{steps}"
        for step in steps:
            kill(partial(train, run, word_examples, words, folder, config), step)
            assert not folder.exists()
            assert (folder.with_name(folder.name + UNFINISHED) / checkpoints.CHECKPOINT_DIR).exists() == (step >= 2)
        assert_same(train(run, word_examples, words, folder, config), expected)
        assert read_curves(folder)["step"].tolist() == list(range(1, 7))


@pytest.mark.parametrize("run", ["uni", "skip_thought", "untrained"])
def test_the_same_seed_gives_the_same_weights(run: str, word_examples: Path, words: Path, tmp_path: Path) -> None:
    first, again, other = (
        train(run, word_examples, words, tmp_path / f"{i}", seed=seed) for i, seed in enumerate((0, 0, 1))
    )
    assert_same(first, again)
    assert are_different(first, other)


def test_clipping_each_parameter_differs_from_clipping_all(word_examples: Path, words: Path, tmp_path: Path) -> None:
    """After one step of gradient descent, parameters have moved by 1000 times their clipped gradient."""
    moved = {}
    for clip in ("all", "each"):
        # With an epsilon this large Adam's first step is the gradient, times learning_rate / epsilon.
        optimizer = {"learning_rate": 1e6, "epsilon": 1e3, "weight_decay": 0.0, "schedule": "constant"}
        one_step, no_steps = {"uni": schedule(1, quick_thoughts=1)}, {"uni": {"schedule": []}}
        config = quick_thoughts(runs=one_step, optimizer=optimizer | {"clip": clip, "clip_norm": 1e-6}, snapshots=0)
        start = train("uni", word_examples, words, tmp_path / f"{clip}-start", quick_thoughts(runs=no_steps))
        end = train("uni", word_examples, words, tmp_path / clip, config)
        moved[clip] = torch.stack([torch.linalg.norm(end[name] - start[name]) for name in start])
    assert float(torch.linalg.norm(moved["all"])) == pytest.approx(1e-3, rel=0.01)
    torch.testing.assert_close(moved["each"], torch.full_like(moved["each"], 1e-3), rtol=0.01, atol=0)


@pytest.fixture
def ticking(monkeypatch: pytest.MonkeyPatch) -> Callable[[], float]:
    """Replace the clock of snapshots: steps take one second, saving takes 100 seconds."""
    now = 0.0

    def tick(self: MixedBatches, index: int) -> Any:
        nonlocal now
        now += 1
        return read(self, index)

    def slow(*arguments: Any) -> None:
        nonlocal now
        now += 100
        save_encoder(*arguments)

    read = MixedBatches.__getitem__
    monkeypatch.setattr(MixedBatches, "__getitem__", tick)
    monkeypatch.setattr("contexture.training.pretrain.save_encoder", slow)
    monkeypatch.setattr("contexture.training.module.time", type("Clock", (), {"perf_counter": lambda: now}))
    return lambda: now


def test_snapshots_are_evenly_spaced_with_training_times(
    word_examples: Path, words: Path, tmp_path: Path, ticking: Callable[[], float]
) -> None:
    for count, steps in ((0, []), (1, [6]), (2, [3, 6]), (4, [2, 3, 4, 6]), (50, [1, 2, 3, 4, 5, 6])):
        folder = tmp_path / f"{count}"
        train("uni", word_examples, words, folder, quick_thoughts(snapshots=count))
        kept = list_snapshots(folder)
        assert [snapshot.name for snapshot in kept] == [f"{step:08d}" for step in steps]
        assert [read_time(snapshot)["step"] for snapshot in kept] == steps
        seconds = [read_time(snapshot)["seconds"] for snapshot in kept]
        # The batch of the next step is read, and its second counted, before the callbacks of this step.
        assert all(abs(elapsed - step) <= 1 for elapsed, step in zip(seconds, steps, strict=True))
        if kept:
            assert_same(
                weights(kept[-1]),
                {name: tensor for name, tensor in weights(folder).items() if not name.startswith("snap")},
            )


@pytest.mark.parametrize("steps", [(1,), (3,), (4,), (5,), (2, 5)])
def test_resumed_run_keeps_training_time(
    steps: tuple[int, ...],
    word_examples: Path,
    words: Path,
    tmp_path: Path,
    ticking: Callable[[], float],
) -> None:
    config = quick_thoughts(snapshots=3, checkpoint_every=3)
    kill(lambda: train("bow", word_examples, words, tmp_path / "run", config), *steps)
    train("bow", word_examples, words, tmp_path / "run", config)
    times = [read_time(snapshot) for snapshot in list_snapshots(tmp_path / "run")]
    assert [snapshot["step"] for snapshot in times] == [2, 4, 6]
    assert all(abs(snapshot["seconds"] - snapshot["step"]) <= 2 for snapshot in times)
    assert times[0]["seconds"] < times[1]["seconds"] < times[2]["seconds"]


@pytest.mark.parametrize("run", [*KINDS, "skip_thought"])
def test_loss_decreases_and_encoder_embeds(run: str, word_examples: Path, words: Path, tmp_path: Path) -> None:
    objective = "skip_thought" if run == "skip_thought" else "quick_thoughts"
    runs_by_name = {run: schedule(40, **{objective: 1}) | {"encoder": {"skip_thought": "single"}.get(run, run)}}
    config = quick_thoughts(runs=runs_by_name, batch_size=30, log_every=4, checkpoint_every=100)
    train(run, word_examples, words, tmp_path / "run", config)
    losses = read_curves(tmp_path / "run")[f"train/{objective}"]
    assert len(losses) == 10
    assert losses[-3:].mean() < losses[:3].mean() - 0.1
    model = load_model(str(tmp_path / "run"))
    vectors = model.embed([" ".join(WORDS[:3]), WORDS[0], " ".join(WORDS[5:20])])
    sides = 1 if run == "skip_thought" else 2
    assert vectors.shape == (3, 8 * sides)
    np.testing.assert_allclose(np.linalg.norm(vectors.reshape(3, sides, 8), axis=2), 1, rtol=1e-5)
    assert len(np.unique(vectors.round(3), axis=0)) == 3
    assert len(load_encoder(tmp_path / "run").networks) == sides


def test_parameters_of_decoders_are_counted(word_examples: Path, words: Path, tmp_path: Path) -> None:
    """Fixed word vectors are not trained and belong to the encoder only."""
    trained, all_words = 5 + len(WORDS) - 6, 5 + len(WORDS)
    one_gru, over_fixed = 3 * 8 * (8 + 8 + 2), 3 * 8 * (6 + 8 + 2)
    for run, encoder, decoders in (
        ("uni", 2 * (one_gru + trained * 8), 0),
        ("bow", 2 * trained * 8, 0),
        ("fixed", 2 * over_fixed + all_words * 6, -all_words * 6),
        ("skip_thought", one_gru + trained * 8, 2 * (one_gru + trained * (8 + 1))),
        ("untrained", 2 * (one_gru + trained * 8), 0),
    ):
        train(run, word_examples, words, tmp_path / run)
        summary = read_summary(tmp_path / run)
        assert (summary["parameters"], summary["trained_parameters"]) == (encoder, encoder + decoders)


def test_fewer_sentences_than_a_batch_are_an_error(
    word_examples: Path, words: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(ValueError, match="90 sentences are fewer than batch_size 92; add text or lower"):
        train("uni", word_examples, words, tmp_path / "run", quick_thoughts(batch_size=92))
    assert not (tmp_path / "run").exists()
    train("uni", word_examples, words, tmp_path / "run", quick_thoughts(batch_size=90))  # a smaller batch works
    with pytest.raises(ValueError, match="batch_size 1 on 1 devices: texts are negatives of one another, so each"):
        train("uni", word_examples, words, tmp_path / "one", quick_thoughts(batch_size=1))
    (tmp_path / "none").mkdir()
    write_sentences([], tmp_path / "none" / "sentences")
    train("uni", tmp_path / "none", words, tmp_path / "other")
    assert "uni is not trained" in caplog.text and "no examples in these files" in caplog.text


def test_fixed_words_need_vectors(word_examples: Path, words: Path, tmp_path: Path) -> None:
    without = tmp_path / "words"
    shutil.copytree(words, without)
    (without / VECTORS_FILE).unlink()
    with pytest.raises(ValueError, match=r"word_vectors\.npy is missing or damaged .* run the vocabulary stage"):
        train("fixed", word_examples, without, tmp_path / "fixed")
    train("uni", word_examples, without, tmp_path / "uni")  # trains its word vectors
    fixed = train("fixed", word_examples, words, tmp_path / "fixed")
    vectors = np.load(words / VECTORS_FILE)
    tables = [tensor for name, tensor in fixed.items() if "/0" not in name and name.endswith(":words.weight")]
    assert len(tables) == 2
    for table in tables:
        np.testing.assert_array_equal(table.numpy(), vectors)


@pytest.mark.parametrize(
    ("runs_by_name", "message"),
    [
        (
            {"a": {"encoder": "gnu", "schedule": []}},
            r"pretrain\.runs\.a\.encoder\n.*unknown encoder 'gnu'; known: bi, bow, ",
        ),
        (
            {"a": schedule(mlm=1)},
            r"mlm reads joint or passages or sequences or short_sequences; the streams are \['contiguous'\]",
        ),
        (
            {"a": schedule(quick_thoughts=1) | {"batch_size": {"continuous": 2}}},
            r"a\.batch_size\n.*unknown stream 'continuous'; did you mean 'contiguous'",
        ),
        ({"a": {"encoder": "uni"}}, "schedule"),
    ],
)
def test_invalid_runs_are_errors(runs_by_name: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        quick_thoughts(runs=runs_by_name)


def test_both_objectives_train_one_encoder(word_examples: Path, words: Path, tmp_path: Path) -> None:
    """Both read the same sentences, which are encoded once."""
    runs_by_name = {"both": schedule(quick_thoughts=1, skip_thought=0.5)}
    train("both", word_examples, words, tmp_path / "both", quick_thoughts(runs=runs_by_name))
    curves = read_curves(tmp_path / "both")
    expected = curves["train/quick_thoughts"] + 0.5 * curves["train/skip_thought"]
    np.testing.assert_allclose(curves["train/loss"], expected, rtol=1e-5)


def test_a_run_continues_another(word_examples: Path, words: Path, tmp_path: Path) -> None:
    runs_by_name = {"untrained": {"schedule": []}, "more": schedule(1, quick_thoughts=1) | {"start": "untrained"}}
    config = quick_thoughts(runs=runs_by_name, optimizer={"learning_rate": 1e-12})
    start = train("untrained", word_examples, words, tmp_path / "untrained", config, seed=5)
    more = runs.train(config, "more", word_examples, words, tmp_path / "more", start=tmp_path / "untrained")
    assert_same({name: tensor for name, tensor in more.items() if "snapshots" not in name}, start, atol=1e-6, rtol=0)


def test_changed_settings_restart_a_run(
    word_examples: Path, words: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    kill(lambda: train("uni", word_examples, words, tmp_path / "run"), 3)
    config = quick_thoughts()
    small: Any = replace(config.encoders["uni"], embedding_size=4)  # type: ignore[call-arg]
    for changed, difference in (
        (quick_thoughts({"boundaries": "cross"}), 'streams.contiguous.boundaries: was "documents", is "cross"'),
        (quick_thoughts(batch_size=10), "settings.batch_size: was 12, is 10"),
        (replace(config, encoders=config.encoders | {"uni": small}), "encoder.embedding_size: was 8, is 4"),
    ):
        assert difference in train_with_changes("uni", word_examples, words, tmp_path / "run", changed, caplog)
    other = tmp_path / "words"
    shutil.copytree(words, other)
    np.save(other / VECTORS_FILE, 2 * np.load(words / VECTORS_FILE))
    assert "(vocabulary: was" in train_with_changes("uni", word_examples, other, tmp_path / "run", config, caplog)


def test_encoders_train_in_bf16(word_examples: Path, words: Path, tmp_path: Path) -> None:
    for precision, run in (("bf16", "bi"), ("auto", "skip_thought")):
        tensors = train(run, word_examples, words, tmp_path / run, quick_thoughts(precision=precision))
        assert all(tensor.dtype == torch.float32 and torch.isfinite(tensor).all() for tensor in tensors.values())


#: With Adam's default epsilon, gradients that are rounding errors move weights as far as other gradients.
STEADY = {"learning_rate": 2e-3, "schedule": "constant", "epsilon": 1e-3}


@pytest.mark.slow
@pytest.mark.parametrize(("run", "boundaries"), [("uni", "documents"), ("bow", "cross"), ("fixed", "documents")])
def test_two_processes_equal_one(run: str, boundaries: str, word_examples: Path, words: Path, tmp_path: Path) -> None:
    """Neighbours of sentences can be in the other process, and ranks have different numbers of pairs."""
    single, double = (
        train(run, word_examples, words, tmp_path / f"{devices}", quick_thoughts({"boundaries": boundaries}, **changed))
        for devices in (1, 2)
        for changed in [{"optimizer": STEADY, "devices": devices}]
    )
    assert_same(single, double, atol=1e-5, rtol=1e-4)
    start = train("untrained", word_examples, words, tmp_path / "start") if run == "uni" else {}
    assert all(not torch.equal(tensor, single[name]) for name, tensor in start.items())


@pytest.mark.slow
def test_skip_thought_trains_in_two_processes(word_examples: Path, words: Path, tmp_path: Path) -> None:
    train("skip_thought", word_examples, words, tmp_path / "run", quick_thoughts(devices=2))
    assert read_curves(tmp_path / "run")["train/skip_thought"].between(0, 20).all()
    assert read_summary(tmp_path / "run")["seconds"] > 0

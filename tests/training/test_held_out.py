"""The loss on held-out text, and the end of a training when it no longer falls."""

import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from pydantic import ValidationError

from contexture.encoders.files import load_encoder
from contexture.paths import HELD_OUT_DIR
from contexture.seeding import mix
from contexture.systems.launch import training_files
from contexture.training import held_out
from contexture.training.curves import read_curves
from contexture.training.held_out import BEST_FILE, LOSS_COLUMN, read_held_out_losses
from contexture.training.launcher import run_identity
from contexture.training.prepare import prepare
from contexture.training.pretrain import read_summary
from tests.training.runs import Training, are_different, assert_same
from tests.training.toys import STEADY, make_mixed_system

MIXTURE = {"mlm": 1, "mspp": 2, "in_batch_negatives": 0.5}
EVERY_TWO_STEPS = {"evaluate_every": 2, "batches": 3}


@pytest.fixture
def with_held_out(training: Training, tmp_path: Path) -> Training:
    """Trainings with examples of held-out documents: here the same as those of training."""
    examples = tmp_path / "examples"
    shutil.copytree(training.examples, examples)
    shutil.copytree(training.examples, examples / HELD_OUT_DIR)
    return Training(examples, training.vocabulary, training.folder)


def configure(steps: int, settings: dict[str, Any] | None, **pretrain: Any) -> Any:
    runs = {"run": {"schedule": [{"steps": steps, "weights": MIXTURE}]}}
    # A constant rate, so that shorter trainings are the start of longer ones.
    return make_mixed_system(runs, held_out=settings, optimizer=STEADY | {"schedule": "constant"}, **pretrain)


def measured_as(losses: dict[int, float], monkeypatch: pytest.MonkeyPatch) -> None:
    """Let measurements return these losses by step."""
    monkeypatch.setattr(held_out, "measure_losses", lambda module, *_: {LOSS_COLUMN: losses[module.step]})


def test_the_loss_of_the_start_is_the_mean_over_held_out_batches(with_held_out: Training) -> None:
    config = configure(2, EVERY_TWO_STEPS)
    with_held_out.train(config, "run")
    files = training_files(config, with_held_out.examples, with_held_out.vocabulary, None)
    prepared = prepare(config.pretraining("run"), 0, files)
    streams, totals = prepared.held_out[0], dict.fromkeys(MIXTURE, 0.0)
    for step in range(3):
        for stream, names in (("joint", ("mlm", "mspp")), ("pairs", ("in_batch_negatives",))):
            clean = streams[stream].batch(step, 0)
            masked, generator = clean, torch.Generator().manual_seed(mix(0, step))
            for name in names:
                masked = prepared.objectives[name].corrupt(masked, generator)
            for name in names:
                objective = prepared.objectives[name]
                batch = clean if objective.needs_clean_input else masked
                with torch.no_grad():
                    states = streams[stream].encode(prepared.encoder, batch)
                    totals[name] += float(objective(prepared.encoder, states, batch).value) / 3
    expected = sum(weight * totals[name] for name, weight in MIXTURE.items())
    losses = read_held_out_losses(with_held_out.folder / "run")
    assert losses.keys() == {0, 2} and losses[0] == pytest.approx(expected, rel=1e-5)
    curves = read_curves(with_held_out.folder / "run").set_index("step")
    assert {name: curves[f"held_out/{name}"][0] for name in MIXTURE} == pytest.approx(totals, rel=1e-5)


def test_measurements_change_neither_weights_nor_curves(with_held_out: Training) -> None:
    plain = with_held_out.train(configure(5, None, dropout=0.1), "run", "plain")
    measured = with_held_out.train(configure(5, EVERY_TWO_STEPS, dropout=0.1), "run", "measured")
    assert_same(measured, plain)
    assert read_held_out_losses(with_held_out.folder / "measured").keys() == {0, 2, 4, 5}
    summary = read_summary(with_held_out.folder / "measured")
    losses = read_held_out_losses(with_held_out.folder / "measured")
    assert (summary["held_out_start"], summary["held_out_loss"]) == (losses[0], losses[5])
    assert summary["tokens"] == read_summary(with_held_out.folder / "plain")["tokens"]
    assert "held_out_loss" not in read_summary(with_held_out.folder / "plain")


def test_patience_ends_the_training_with_the_best_weights(
    with_held_out: Training, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured_as({0: 5, 2: 4, 4: 3, 6: 3.5, 8: 3}, monkeypatch)
    config = configure(20, EVERY_TWO_STEPS | {"patience": 2}, log_every=3)
    stopped = with_held_out.train(config, "run", "stopped")
    assert_same(stopped, with_held_out.train(configure(4, None), "run", "short"))
    summary = read_summary(with_held_out.folder / "stopped")
    assert (summary["steps"], summary["best_step"], summary["held_out_loss"]) == (8, 4, 3)
    eight = with_held_out.train(configure(8, None), "run", "eight")
    assert are_different(stopped, eight)
    # The cost is that of all steps.
    assert summary["tokens"] == read_summary(with_held_out.folder / "eight")["tokens"]
    assert not (with_held_out.folder / "stopped" / BEST_FILE).exists()
    load_encoder(with_held_out.folder / "stopped")


def test_the_best_weights_are_kept_at_the_end_of_the_schedule(
    with_held_out: Training, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured_as({0: 5, 2: 3, 4: 4}, monkeypatch)
    best = with_held_out.train(configure(4, EVERY_TWO_STEPS | {"patience": 2}), "run", "best")
    assert_same(best, with_held_out.train(configure(2, None), "run", "short"))


def test_losses_of_earlier_stages_do_not_count(with_held_out: Training, monkeypatch: pytest.MonkeyPatch) -> None:
    measured_as({0: 1, 2: 1, 4: 1, 6: 9, 8: 8}, monkeypatch)
    stages = [{"steps": 4, "weights": {"mlm": 1}}, {"steps": 4, "weights": {"mlm": 1, "mspp": 1}}]
    config = make_mixed_system({"run": {"schedule": stages}}, held_out=EVERY_TWO_STEPS | {"patience": 1})
    with_held_out.train(config, "run")
    summary = read_summary(with_held_out.folder / "run")
    assert (summary["steps"], summary["best_step"], summary["held_out_start"]) == (8, 8, 1)


@pytest.mark.parametrize("killed_at", [1, 5, 7])
def test_a_resumed_training_ends_at_the_same_step_with_the_same_weights(
    killed_at: int, with_held_out: Training, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured_as({0: 5, 2: 4, 4: 3, 6: 3.5, 8: 3}, monkeypatch)
    config = configure(20, EVERY_TWO_STEPS | {"patience": 2}, checkpoint_every=2)
    whole = with_held_out.train(config, "run", "whole")
    with_held_out.kill(config, "run", "killed", killed_at)
    assert_same(with_held_out.train(config, "run", "killed"), whole)
    whole_summary, summary = (read_summary(with_held_out.folder / name) for name in ("whole", "killed"))
    assert summary["steps"] == 8 and summary["best_step"] == 4
    assert summary["held_out_loss"] == whole_summary["held_out_loss"]


def test_weights_of_versions_without_held_out_text_are_kept(training: Training) -> None:
    config = configure(2, None)
    files = training_files(config, training.examples, training.vocabulary, None)
    assert "held_out" not in run_identity(config.pretraining("run"), 0, files)["settings"]


def test_other_held_out_examples_train_again(with_held_out: Training) -> None:
    config = configure(2, EVERY_TWO_STEPS)
    assert with_held_out.launch(config, "run") and not with_held_out.launch(config, "run")
    shutil.copy(
        with_held_out.examples / HELD_OUT_DIR / "joint" / "part-0.parquet",
        with_held_out.examples / HELD_OUT_DIR / "joint" / "part-2.parquet",
    )
    assert with_held_out.launch(config, "run")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"evaluate_every": 0}, "greater than 0"),
        ({"evaluate_every": 2, "share": 0.6}, "less than or equal to 0.5"),
        ({"evaluate_every": 2, "patience": 0}, "greater than 0"),
        ({"share": 0.1}, "evaluate_every"),
        ({"evaluate_every": 2, "tries": 3}, "tries"),
    ],
)
def test_impossible_settings_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        configure(2, settings)

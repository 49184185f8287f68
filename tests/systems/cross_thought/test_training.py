"""Runs of Cross-Thought: killed, in several passes, with activations computed again, and read in longer sequences."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from contexture.encoders.files import load_encoder
from contexture.objectives.cross_thought import CrossThought
from contexture.systems.config import SystemConfig
from contexture.training.curves import read_curves
from contexture.training.data import ShuffledRows
from contexture.training.pretrain import shown_of
from tests.training.runs import Killed, assert_same, killed_at, launch, train
from tests.training.toys import PRETRAIN, STEADY, STREAMS, configured, schedule, transformer


def system(dropout: float = 0.1, streams: dict[str, Any] | None = None, **pretrain: Any) -> SystemConfig:
    """The smallest system of samples."""
    runs = {
        "ct": schedule(cross_thought=1),
        "longer": schedule(cross_thought=1) | {"streams": {"sequence_samples": {"tokens": 16}}},
        "apart": schedule(cross_thought=1) | {"streams": {"sequence_samples": {"attends": "document"}}},
        "mlm": schedule(mlm=1) | {"encoder": "plain"},
        "none": {"schedule": []},
    }
    return configured(
        lengths={"query": 12, "document": 24},
        encoders={
            "ct": transformer(dropout, pooling="cls", cross={"tokens": 2}),
            "plain": transformer(dropout, pooling="cls"),
        },
        streams={name: STREAMS[name] for name in ("sequence_samples", "short_sequences")} | (streams or {}),
        pretrain=PRETRAIN | {"batch_size": 6, "runs": runs, "optimizer": STEADY} | pretrain,
    )


def test_a_run_killed_on_the_way_ends_as_if_it_was_not(
    examples: Path, tokenizer: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = train(system(), "ct", examples, tokenizer, tmp_path / "whole")
    with monkeypatch.context() as patch:
        killed_at(4, patch)
        with pytest.raises(Killed):
            train(system(), "ct", examples, tokenizer, tmp_path / "again")
    assert_same(whole, train(system(), "ct", examples, tokenizer, tmp_path / "again"))
    assert any(name.startswith("cross.safetensors") for name in whole)
    assert any(name.startswith("objectives.safetensors:cross_thought.last") for name in whole)
    assert load_encoder(tmp_path / "whole").cross is not None


def test_what_is_shown_is_of_every_sample_once(
    examples: Path, tokenizer: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(CrossThought, "shown", lambda _, encoder, batches: {"batches": len(list(batches))})
    train(system(), "ct", examples, tokenizer, tmp_path / "run")
    rows = ShuffledRows(examples / "sequence_samples", ["pieces"], 0).rows
    assert shown_of(tmp_path / "run") == {"cross_thought": {"batches": rows}}


def test_recomputed_activations_give_the_same_weights(examples: Path, tokenizer: Path, tmp_path: Path) -> None:
    found = [
        train(system(recompute=recompute), "ct", examples, tokenizer, tmp_path / str(recompute))
        for recompute in (False, True)
    ]
    assert_same(*found, atol=1e-4, rtol=1e-3)


def test_several_passes_read_the_same_samples(examples: Path, tokenizer: Path, tmp_path: Path) -> None:
    for micro in (6, 2):
        config = system(dropout=0.0, micro_batch_size=micro, log_every=3)
        train(config, "ct", examples, tokenizer, tmp_path / str(micro))
    whole, parts = (read_curves(tmp_path / str(micro)) for micro in (6, 2))
    assert whole["spent/tokens"].tolist() == parts["spent/tokens"].tolist()
    assert not parts["train/cross_thought_cross_gain"].isna().any()


def test_language_models_read_the_same_text(examples: Path, tokenizer: Path, tmp_path: Path) -> None:
    """In as many steps; longer sequences have fewer special tokens in it, and all words."""
    spent = {}
    for run in ("ct", "longer", "apart", "mlm"):
        train(system(), run, examples, tokenizer, tmp_path / run)
        spent[run] = int(read_curves(tmp_path / run)["spent/tokens"].iloc[-1])
    assert spent["ct"] == spent["apart"] > spent["longer"]
    assert spent["ct"] > spent["mlm"]  # of two special tokens one more


def test_sequences_that_do_not_fit_the_positions_are_refused(examples: Path, tokenizer: Path, tmp_path: Path) -> None:
    short = STREAMS["sequence_samples"] | {"positions": 10}
    with pytest.raises(ValueError, match="8 tokens and 3 special ones do not fit into 10 positions"):
        launch(system(streams={"sequence_samples": short}), "ct", examples, tokenizer, tmp_path / "run")


def test_text_that_runs_on_has_no_documents_to_attend_to_alone() -> None:
    sampling = STREAMS["sequence_samples"]["sampling"] | {"boundaries": "cross"}
    with pytest.raises(ValidationError, match="attends is document, but where text runs on"):
        system(streams={"sequence_samples": {"sampling": sampling, "attends": "document"}})


def test_what_belongs_to_the_sampling_is_not_for_a_run() -> None:
    runs = {"ct": schedule(cross_thought=1) | {"streams": {"sequence_samples": {"positions": 9}}}}
    with pytest.raises(ValidationError, match=r"a run can set \['tokens', 'attends'\], not \['positions'\]"):
        system(runs=runs)

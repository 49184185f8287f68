"""Pre-training: it learns, it resumes exactly, several processes give what one gives."""

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
import torch
from pydantic import TypeAdapter, ValidationError
from safetensors.torch import load_file
from transformers import AutoModel, AutoTokenizer

from contexture.objectives.config import OBJECTIVE_CONFIGS
from contexture.objectives.registry import OBJECTIVES
from contexture.training import checkpoints
from contexture.training.config import MsppSystem, PretrainRun
from contexture.training.curves import read_curves
from contexture.training.launcher import launch_pretraining
from contexture.training.pretrain import pretrain
from contexture.training.systems import System
from tests.training.conftest import quick_thoughts, system, two_towers


def weights(folder: Path) -> dict[str, torch.Tensor]:
    return load_file(folder / "model.safetensors") | load_file(folder / "objectives.safetensors")


def assert_same(first: dict[str, torch.Tensor], second: dict[str, torch.Tensor], **tolerance: Any) -> None:
    assert first.keys() == second.keys()
    for name in first:
        torch.testing.assert_close(first[name], second[name], **(tolerance or {"atol": 0, "rtol": 0}))


@pytest.fixture(scope="module")
def trained(config: MsppSystem, examples: Path, tokenizer: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("run") / "mspp"
    launch_pretraining(config, "mspp_ie", 0, examples, tokenizer, folder)
    return folder


#: Objective → the systems whose batches it reads, each made by a function of the runs.
SYSTEMS_OF: dict[str, list[Callable[..., System]]] = {
    "in_batch_negatives": [two_towers],
    "mlm": [system, two_towers],
    "mspp": [system],
    "quick_thoughts": [quick_thoughts],
    "skip_thought": [quick_thoughts],
}


def test_every_objective_trains_two_steps(
    examples: Path, pairs: Path, sentences: Path, tokenizer: Path, words: Path, tmp_path: Path
) -> None:
    files = {"mspp": (examples, tokenizer), "quick_thoughts": (sentences, words), "two_tower": (pairs, tokenizer)}
    assert OBJECTIVES.keys() == OBJECTIVE_CONFIGS.keys() == SYSTEMS_OF.keys()
    for name, systems in SYSTEMS_OF.items():
        for make in systems:
            encoder = {"encoder": "uni"} if make is quick_thoughts else {}
            config = make(runs={name: {"schedule": [{"steps": 2, "weights": {name: 1}}]} | encoder})
            folder = tmp_path / config.system / name
            folder.mkdir(parents=True)
            pretrain(config, name, 0, *files[config.system], folder)
            losses = read_curves(folder)[f"train/{name}"]
            assert len(losses) == 2 and losses.between(0, 20).all()


def test_a_trained_encoder_loads_in_hugging_face(trained: Path) -> None:
    model, tokenizer = AutoModel.from_pretrained(trained), AutoTokenizer.from_pretrained(trained)
    states = model(**tokenizer("kana love", return_tensors="pt")).last_hidden_state
    assert states.shape[-1] == 16
    curves = read_curves(trained)
    assert curves["step"].tolist() == list(range(1, 7))
    assert curves["train/mlm"].notna().tolist() == [True] * 4 + [False] * 2  # the second stage has no mlm
    assert (curves["train/tokens_per_second"] > 0).all()


def test_the_same_seed_gives_the_same_weights(
    config: MsppSystem, examples: Path, tokenizer: Path, trained: Path, tmp_path: Path
) -> None:
    launch_pretraining(config, "mspp_ie", 0, examples, tokenizer, tmp_path / "again")
    assert_same(weights(trained), weights(tmp_path / "again"))
    launch_pretraining(config, "mspp_ie", 1, examples, tokenizer, tmp_path / "other")
    assert not torch.equal(
        weights(trained)["mspp.head.classifier.weight"], weights(tmp_path / "other")["mspp.head.classifier.weight"]
    )


class Killed(BaseException):
    """What a test raises in place of a kill."""


def test_a_killed_run_resumes_bit_for_bit(
    config: MsppSystem,
    examples: Path,
    tokenizer: Path,
    trained: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    save = checkpoints.save_checkpoint

    def save_and_die(*arguments: Any) -> None:
        save(*arguments)
        raise Killed

    monkeypatch.setattr(checkpoints, "save_checkpoint", save_and_die)
    for _ in range(2):  # dies behind step 2, resumes, dies behind step 4
        with pytest.raises(Killed):
            launch_pretraining(config, "mspp_ie", 0, examples, tokenizer, tmp_path / "run")
        assert not (tmp_path / "run").exists()
    monkeypatch.undo()

    changed = system(optimizer={"learning_rate": 1e-3, "warmup_steps": 2})
    with pytest.raises(ValueError, match=r"begun with other settings.*pretrain"):
        launch_pretraining(changed, "mspp_ie", 0, examples, tokenizer, tmp_path / "run")
    launch_pretraining(config, "mspp_ie", 0, examples, tokenizer, tmp_path / "run")
    assert_same(weights(trained), weights(tmp_path / "run"))
    assert read_curves(tmp_path / "run")["step"].is_unique


def test_a_damaged_checkpoint_is_named(config: MsppSystem, examples: Path, tokenizer: Path, tmp_path: Path) -> None:
    place = tmp_path / checkpoints.NAME
    place.mkdir()
    (place / "model.safetensors").write_bytes(b"cut off")
    with pytest.raises(ValueError, match="checkpoint is damaged"):
        pretrain(config, "mspp_ie", 0, examples, tokenizer, tmp_path)


def test_a_run_without_stages_keeps_the_initial_weights(
    config: MsppSystem, examples: Path, tokenizer: Path, tmp_path: Path
) -> None:
    launch_pretraining(config, "none", 0, examples, tokenizer, tmp_path / "none")
    assert read_curves(tmp_path / "none").empty
    assert AutoModel.from_pretrained(tmp_path / "none").config.type_vocab_size == 3


@pytest.mark.slow
def test_two_processes_give_what_one_gives(examples: Path, tokenizer: Path, tmp_path: Path) -> None:
    """The MSPP loss is a mean over equally many candidates on every rank, so gradients must agree; no dropout."""
    runs = {"mspp": {"schedule": [{"steps": 3, "weights": {"mspp": 1}}]}}
    for devices in (1, 2):
        config = asdict(system(runs=runs, devices=devices))
        config["encoder"]["dropout"] = 0.0
        launch_pretraining(
            TypeAdapter(MsppSystem).validate_python(config), "mspp", 0, examples, tokenizer, tmp_path / str(devices)
        )
    # The gradient of a key's bias is zero but for rounding, which Adam makes as large as any other.
    one, two = (
        {name: tensor for name, tensor in weights(tmp_path / devices).items() if not name.endswith("key.bias")}
        for devices in ("1", "2")
    )
    assert_same(one, two, atol=1e-5, rtol=1e-4)


@pytest.mark.slow
def test_an_error_in_one_process_ends_the_run(examples: Path, tokenizer: Path, tmp_path: Path) -> None:
    config = system(runs={"mspp": {"schedule": [{"steps": 3, "weights": {"mspp": 1}}]}}, devices=2)
    (tmp_path / "broken").mkdir()
    with pytest.raises(RuntimeError, match="training on 2 devices ended with code"):
        launch_pretraining(config, "mspp", 0, tmp_path / "broken", tokenizer, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_schedules_are_checked() -> None:
    for wrong, message in (
        ({"schedule": [{"steps": 1, "weights": {"mlmm": 1}}]}, "no objective"),
        ({"schedule": [{"steps": 1, "weights": {}}]}, "at least one objective"),
        ({"schedule": [{"steps": 0, "weights": {"mlm": 1}}]}, "greater than 0"),
        ({"schedule": [], "objectives": {"mspp": {}}}, "no stage"),
        ({"schedule": [{"steps": 1, "weights": {"mspp": 1}}], "objectives": {"mspp": {"heads": 1}}}, "heads"),
    ):
        with pytest.raises(ValidationError, match=message):
            TypeAdapter(PretrainRun).validate_python(wrong)
    run = TypeAdapter(PretrainRun).validate_python(
        {"schedule": [{"steps": 2, "weights": {"mlm": 1}}, {"steps": 1, "weights": {"mspp": 2}}]}
    )
    assert [run.weights_at(step) for step in range(3)] == [{"mlm": 1}, {"mlm": 1}, {"mspp": 2}]
    with pytest.raises(ValidationError, match="multiple of devices"):
        system(batch_size=12, devices=5)

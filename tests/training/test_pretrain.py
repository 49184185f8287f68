"""Pre-training: learning, exact resumption, and several processes."""

import math
import shutil
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import torch
from pydantic import TypeAdapter, ValidationError
from transformers import AutoModel, AutoTokenizer

from contexture.encoders.files import load_encoder
from contexture.folders import UNFINISHED
from contexture.systems.config import SystemConfig
from contexture.training import checkpoints, progress
from contexture.training.config import PretrainRun
from contexture.training.curves import read_curves
from contexture.training.pretrain import read_summary
from contexture.training.snapshots import list_snapshots
from contexture.vocabulary.tokenizers import VocabularyConfig, train_tokenizer
from tests.training.runs import Killed, Training, are_different, assert_same, launch, weights
from tests.training.toys import STEADY, WORDS, make_mixed_system, schedule, system


@pytest.fixture(scope="module")
def config() -> SystemConfig:
    return system()


@pytest.fixture(scope="module")
def trained(config: SystemConfig, examples: Path, tokenizer: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("run") / "mspp"
    launch(config, "mspp_ie", examples, tokenizer, folder)
    return folder


def test_a_trained_encoder_loads_in_hugging_face(trained: Path) -> None:
    model, tokenizer = AutoModel.from_pretrained(trained), AutoTokenizer.from_pretrained(trained)
    states = model(**tokenizer("kana love", return_tensors="pt")).last_hidden_state
    assert states.shape[-1] == 16
    curves = read_curves(trained)
    assert curves["step"].tolist() == list(range(1, 7))
    assert curves["train/mlm"].notna().tolist() == [True] * 4 + [False] * 2  # the second stage has no mlm
    # The weighted sum of the active objectives.
    torch.testing.assert_close(
        torch.tensor(curves["train/loss"]),
        torch.tensor((curves["train/mlm"] + curves["train/mspp"]).fillna(0.5 * curves["train/mspp"])),
    )
    assert (curves["train/tokens_per_second"] > 0).all()


def test_the_summary_has_sizes_and_totals(trained: Path) -> None:
    summary, curves = read_summary(trained), read_curves(trained)
    size = sum(p.numel() for p in load_encoder(trained).parameters())
    # With the head of MSPP.
    assert [summary[key] for key in ("steps", "parameters", "trained_parameters")] == [6, size, size + 2 * 16 + 2]
    for name in ("tokens", "flops", "seconds"):
        total = curves[f"spent/{name}"]
        assert total.is_monotonic_increasing and summary[name] == total.iloc[-1] > 0


def test_the_same_seed_gives_the_same_weights(config: SystemConfig, trained: Path, training: Training) -> None:
    assert_same(weights(trained), training.train(config, "mspp_ie", "again"))
    first, other = weights(trained), training.train(config, "mspp_ie", "other", seed=1)
    for ending in ("model.safetensors:bert.encoder.layer.0.output.dense.weight", "mspp.head.classifier.weight"):
        (key,) = (name for name in other if name.endswith(ending))
        assert not torch.equal(first[key], other[key])


def test_a_run_killed_at_any_step_resumes_bit_for_bit(config: SystemConfig, trained: Path, training: Training) -> None:
    """With dropout and masks, in both stages; its cost includes that before the kill."""
    for step in range(1, 6):
        folder = training.folder / f"killed-{step}"
        training.kill(config, "mspp_ie", folder.name, step)
        assert not folder.exists()
        assert (training.folder / f"{folder.name}{UNFINISHED}" / checkpoints.CHECKPOINT_DIR).exists() == (step >= 2)
        assert_same(weights(trained), training.train(config, "mspp_ie", folder.name))
        assert read_curves(folder)["step"].tolist() == list(range(1, 7))
        for name in ("tokens", "flops"):
            assert read_summary(folder)[name] == pytest.approx(read_summary(trained)[name])


def test_the_progress_of_a_resumed_run_is_that_of_its_remaining_steps(config: SystemConfig, training: Training) -> None:
    training.kill(config, "mspp_ie", "killed", 4)
    shares: list[float] = []
    with progress.report_to(shares.append):
        training.train(config, "mspp_ie", "killed")
    steps = len(shares)
    assert steps < 6 and shares == pytest.approx([(step + 1) / steps for step in range(steps)])


@pytest.mark.parametrize("checkpoint_is_kept", [True, False])
def test_the_cost_of_a_resumed_run_is_that_of_all_its_steps(checkpoint_is_kept: bool, training: Training) -> None:
    """If checkpoints are not at steps of the curves, and if the run ends before the step at which it was killed."""
    config = system(log_every=3)
    training.launch(config, "mspp_ie", "whole")
    training.kill(config, "mspp_ie", "run", 5)
    work = training.folder / f"run{UNFINISHED}"
    if not checkpoint_is_kept:
        (work / "curves-4").mkdir()
        (work / "curves-4/metrics.csv").write_text("step,spent/tokens,spent/flops,spent/seconds\n5,1,1,1\n")
        shutil.rmtree(work / checkpoints.CHECKPOINT_DIR)
    training.launch(config, "mspp_ie", "run")
    whole, run = (read_summary(training.folder / name) for name in ("whole", "run"))
    for name in ("tokens", "flops"):
        assert run[name] == pytest.approx(whole[name])
    assert len(list((training.folder / "run").glob("curves-*"))) == 1 + checkpoint_is_kept
    assert read_curves(training.folder / "run")["step"].tolist() == [3, 6]


def test_curves_leave_out_steps_that_were_repeated(tmp_path: Path) -> None:
    for start, steps in ((0, range(2, 9, 2)), (4, (5,))):
        (tmp_path / f"curves-{start}").mkdir()
        rows = [f"{step},{start}" for step in steps]
        (tmp_path / f"curves-{start}/metrics.csv").write_text("\n".join(["step,spent/tokens", *rows]))
    curves = read_curves(tmp_path)
    assert curves["step"].tolist() == [2, 4, 5] and curves["spent/tokens"].tolist() == [0, 0, 4]


@pytest.mark.parametrize(
    ("moment", "left"),
    [("before", ["", ".new"]), ("between", [".new", ".old"]), ("behind", ["", ".old"]), ("removing", [".new"])],
)
def test_a_run_killed_while_writing_or_removing_a_checkpoint_resumes(
    moment: str, left: list[str], trained: Path, monkeypatch: pytest.MonkeyPatch, training: Training
) -> None:
    """Before the old one is renamed, between the two renames, after them, and at the end of the run."""
    config = system(checkpoint_every=1)
    rename, rmtree = Path.rename, shutil.rmtree
    folder, work = training.folder / "run", training.folder / f"run{UNFINISHED}"
    checkpoint, new, old = (work / f"{checkpoints.CHECKPOINT_DIR}{suffix}" for suffix in ("", ".new", ".old"))

    def rename_or_die(self: Path, target: Path) -> Path:
        if (moment == "before" and self == checkpoint) or (moment == "between" and self == new and old.exists()):
            raise Killed
        return rename(self, target)

    def remove_or_die(path: Path, **options: Any) -> None:
        finished = (work / "training.json").exists()
        if path.exists() and ((moment == "removing" and finished) or (moment == "behind" and path == old)):
            (path / "state.pt").unlink()
            raise Killed
        rmtree(path, **options)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", rename_or_die)
        patch.setattr(shutil, "rmtree", remove_or_die)
        with pytest.raises(Killed):
            training.launch(config, "mspp_ie", folder.name)
    assert sorted(path.name.removeprefix(checkpoints.CHECKPOINT_DIR) for path in work.glob("checkpoint*")) == left
    assert_same(weights(trained), training.train(config, "mspp_ie", folder.name))
    assert not list(folder.glob("checkpoint*"))


def test_a_damaged_checkpoint_fails(config: SystemConfig, training: Training) -> None:
    training.kill(config, "mlm", "run", 3)
    (training.folder / f"run{UNFINISHED}" / checkpoints.CHECKPOINT_DIR / "model.safetensors").write_bytes(b"cut off")
    with pytest.raises(ValueError, match=r"run\.unfinished/checkpoint is damaged .*: delete it to restart this run"):
        training.launch(config, "mlm", "run")


def test_a_run_without_stages_keeps_the_initial_weights(config: SystemConfig, training: Training) -> None:
    initial, folder = training.train(config, "none"), training.folder / "none"
    assert read_curves(folder).empty
    assert AutoModel.from_pretrained(folder).config.type_vocab_size == 3
    summary = read_summary(folder)
    assert [summary[name] for name in ("steps", "tokens", "flops", "seconds")] == [0, 0, 0, 0]
    # With the head that other runs may train.
    assert any("cls.predictions" in name for name in initial)


def test_a_run_continues_another(config: SystemConfig, training: Training) -> None:
    runs = {"base": {"schedule": []}, "more": schedule(2, mlm=1) | {"start": "base"}, "again": schedule(2, mlm=1)}
    steady = system(0.0, runs=runs, optimizer=STEADY | {"learning_rate": 1e-12})
    base = training.train(steady, "base", seed=3)
    start = training.folder / "base"
    assert_same(base, training.train(steady, "more", start=start), atol=1e-6, rtol=0)
    again = training.train(steady, "again")
    assert any(not torch.allclose(base[name], again[name], atol=1e-3) for name in base)
    short = asdict(system(runs=runs))
    short["streams"]["joint"]["sentence_tokens"] = 8
    training.train(TypeAdapter(SystemConfig).validate_python(short), "base", "short")
    with pytest.raises(ValueError, match=r"short has 24 positions and 3 token types, run more needs 48 and 3: start"):
        training.launch(steady, "more", "rejected", start=training.folder / "short")
    train_tokenizer([" ".join(WORDS[:9])] * 3, VocabularyConfig(size=300), other := training.folder / "other")
    with pytest.raises(ValueError, match=r"base has another tokenizer than the examples of run more"):
        launch(steady, "more", training.examples, other, training.folder / "rejected", start=start)


def test_a_continued_encoder_has_the_lengths_of_its_run(training: Training) -> None:
    runs = {"base": {"schedule": []}, "more": schedule(1, in_batch_negatives=1) | {"start": "base"}}
    usual = make_mixed_system(runs)
    short, long = (asdict(usual) | {"lengths": {"query": 8, "document": length}} for length in (10, 60))
    longer, shorter = (TypeAdapter(SystemConfig).validate_python(values) for values in (long, short))
    training.launch(shorter, "base")
    training.launch(usual, "more", start=training.folder / "base")
    assert load_encoder(training.folder / "more").lengths == usual.lengths
    with pytest.raises(ValueError, match=r"base has 48 positions and 3 token types, run more needs 60 and 3"):
        training.launch(longer, "more", "longer", start=training.folder / "base")


def test_a_run_may_have_another_learning_rate(training: Training) -> None:
    usual, slow = schedule(2, mlm=1), schedule(2, mlm=1) | {"learning_rate": 1e-4}
    both = system(0.0, runs={"usual": usual, "slow": slow}, optimizer=STEADY)
    all_slow = system(0.0, runs={"slow": usual}, optimizer=STEADY | {"learning_rate": 1e-4})
    trained = training.train(both, "slow")
    assert_same(trained, training.train(all_slow, "slow", "all_slow"))
    assert are_different(trained, training.train(both, "usual"))


def test_new_heads_start_from_token_frequencies(config: SystemConfig, training: Training) -> None:
    """The first loss is that of token frequencies; with BERT's initialisation it is that of chance."""
    chance = math.log(len(AutoTokenizer.from_pretrained(training.vocabulary)))
    training.train(config, "mlm", "run")
    assert read_curves(training.folder / "run")["train/mlm"].iloc[0] < chance - 0.1
    encoder = replace(config.encoders["transformer"], initialization="bert")
    bert = replace(config, encoders={"transformer": encoder})
    training.train(bert, "mlm", "bert")
    assert read_curves(training.folder / "bert")["train/mlm"].iloc[0] == pytest.approx(chance, abs=0.05)


def test_snapshots_of_steps_of_several_passes(training: Training) -> None:
    config = system(0.0, micro_batch_size=4, snapshots=3)
    trained = training.train(config, "mspp_ie", "run")
    kept = list_snapshots(training.folder / "run")
    assert [snapshot.name for snapshot in kept] == ["00000002", "00000004", "00000006"]
    last = {name: tensor for name, tensor in trained.items() if "/" not in name and not name.startswith("objectives")}
    assert_same(weights(kept[-1]), last)


def test_a_stage_with_only_unsplit_streams_follows_a_split_one(training: Training) -> None:
    """In passes after the first it has no batch."""
    stages = [{"steps": 2, "weights": {"mspp": 1}}, {"steps": 2, "weights": {"in_batch_negatives": 1}}]
    runs = {"run": {"schedule": stages}}
    whole, split = (
        training.train(make_mixed_system(runs, micro_batch_size=size), "run", str(size)) for size in (12, 4)
    )
    assert_same(whole, split, atol=1e-5, rtol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("micro_batch_size", [None, 2])
def test_two_processes_give_weights_and_curves_of_one(micro_batch_size: int | None, training: Training) -> None:
    """Without dropout; each rank has equally many candidates, so gradients must be equal."""
    runs, trained = {"mspp": schedule(3, mspp=1)}, []
    for devices in (1, 2):
        config = system(0.0, runs=runs, devices=devices, micro_batch_size=micro_batch_size)
        tensors = training.train(config, "mspp", f"{devices}")
        # The gradient of a key's bias is zero up to rounding, which Adam scales up.
        trained.append({name: tensor for name, tensor in tensors.items() if not name.endswith("key.bias")})
    assert_same(*trained, atol=1e-5, rtol=1e-4)
    if micro_batch_size is None:  # with several passes, curves have the loss of the last one
        columns = ["train/loss", "train/mspp_accuracy"]
        curves = [read_curves(training.folder / devices)[columns] for devices in ("1", "2")]
        pd.testing.assert_frame_equal(*curves, atol=1e-5, rtol=0)
    tokens = [read_summary(training.folder / devices)["tokens"] for devices in ("1", "2")]
    assert tokens[0] == tokens[1]


@pytest.mark.slow
def test_an_error_in_one_process_ends_the_run(examples: Path, tokenizer: Path, tmp_path: Path) -> None:
    config = system(runs={"mspp": schedule(3, mspp=1)}, devices=2)
    (tmp_path / "broken" / "joint").mkdir(parents=True)
    with pytest.raises(RuntimeError, match="training on 2 devices ended with code"):
        launch(config, "mspp", tmp_path / "broken", tokenizer, tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("run", "message"),
    [
        (schedule(1), "at least one objective"),
        (schedule(0, mlm=1), "greater than 0"),
        ({"schedule": [{"steps": 1, "budget": {"unit": "flops", "amount": 1}, "weights": {"mlm": 1}}]}, "either steps"),
        ({"schedule": [], "objectives": {"mspp": {}}}, "no stage"),
        (schedule(1, mspp=1) | {"objectives": {"mspp": {"heads": 1}}}, r"objectives\.mspp\.heads"),
    ],
)
def test_schedules_are_checked(run: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        TypeAdapter(PretrainRun).validate_python(run)


def test_weights_by_step() -> None:
    stages = [{"steps": 2, "weights": {"mlm": 1}}, {"steps": 1, "weights": {"mspp": 2}}]
    run = TypeAdapter(PretrainRun).validate_python({"schedule": stages})
    assert [run.get_weights(step) for step in range(3)] == [{"mlm": 1}, {"mlm": 1}, {"mspp": 2}]
    with pytest.raises(IndexError, match="ends 1 steps before"):
        run.get_weights(3)
    with pytest.raises(ValidationError, match="batch_size 12 must be a multiple of devices, 5"):
        system(batch_size=12, devices=5)

"""Two towers in training: exact resumption, several processes, fine-tuning, and the command line."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import nn
from transformers import AutoModel

from contexture.encoders.tower_files import load_towers
from contexture.encoders.towers import TransformerTower
from contexture.folders import UNFINISHED
from contexture.systems.two_tower.batches import DocumentBatches, PairBatches
from contexture.systems.two_tower.config import TwoTowerSystem
from contexture.tasks.retrieval.finetune import finetune_retrieval
from contexture.tasks.retrieval.model import question_ranks_of
from contexture.tasks.retrieval.reqa import split_questions
from contexture.training import checkpoints
from contexture.training.curves import read_curves
from contexture.training.data import StepBatches
from contexture.training.launcher import launch_pretraining
from tests.training.conftest import two_towers, write_pairs
from tests.training.test_entry_point import ABSENT, BLOCKER
from tests.training.test_pretrain import Killed, assert_same

Contents = dict[str, bytes]


def weights(folder: Path) -> dict[str, torch.Tensor]:
    """All weights that a run wrote, by file and name; not those of the checkpoint that it left."""
    files = sorted(file for file in folder.rglob("*.safetensors") if file.parent.name != checkpoints.NAME)
    return {f"{file.relative_to(folder)}:{name}": tensor for file in files for name, tensor in load_file(file).items()}


def contents(folder: Path) -> Contents:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def train(
    run: str, pairs: Path, tokenizer: Path, folder: Path, seed: int = 0, config: TwoTowerSystem | None = None
) -> dict[str, torch.Tensor]:
    launch_pretraining(config or two_towers(), run, seed, pairs, tokenizer, folder)
    return weights(folder)


def killed_at(
    step: int,
    monkeypatch: pytest.MonkeyPatch,
    error: type[BaseException] = Killed,
    kinds: Iterable[type[StepBatches]] = (PairBatches, DocumentBatches),
) -> None:
    """The next runs die when they ask for the batch of a step."""
    for kind in kinds:
        read: Callable[[Any, int], Any] = kind.__getitem__

        def read_or_die(self: Any, index: int, read: Callable[[Any, int], Any] = read) -> Any:
            if index < len(self) and self.steps[index // self.accumulated] == step:
                raise error
            return read(self, index)

        monkeypatch.setattr(kind, "__getitem__", read_or_die)


@pytest.mark.parametrize(
    ("run", "recompute", "steps"),
    [
        ("shared", False, range(1, 6)),
        ("shared", True, [3]),
        ("separate", True, [3]),
        ("bag", False, [4]),
        ("mlm", False, [3]),
    ],
)
def test_a_run_killed_at_any_step_resumes_bit_for_bit(
    run: str,
    recompute: bool,
    steps: Iterable[int],
    pairs: Path,
    tokenizer: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With dropout: a checkpoint is written every second step, what came after it is repeated."""
    config = two_towers(recompute=recompute)
    expected = train(run, pairs, tokenizer, tmp_path / "whole", config=config)
    for step in steps:
        folder = tmp_path / f"killed-{step}"
        with monkeypatch.context() as patch:
            killed_at(step, patch)
            with pytest.raises(Killed):
                train(run, pairs, tokenizer, folder, config=config)
        assert not folder.exists()
        assert (folder.with_name(folder.name + UNFINISHED) / checkpoints.NAME).exists() == (step >= 2)
        assert_same(train(run, pairs, tokenizer, folder, config=config), expected)
        assert read_curves(folder)["step"].tolist() == list(range(1, 7))


def test_a_run_killed_again_and_again_resumes_bit_for_bit(
    pairs: Path, tokenizer: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By Ctrl-C too, which Lightning turns into the end of the process."""
    for step, error in ((1, Killed), (3, KeyboardInterrupt), (5, Killed)):
        with monkeypatch.context() as patch:
            killed_at(step, patch, error)
            with pytest.raises(SystemExit if error is KeyboardInterrupt else error):
                train("shared", pairs, tokenizer, tmp_path / "killed")
    whole = train("shared", pairs, tokenizer, tmp_path / "whole")
    assert_same(train("shared", pairs, tokenizer, tmp_path / "killed"), whole)


@pytest.mark.parametrize("name", ["query", "document"])
def test_a_checkpoint_has_one_name_for_the_weights_of_shared_towers(
    name: str, begun: Path, pairs: Path, tokenizer: Path, tmp_path: Path
) -> None:
    """Either tower's: which one it is, safetensors leaves to the hashes of the process that wrote it."""
    file = begun / checkpoints.NAME / "model.safetensors"
    tensors = load_file(file)
    renamed = {re.sub(r"^encoder\.(query|document)\.", f"encoder.{name}.", key): one for key, one in tensors.items()}
    assert len(renamed) == len(tensors)
    save_file(renamed, file)
    whole = train("shared", pairs, tokenizer, tmp_path / "whole")
    assert_same(train("shared", pairs, tokenizer, tmp_path / "run"), whole)


@pytest.fixture
def begun(pairs: Path, tokenizer: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What a run that was killed after its fourth step left."""
    with monkeypatch.context() as patch:
        killed_at(4, patch)
        with pytest.raises(Killed):
            train("shared", pairs, tokenizer, tmp_path / "run")
    return tmp_path / f"run{UNFINISHED}"


def test_a_run_is_not_resumed_with_other_settings(begun: Path, pairs: Path, tokenizer: Path, tmp_path: Path) -> None:
    before = contents(begun)
    config = two_towers()
    encoder = config.encoders["transformer"]
    others = {
        "pretrain.batch_size: was 12, is 10": two_towers(batch_size=10),
        "pretrain.recompute: was false, is true": two_towers(recompute=True),
        "encoder.embedding_size: was 8, is 4": replace(
            config, encoders=config.encoders | {"transformer": replace(encoder, embedding_size=4)}
        ),
        "layout.query_tokens: was 12, is 10": replace(config, layout=replace(config.layout, query_tokens=10)),
    }
    for difference, changed in others.items():
        with pytest.raises(ValueError, match=rf"begun with other settings \({difference}\): restore them"):
            train("shared", pairs, tokenizer, tmp_path / "run", config=changed)
    with pytest.raises(ValueError, match=r"\(seed: was 0, is 1\)"):
        train("shared", pairs, tokenizer, tmp_path / "run", seed=1)
    with pytest.raises(ValueError, match=r"\(examples\.bytes: was \d+, is \d+; examples\.rows: was 74, is 40\)"):
        train("shared", pairs / "ict", tokenizer, tmp_path / "run")
    assert contents(begun) == before
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("file", ["model.safetensors", "state.pt"])
@pytest.mark.parametrize("left", [0, 100, -1])
def test_a_checkpoint_that_was_cut_off_is_named_and_kept(
    file: str, left: int, begun: Path, pairs: Path, tokenizer: Path, tmp_path: Path
) -> None:
    damaged = begun / checkpoints.NAME / file
    damaged.write_bytes(damaged.read_bytes()[:left])
    before = contents(begun)
    with pytest.raises(ValueError, match=r"run\.unfinished/checkpoint is damaged .*delete it to start this run anew"):
        train("shared", pairs, tokenizer, tmp_path / "run")
    assert contents(begun) == before
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("run", ["shared", "separate", "bag", "none"])
def test_the_same_seed_gives_the_same_weights(run: str, pairs: Path, tokenizer: Path, tmp_path: Path) -> None:
    first, again, other = (
        train(run, pairs, tokenizer, tmp_path / name, seed) for name, seed in (("1", 0), ("2", 0), ("3", 1))
    )
    assert_same(first, again)
    assert any(not torch.equal(first[name], other[name]) for name in first)


#: With Adam's own epsilon a gradient that is zero but for rounding moves a weight as far as any other does.
STEADY = {"learning_rate": 2e-3, "warmup_steps": 2, "epsilon": 1e-3}


@pytest.mark.parametrize("run", ["shared", "separate"])
def test_weights_do_not_depend_on_what_is_kept_in_memory(
    run: str, pairs: Path, tokenizer: Path, tmp_path: Path
) -> None:
    """Activations that are computed again, dropout included, give the same; without dropout so do other chunks."""
    for dropout, first, second in (
        (0.1, {"recompute": False}, {"recompute": True}),
        (0.0, {"tokens_at_once": 10_000}, {"tokens_at_once": 1, "recompute": True}),
    ):
        one, two = (
            train(
                run,
                pairs,
                tokenizer,
                tmp_path / f"{dropout}-{number}",
                config=two_towers(dropout, optimizer=STEADY, **changed),
            )
            for number, changed in enumerate((first, second))
        )
        assert_same(one, two, atol=1e-5, rtol=1e-4)


def test_processes_that_load_do_not_change_the_weights(pairs: Path, tokenizer: Path, tmp_path: Path) -> None:
    expected = train("shared", pairs, tokenizer, tmp_path / "0")
    assert_same(train("shared", pairs, tokenizer, tmp_path / "2", config=two_towers(loader_workers=2)), expected)


def differ(one: nn.Module, other: nn.Module) -> bool:
    """Whether two towers have different weights throughout."""
    pairs = zip(one.parameters(), other.parameters(), strict=True)
    return all(not torch.equal(first, second) for first, second in pairs if first.ndim > 1)


def test_shared_towers_are_one_and_separate_ones_part(pairs: Path, tokenizer: Path, tmp_path: Path) -> None:
    train("shared", pairs, tokenizer, tmp_path / "shared")
    train("separate", pairs, tokenizer, tmp_path / "separate")
    one, two = load_towers(tmp_path / "shared"), load_towers(tmp_path / "separate")
    assert one.query is one.document
    assert differ(two.query, two.document)


def test_towers_train_in_bf16(pairs: Path, tokenizer: Path, tmp_path: Path) -> None:
    for precision in ("bf16", "auto"):
        found = train("shared", pairs, tokenizer, tmp_path / precision, config=two_towers(precision=precision))
        assert all(tensor.dtype == torch.float32 and torch.isfinite(tensor).all() for tensor in found.values())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("run", "recompute"), [("shared", False), ("shared", True), ("separate", False), ("bag", True)]
)
def test_two_processes_give_what_one_gives(
    run: str, recompute: bool, pairs: Path, tokenizer: Path, tmp_path: Path
) -> None:
    """Queries and documents of different lengths, documents that come twice, and every negative of the batch."""
    one, two = (
        train(
            run,
            pairs,
            tokenizer,
            tmp_path / f"{devices}",
            config=two_towers(0.0, optimizer=STEADY, recompute=recompute, devices=devices),
        )
        for devices in (1, 2)
    )
    assert_same(one, two, atol=1e-5, rtol=1e-4)


#: Python runs this file of an early folder on its path at start. The second process fails at the third step.
FAILING = """
import os
import signal

if os.environ.get("RANK") == "1":
    from contexture.systems.two_tower.batches import PairBatches

    read = PairBatches.__getitem__

    def fail(self, index):
        if self.steps[index] == 2:
            {failure}
        return read(self, index)

    PairBatches.__getitem__ = fail
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("failure", "said"),
    [("raise OSError('the disk is gone')", "the disk is gone"), ("os.kill(os.getpid(), signal.SIGKILL)", "SIGKILL")],
)
def test_what_fails_or_is_killed_in_one_process_ends_the_run(
    failure: str,
    said: str,
    pairs: Path,
    tokenizer: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    config = two_towers(0.0, devices=2)
    (tmp_path / "failing").mkdir()
    (tmp_path / "failing" / "sitecustomize.py").write_text(FAILING.format(failure=failure))
    with monkeypatch.context() as patch:
        patch.setenv("PYTHONPATH", str(tmp_path / "failing"))
        with pytest.raises(RuntimeError, match=r"training on 2 devices ended with code .*its own error stands above"):
            train("shared", pairs, tokenizer, tmp_path / "run", config=config)
    assert said in capfd.readouterr().err
    assert not running(tmp_path)
    assert not (tmp_path / "run").exists()
    # And what was done before it is not lost.
    assert (tmp_path / f"run{UNFINISHED}" / checkpoints.NAME).exists()
    expected = train("shared", pairs, tokenizer, tmp_path / "whole", config=config)
    assert_same(train("shared", pairs, tokenizer, tmp_path / "run", config=config), expected)


def running(folder: Path) -> list[str]:
    """The command lines of processes that name a folder."""
    found = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            command = file.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:  # it has ended
            continue
        if str(folder) in command:
            found.append(command)
    return found


def pretrained(run: str, pairs: Path, tokenizer: Path, folder: Path) -> Path:
    train(run, pairs, tokenizer, folder / run)
    return folder / run


def recall_at_5(model: Path, files: tuple[Path, Path], splits: str, vectors: Path) -> float:
    questions, candidates = (pd.read_parquet(file) for file in files)
    chosen = questions[split_questions(questions["question_id"].tolist(), 0.5, 0).eq(splits).to_numpy()]
    ranks = question_ranks_of(model, chosen, candidates, vectors)["rank"]
    return float(ranks.between(1, 5).mean())


@pytest.mark.parametrize("run", ["none", "shared", "bag"])
def test_fine_tuning_learns_from_questions(
    run: str, pairs: Path, tokenizer: Path, reqa: tuple[Path, Path], tmp_path: Path
) -> None:
    """Recall rises over the towers that it starts from, on questions that were not trained on."""
    start = pretrained(run, pairs, tokenizer, tmp_path)
    finetune_retrieval(two_towers(), run, 50, 0, *reqa, start, tmp_path / "tuned")
    before = recall_at_5(start, reqa, "test", tmp_path / "before")
    after = recall_at_5(tmp_path / "tuned", reqa, "test", tmp_path / "after")
    assert after >= before + 0.1
    losses = read_curves(tmp_path / "tuned")["dev/loss"].dropna()
    assert losses.min() < losses.iloc[0]


def test_fine_tuning_is_a_function_of_its_seed(
    pairs: Path, tokenizer: Path, reqa: tuple[Path, Path], tmp_path: Path
) -> None:
    start, config = pretrained("separate", pairs, tokenizer, tmp_path), two_towers()
    for name, seed in (("1", 0), ("2", 0), ("3", 1)):
        finetune_retrieval(config, "separate", 50, seed, *reqa, start, tmp_path / name)
    first, again, other = (weights(tmp_path / name) for name in "123")
    assert_same(first, again)
    assert any(not torch.equal(first[name], other[name]) for name in first)


def test_fine_tuning_starts_from_a_masked_language_model(
    pairs: Path, tokenizer: Path, reqa: tuple[Path, Path], tmp_path: Path
) -> None:
    start, config = pretrained("mlm", pairs, tokenizer, tmp_path), two_towers()
    still = replace(config.finetune, optimizer=replace(config.finetune.optimizer, learning_rate=1e-12))
    finetune_retrieval(replace(config, finetune=still), "mlm", 50, 0, *reqa, start, tmp_path / "tuned")
    towers, model = load_towers(tmp_path / "tuned"), AutoModel.from_pretrained(start, add_pooling_layer=False)
    assert isinstance(towers.query, TransformerTower) and isinstance(towers.document, TransformerTower)
    for tower in (towers.query, towers.document):
        assert_same(tower.model.state_dict(), model.state_dict(), atol=1e-6, rtol=0)
    assert differ(towers.query.projection, towers.document.projection)


@pytest.mark.parametrize("share", [1, 1.5])
def test_a_share_that_is_too_small_is_refused(
    share: float, pairs: Path, tokenizer: Path, reqa: tuple[Path, Path], tmp_path: Path
) -> None:
    start = pretrained("none", pairs, tokenizer, tmp_path)
    with pytest.raises(ValueError, match=rf"{share:g} % of 80 questions are too few to train on and hold some out"):
        finetune_retrieval(two_towers(), "none", share, 0, *reqa, start, tmp_path / "tuned")
    assert not list(tmp_path.glob("tuned*"))


def test_damaged_towers_are_named_before_fine_tuning(
    pairs: Path, tokenizer: Path, reqa: tuple[Path, Path], tmp_path: Path
) -> None:
    start = pretrained("none", pairs, tokenizer, tmp_path)
    file = start / "query" / "model.safetensors"
    file.write_bytes(file.read_bytes()[:1000])
    with pytest.raises(ValueError, match="none holds no whole towers"):
        finetune_retrieval(two_towers(), "none", 50, 0, *reqa, start, tmp_path / "tuned")
    assert not list(tmp_path.glob("tuned*"))


def entry_point(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """`python -m contexture.training` where Kedro, Spark, Java and MLflow, FAISS and BM25 are not installed."""
    absent = folder / "absent"
    absent.mkdir(exist_ok=True)
    (absent / "sitecustomize.py").write_text(BLOCKER.replace(repr(ABSENT), repr((*ABSENT, "bm25s", "faiss"))))
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("JAVA", "SPARK", "PYSPARK"))}
    environment = kept | {"PYTHONPATH": str(absent), "PATH": str(Path(sys.executable).parent)}
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_training_runs_from_files_alone(pairs: Path, tokenizer: Path, reqa: tuple[Path, Path], tmp_path: Path) -> None:
    for name in ("bm25s", "faiss", "mlflow"):
        assert entry_point(tmp_path, "-c", f"import {name}").returncode
    config = two_towers()
    (tmp_path / "config.json").write_text(json.dumps(asdict(config)))
    common = ("-m", "contexture.training")
    done = entry_point(
        tmp_path, *common, "pretrain", "--config", "config.json", "--recipe", "shared",
        "--examples", str(pairs), "--tokenizer", str(tokenizer), "--output", "towers",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert_same(weights(tmp_path / "towers"), train("shared", pairs, tokenizer, tmp_path / "here"))
    questions, candidates = map(str, reqa)
    done = entry_point(
        tmp_path, *common, "finetune-retrieval", "--config", "config.json", "--variant", "shared", "--share", "50",
        "--questions", questions, "--candidates", candidates, "--pretrained", "towers", "--output", "tuned",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    finetune_retrieval(config, "shared", 50, 0, *reqa, tmp_path / "here", tmp_path / "tuned-here")
    assert_same(weights(tmp_path / "tuned"), weights(tmp_path / "tuned-here"))


@pytest.mark.slow
def test_a_system_that_a_command_is_not_for_is_told(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(asdict(two_towers())))
    done = entry_point(
        tmp_path, "-m", "contexture.training", "finetune", "--config", "config.json", "--variant", "shared",
        "--answers", "a", "--pretrained", "b", "--output", "c",
    )  # fmt: skip
    assert done.returncode == 1
    assert "config.json is of the system two_tower" in done.stderr and "Traceback" not in done.stderr


def test_a_run_without_any_pair_keeps_new_towers(
    pairs: Path, tokenizer: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for task in ("ict", "bfs", "wlp"):
        write_pairs([], tmp_path / task)
    train("shared", tmp_path, tokenizer, tmp_path / "run")
    assert "shared is not trained" in caplog.text
    assert load_towers(tmp_path / "run").config.kind == "transformer"

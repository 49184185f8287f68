"""Fine-tuning on two devices and training on two (simulated) machines give the results of one device."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from contexture.folders import UNFINISHED
from contexture.systems.config import SystemConfig
from contexture.systems.launch import finetune_arguments, launch_finetuning
from contexture.tasks.base import EvaluatedEncoder
from contexture.training.checkpoints import CHECKPOINT_DIR
from contexture.training.curves import read_curves
from tests.tasks.answer_selection import toys as answers
from tests.tasks.fact_verification import toys as claims
from tests.tasks.ranking import toys as ranked
from tests.tasks.retrieval import toys as questions
from tests.training.runs import Training, assert_same, list_commands, read_files, train, wait_until, weights
from tests.training.toys import STEADY, make_system, schedule, system, two_towers

pytestmark = pytest.mark.slow  # processes that import torch

#: Task → system, variant, option, settings, function that writes the data, and the metric of its evaluations.
TASKS: dict[str, tuple[SystemConfig, str, str, dict[str, Any], Callable[[Path], Path], str]] = {
    # Inputs have one or two candidates, so devices have different numbers of candidates and, at the end, of inputs.
    "answer_selection": (
        system(0.0), "mspp_ie", "toys", {"finetune": ["toys"], "batch_size": 6, "epochs": 3, "patience": 1},
        answers.write_data, "dev/map",
    ),
    "fact_verification": (
        system(0.0), "mspp_ie", "ae_1", {"batch_size": 8, "epochs": 2, "patience": 2}, claims.write_data,
        "dev/accuracy",
    ),
    "retrieval": (
        two_towers(0.0), "none", "share-50",
        {"shares": [50], "batch_size": 512, "steps": 12, "evaluate_every": 3, "patience": 2, "tokens_at_once": 60},
        questions.write_data, "dev/loss",
    ),
    "ranking": (
        two_towers(0.0), "none", "mine",
        {"finetune": ["mine"], "batch_size": 16, "negatives": 5, "steps": 12, "evaluate_every": 3, "patience": 2},
        ranked.write_data, "dev/loss",
    ),
}  # fmt: skip


@pytest.mark.parametrize("task", sorted(TASKS))
def test_fine_tuning_on_two_devices_equals_one_device(
    task: str, examples: Path, tokenizer: Path, tmp_path: Path
) -> None:
    """Without dropout; both devices share negatives, and evaluations of the first decide for both."""
    system_config, variant, option, settings, write, metric = TASKS[task]
    data, start = write(tmp_path / "data"), tmp_path / "start"
    train(system_config, "none", examples, tokenizer, start)
    results = []
    for devices in (1, 2):
        changed = settings | {"optimizer": STEADY, "precision": "fp32", "devices": devices}
        config = make_system(**system_config.to_dict() | {"tasks": {task: changed}})
        file, folder = tmp_path / f"{devices}.json", tmp_path / str(devices)
        file.write_text(json.dumps(config.to_dict()))
        encoder = EvaluatedEncoder(variant, 0, (str(start),), None, config.all_variants[variant].head)
        arguments = finetune_arguments(file, task, option, encoder, data)
        assert launch_finetuning(config, task, option, encoder, data, folder, arguments)
        assert not launch_finetuning(config, task, option, encoder, data, folder, arguments)
        results.append((weights(folder), read_curves(folder)[["step", metric]].dropna().reset_index(drop=True)))
    (single, evaluations), (both, other_evaluations) = results
    assert_same(single, both, atol=1e-5, rtol=1e-4)
    pd.testing.assert_frame_equal(evaluations, other_evaluations, atol=1e-4)
    assert len(evaluations) > 1


def test_two_machines_equal_one_device(training: Training) -> None:
    """Nodes are started separately, as by `srun`; when they are started again, the finished run is kept."""
    settings: dict[str, Any] = {"optimizer": STEADY, "runs": {"run": schedule(4, in_batch_negatives=1)}}
    single, folder = training.train(two_towers(0.0, **settings), "run", "one"), training.folder / "run"
    (training.folder / "config.json").write_text(json.dumps(two_towers(0.0, **settings, devices=2).to_dict()))
    assert start_nodes(training) == ["", ""]
    assert_same(single, weights(folder), atol=1e-5, rtol=1e-4)
    finished = read_files(folder)
    assert sum("is kept" in output for output in start_nodes(training)) == 1
    assert read_files(folder) == finished


def test_a_killed_process_ends_the_run_which_resumes_exactly(
    training: Training, capfd: pytest.CaptureFixture[str]
) -> None:
    """As when the system kills a process because memory is short; with dropout."""
    settings = {"runs": {"run": schedule(200, in_batch_negatives=1)}, "checkpoint_every": 10, "devices": 2}
    config, work = two_towers(**settings), training.folder / f"run{UNFINISHED}"
    killer = threading.Thread(target=kill_rank, args=(1, work))
    killer.start()
    with pytest.raises(RuntimeError, match=r"training on 2 devices ended with code 1: .* Run the same command again"):
        training.launch(config, "run")
    killer.join()
    error = capfd.readouterr().err
    assert "rank      : 1 (" in error and "Signal 9 (SIGKILL)" in error
    wait_until(lambda: not list_commands(training.folder), seconds=10)
    assert not (training.folder / "run").exists() and (work / CHECKPOINT_DIR).exists()
    resumed = training.train(config, "run")
    assert "resuming run, seed 0, at step" in capfd.readouterr().err
    assert_same(resumed, training.train(config, "run", "undisturbed"))


def kill_rank(rank: int, work: Path) -> None:
    """Kill a process of the run in the folder `work` after its first checkpoint."""
    wait_until((work / CHECKPOINT_DIR).exists)
    for file in Path("/proc").glob("[0-9]*/environ"):
        try:
            variables = file.read_bytes().split(b"\0")
            command = file.with_name("cmdline").read_bytes()
        except OSError:  # the process has ended
            continue
        if f"RANK={rank}".encode() in variables and str(work.parent).encode() in command:
            os.kill(int(file.parent.name), signal.SIGKILL)


def start_nodes(training: Training) -> list[str]:
    """Run two nodes of one process each and return what each logged about a kept run."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        endpoint = f"127.0.0.1:{free.getsockname()[1]}"
    folder = training.folder
    command = [sys.executable, "-m", "torch.distributed.run", "--nnodes=2", "--nproc-per-node=1", "--rdzv-id=job"]
    command += ["--rdzv-backend=c10d", f"--rdzv-endpoint={endpoint}", "-m", "--", "contexture", "train", "pretrain"]
    command += ["--config", str(folder / "config.json"), "--run", "run", "--output", str(folder / "run")]
    nodes = [subprocess.Popen([*command, *training.arguments], stderr=subprocess.PIPE, text=True) for _ in range(2)]
    try:
        outputs = [node.communicate(timeout=240)[1] for node in nodes]
    finally:
        for node in nodes:
            node.terminate()
    assert [node.returncode for node in nodes] == [0, 0], outputs
    return ["\n".join(line for line in output.splitlines() if "kept" in line) for output in outputs]

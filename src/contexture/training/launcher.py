"""Start a pre-training run: in this process on one device, or in one process per device.

`torch.distributed.run` starts the same entry point (`python -m contexture.training`) that a machine without Kedro uses.
Lightning's own multi-process launch would run the whole calling program once per device.
"""

import hashlib
import json
import logging
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from contexture.folders import work_folder
from contexture.training.pretrain import examples_identity, pretrain
from contexture.training.systems import System
from contexture.training.trainer import Tracking

LOG = logging.getLogger(__name__)
GRACE_SECONDS = 20


def launch_pretraining(
    config: System,
    run: str,
    seed: int,
    examples: Path,
    tokenizer: Path,
    folder: Path,
    start: Path | None = None,
    tracking: Tracking | None = None,
) -> None:
    """Pre-train into `folder`, which appears when all is done; a killed run is resumed from its last checkpoint."""
    identity = {
        "run": run,
        "seed": seed,
        "examples": examples_identity(examples),
        "tokenizer": folder_checksum(tokenizer),
        "start": hashlib.sha256((start / "model.safetensors").read_bytes()).hexdigest() if start else None,
    } | config.pretraining(run)
    with work_folder(folder, identity) as work:
        if config.pretrain.devices == 1:
            pretrain(config, run, seed, examples, tokenizer, work, start, tracking)
        else:
            config_file = work / "config.json"
            config_file.write_text(json.dumps(config.training(), indent=1), encoding="utf-8")
            arguments = ["--config", str(config_file), "--recipe", run, "--seed", str(seed)]
            arguments += ["--examples", str(examples), "--tokenizer", str(tokenizer), "--output", str(work)]
            if start:
                arguments += ["--start", str(start)]
            if tracking:
                arguments += ["--tracking", tracking.uri, tracking.run_id]
            run_distributed(["pretrain-rank", *arguments], config.pretrain.devices)


def folder_checksum(folder: Path) -> str:
    """SHA-256 of the files of a folder."""
    found = hashlib.sha256()
    for path in sorted(path for path in folder.iterdir() if path.is_file()):
        with path.open("rb") as file:
            found.update(path.name.encode() + hashlib.file_digest(file, "sha256").digest())
    return found.hexdigest()


def run_distributed(arguments: list[str], processes: int) -> None:
    """`python -m contexture.training ARGUMENTS` in several processes; RuntimeError where one of them fails.

    However this call ends, no process of it is left behind.
    """
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    command += [f"--nproc-per-node={processes}", "-m", "contexture.training", *arguments]
    threads = str(max(1, (os.cpu_count() or 1) // processes))
    environment = {"OMP_NUM_THREADS": threads, **os.environ}
    with terminable(), subprocess.Popen(command, start_new_session=True, env=environment) as process:
        try:
            code = process.wait()
        finally:
            end_group(process)
    if code:
        raise RuntimeError(f"training on {processes} devices ended with code {code}; its own error stands above")


@contextmanager
def terminable() -> Iterator[None]:
    """Inside the block SIGTERM ends this process as an error does, so that it can end those that it started."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def end_group(process: subprocess.Popen[bytes]) -> None:
    """End the process and everything it started."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
        except ProcessLookupError:
            return
        try:
            process.wait(GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            LOG.warning("training did not end within %d s of signal %d", GRACE_SECONDS, number)

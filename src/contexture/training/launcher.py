"""Start a training: in this process on one device, or in one process per device.

`torch.distributed.run` starts the same entry point (`contexture train`) that a machine without Kedro uses.
Lightning's own multi-process launch would run the whole calling program once per device.
"""

import hashlib
import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import torch

from contexture.encoders.saved import encoder_checksum
from contexture.folders import UNFINISHED, is_finished, work_folder
from contexture.training.card import pretraining_facts, write_card
from contexture.training.config import Pretraining
from contexture.training.prepare import Files
from contexture.training.pretrain import pretrain
from contexture.training.ranks import Word, own_rank, started_together

LOG = logging.getLogger(__name__)
GRACE_SECONDS = 20
#: Entry point of one process of a run.
ENTRY_POINT = "contexture"
#: Where a process of a run finds the number of the one that started all of them.
STARTER = "CONTEXTURE_STARTER"
#: What the first process tells the others.
BEGIN, KEPT = "begin", "kept"


def launch_pretraining(
    config: Pretraining, seed: int, files: Files, folder: Path, arguments: Sequence[str] | None = None
) -> bool:
    """Pre-train into `folder`; see `launch`. A killed run is resumed from its last checkpoint."""

    def train(work: Path) -> None:
        pretrain(config, seed, files, work)
        if own_rank() == 0:
            write_card(work, pretraining_facts(config, seed, files.examples, files.start))

    return launch(folder, lambda: identity_of(config, seed, files), config.settings.devices, train, arguments)


def launch(
    folder: Path,
    identity: Callable[[], dict[str, Any]],
    devices: int,
    train: Callable[[Path], object],
    arguments: Sequence[str] | None,
) -> bool:
    """Train into `folder`, which appears when all is done; on several devices in a process for each.

    A process that `torch.distributed.run` started, here or by hand on each of several machines, is one of these; the
    first of them makes the folder. A finished folder of the same identity is kept: then False.

    Args:
        folder: which all processes see.
        identity: all that the weights depend on; asked for once.
        devices: of all machines.
        train: what each process does, in a folder to work in.
        arguments: those of the entry point that do the same, but for the folder; several devices need them.
    """
    if started_together():
        return _one_of_many(folder, identity, devices, train)
    wanted = identity()
    if _kept(folder, wanted):
        return False
    if devices > 1:
        if arguments is None:
            raise ValueError("several devices are started by `contexture train`")
        check_devices(devices)
        run_distributed([*arguments, "--output", str(folder)], devices)
        return True
    with work_folder(folder, wanted) as work:
        train(work)
    return True


def _one_of_many(
    folder: Path, identity: Callable[[], dict[str, Any]], devices: int, train: Callable[[Path], object]
) -> bool:
    word = Word(devices)
    if word.rank:
        if begins := word.wait() == BEGIN:
            train(folder.with_name(folder.name + UNFINISHED))
        return begins
    wanted = identity()
    if _kept(folder, wanted):
        word.give(KEPT)
        return False
    with work_folder(folder, wanted) as work:
        word.give(BEGIN)
        train(work)
    return True


def _kept(folder: Path, identity: dict[str, Any]) -> bool:
    kept = is_finished(folder, identity)
    if kept:
        LOG.info("%s is kept: it was trained with the same settings on the same examples", folder)
    return kept


def check_devices(devices: int) -> None:
    """Raise ValueError where this machine has GPUs, but not so many."""
    here = torch.cuda.device_count() if torch.cuda.is_available() else devices
    if here < devices:
        raise ValueError(
            f"devices is {devices}, this machine has {here}: start `torch.distributed.run` on every machine, see "
            "docs/scaling.md"
        )


def identity_of(config: Pretraining, seed: int, files: Files) -> dict[str, Any]:
    """All that the weights of a run depend on."""
    read = {config.streams[name].examples for name in config.active}
    return {
        "run": asdict(config.recipe),
        "seed": seed,
        "encoder": asdict(config.encoder),
        "lengths": asdict(config.lengths),
        "streams": {name: asdict(stream) for name, stream in config.streams.items()},
        "settings": {key: value for key, value in asdict(config.settings).items() if key != "runs"},
        "examples": {name: examples_identity(files.examples[name]) for name in sorted(read)},
        "vocabulary": folder_checksum(files.vocabulary),
        "start": encoder_checksum(files.start) if files.start else None,
    }


def examples_identity(folder: Path) -> dict[str, int]:
    """What tells one table of examples from another, cheaply: its rows and bytes."""
    tables = sorted(folder.rglob("*.parquet"))
    return {
        "rows": sum(pq.ParquetFile(table).metadata.num_rows for table in tables),
        "bytes": sum(table.stat().st_size for table in tables),
    }


def folder_checksum(folder: Path) -> str:
    """SHA-256 of the files of a folder."""
    found = hashlib.sha256()
    for path in sorted(path for path in folder.iterdir() if path.is_file()):
        with path.open("rb") as file:
            found.update(path.name.encode() + hashlib.file_digest(file, "sha256").digest())
    return found.hexdigest()


def file_checksums(folder: Path) -> dict[str, str]:
    """SHA-256 of every file in and below a folder, by its path there."""
    found = {}
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        with path.open("rb") as file:
            found[path.relative_to(folder).as_posix()] = hashlib.file_digest(file, "sha256").hexdigest()
    return found


def run_distributed(arguments: list[str], processes: int) -> None:
    """The entry point in several processes; RuntimeError where one of them fails.

    However this call ends, no process of it is left behind.
    """
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    # Behind `--`, as it would take options of ours for abbreviations of its own.
    command += [f"--nproc-per-node={processes}", "-m", "--", ENTRY_POINT, *arguments]
    threads = str(max(1, (os.cpu_count() or 1) // processes))
    environment = {"OMP_NUM_THREADS": threads, **os.environ, STARTER: str(os.getpid())}
    with terminable(), subprocess.Popen(command, start_new_session=True, env=environment) as process:
        try:
            code = process.wait()
        finally:
            end_group(process)
    if code:
        raise RuntimeError(f"training on {processes} devices ended with code {code}; its own error stands above")


def end_with_starter() -> None:
    """From now on this process of a run ends when the one that started the run is gone, however that ended.

    It could not tell its processes, and the next run must find its folder alone.
    """
    if starter := os.environ.get(STARTER):
        threading.Thread(target=_watch, args=(int(starter),), daemon=True).start()


def _watch(process: int) -> None:
    try:
        while True:
            os.kill(process, 0)  # no signal: only whether it is there
            time.sleep(1)
    except OSError:
        os._exit(1)


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

"""Start a pre-training run: in this process on one device, or in one process per device.

`torch.distributed.run` starts the same entry point (`python -m contexture.train`) that a machine without Kedro uses.
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
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from contexture.encoders.saved import encoder_checksum
from contexture.folders import finished, work_folder
from contexture.training.config import Pretraining
from contexture.training.prepare import Files
from contexture.training.pretrain import pretrain

LOG = logging.getLogger(__name__)
GRACE_SECONDS = 20
#: Entry point of one process of a run.
ENTRY_POINT = "contexture.train"
#: Where a process of a run finds the number of the one that started all of them.
STARTER = "CONTEXTURE_STARTER"


def launch_pretraining(
    config: Pretraining, seed: int, files: Files, folder: Path, arguments: Callable[[Path], list[str]] | None = None
) -> bool:
    """Pre-train into `folder`, which appears when all is done; a killed run is resumed from its last checkpoint.

    A finished folder of the same settings and files is kept: then False. `arguments` are those of the entry point, by
    the folder to work in, which several devices need.
    """
    identity = identity_of(config, seed, files)
    if finished(folder, identity):
        LOG.info("%s is kept: it was trained with the same settings on the same examples", folder)
        return False
    with work_folder(folder, identity) as work:
        if config.settings.devices == 1:
            pretrain(config, seed, files, work)
        else:
            if arguments is None:
                raise ValueError(f"run {config.run}: several devices are started by `python -m {ENTRY_POINT} pretrain`")
            run_distributed(arguments(work), config.settings.devices)
    return True


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

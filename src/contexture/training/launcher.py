"""Start a training in this process, or, by `torch.distributed.run`, in one process per device."""

import hashlib
import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import torch

from contexture.encoders.saved import encoder_checksum
from contexture.folders import (
    IDENTITY,
    UNFINISHED,
    check_replaceable,
    find_differences,
    hash_file,
    is_finished,
    normalize_identity,
    read_identity,
    work_folder,
)
from contexture.signals import exit_on_sigterm
from contexture.streams.tables import held_out_dir
from contexture.training.card import pretraining_details, pretraining_metadata, write_card
from contexture.training.config import QUESTIONS, Pretraining
from contexture.training.corpus_info import read_corpus_info
from contexture.training.prepare import RunFiles
from contexture.training.pretrain import pretrain
from contexture.training.ranks import Channel, get_rank, is_distributed

LOG = logging.getLogger(__name__)
GRACE_SECONDS = 20
#: Environment variable with the ID of the process that started all processes of a run.
STARTER_VARIABLE = "CONTEXTURE_STARTER"
#: Messages of the first process to the others.
BEGIN_MESSAGE, KEPT_MESSAGE = "begin", "kept"


def launch_pretraining(
    config: Pretraining, seed: int, files: RunFiles, folder: Path, arguments: Sequence[str] | None = None
) -> bool:
    """Pre-train into `folder`, from the last checkpoint if there is one; return False if a finished run is kept.

    See `launch`.
    """

    def train(work: Path) -> None:
        """Pre-train in a work folder and write the model's card."""
        pretrain(config, seed, files, work)
        if get_rank() == 0:
            details = pretraining_details(config, seed, files.examples, files.start)
            write_card(work, details, pretraining_metadata(config, files.examples))

    return launch(folder, lambda: run_identity(config, seed, files), config.settings.devices, train, arguments)


def launch(
    folder: Path,
    identity: Callable[[], dict[str, Any]],
    devices: int,
    train: Callable[[Path], object],
    arguments: Sequence[str] | None,
) -> bool:
    """Train into `folder`, which appears when training is complete, with one process per device.

    If `torch.distributed.run` started this process, here or on several machines, the first process creates the folder,
    which all must see. Returns False if a finished folder with the same identity is kept.

    Args:
        identity: returns all that the weights depend on.
        train: trains in a work folder; each process calls it.
        arguments: arguments of `contexture train`, without the folder; several devices need them.
    """
    folder = folder.resolve()
    channel = Channel(devices) if is_distributed() else None
    if channel and channel.rank:
        if begins := channel.wait() == BEGIN_MESSAGE:
            train(folder.with_name(folder.name + UNFINISHED))
        return begins
    expected = identity()
    if is_finished(folder, expected):
        LOG.info("%s is kept: settings and examples have not changed", folder)
        if channel:
            channel.send(KEPT_MESSAGE)
        return False
    check_replaceable(folder, IDENTITY)
    if (folder / IDENTITY).exists():
        changes = "; ".join(find_differences(read_identity(folder), normalize_identity(expected)))
        LOG.info("%s is trained again and replaced, because settings or files have changed: %s", folder, changes)
    if devices > 1 and not channel:
        if arguments is None:
            raise ValueError("several devices need `contexture train`: give `arguments`")
        check_devices(devices)
        run_distributed([*arguments, "--output", str(folder)], devices)
        return True
    with work_folder(folder, expected) as work:
        if channel:
            channel.send(BEGIN_MESSAGE)
        train(work)
    return True


def check_devices(devices: int) -> None:
    """Raise ValueError if this machine has GPUs, but fewer than `devices`."""
    available = torch.cuda.device_count() if torch.cuda.is_available() else devices
    if available < devices:
        raise ValueError(
            f"devices is {devices}, this machine has {available}: start `torch.distributed.run` on each machine, see "
            "docs/scaling.md"
        )


def run_identity(config: Pretraining, seed: int, files: RunFiles) -> dict[str, Any]:
    """Return all that the weights depend on: settings, seed, sizes or checksums of files, revisions of objectives."""
    examples = {config.streams[name].examples for name in config.stream_names}
    return {
        "run": asdict(config.recipe),
        "seed": seed,
        "encoder": asdict(config.encoder),
        "lengths": asdict(config.lengths),
        "streams": {name: asdict(stream) for name, stream in config.streams.items()},
        "settings": {
            key: value
            for key, value in asdict(config.settings).items()
            if key != "runs" and (key, value) != ("held_out", None)
        },
        "examples": {name: examples_identity(files.examples[name]) for name in sorted(examples)},
        **_held_out_identity(config, files, sorted(examples)),
        "vocabulary": folder_checksum(files.vocabulary),
        "start": encoder_checksum(files.start) if files.start else None,
        "init_from": None if files.start else _init_checksum(config),
        "revisions": _list_revisions(config),
    }


def _list_revisions(config: Pretraining) -> dict[str, int]:
    """Return objective → `ObjectiveConfig.revision` of corrected objectives. The identity leaves out {}."""
    revisions = {name: config.recipe.objective(name).revision for name in config.recipe.objective_names}
    return {name: revision for name, revision in revisions.items() if revision}


def _init_checksum(config: Pretraining) -> str | None:
    """Return the checksum of the folder of published weights; None for a name, whose weights do not change.

    The identity leaves out None, see `normalize_identity`.
    """
    weights = getattr(config.encoder, "init_from", None)
    return folder_checksum(Path(weights)) if weights is not None and Path(weights).is_dir() else None


def _held_out_identity(config: Pretraining, files: RunFiles, examples: Sequence[str]) -> dict[str, Any]:
    """Return the identity of the examples of held-out documents, which decide when training stops; {} without them."""
    settings = config.settings.held_out
    if settings is None:
        return {}
    names = {*examples, config.streams[QUESTIONS].examples} if settings.criterion == "questions" else examples
    return {"held_out": {name: examples_identity(held_out_dir(files.examples[name])) for name in sorted(names)}}


def examples_identity(folder: Path) -> dict[str, Any]:
    """Return the number of rows, bytes and checksum of a table of examples; of derived ones, also their identity.

    The stage that makes them computes the checksum; tables of older versions have none.
    """
    tables = sorted(folder.rglob("*.parquet"))
    derived = {"derived": read_identity(folder)} if (folder / IDENTITY).exists() else {}
    return derived | {
        "rows": sum(pq.ParquetFile(table).metadata.num_rows for table in tables),
        "bytes": sum(table.stat().st_size for table in tables),
        "sha256": read_corpus_info(folder).sha256 or None,
    }


def folder_checksum(folder: Path) -> str:
    """Return one SHA-256 of all files in a folder, without its subfolders."""
    checksum = hashlib.sha256()
    for path in sorted(path for path in folder.iterdir() if path.is_file()):
        checksum.update(path.name.encode() + hash_file(path))
    return checksum.hexdigest()


def file_checksums(folder: Path) -> dict[str, str]:
    """Return relative path → SHA-256 of all files in a folder and its subfolders."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): hash_file(path).hex() for path in paths}


def run_distributed(arguments: list[str], processes: int) -> None:
    """Run `contexture` with these arguments in several processes, which end with this call.

    Raises RuntimeError if one fails.
    """
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    # Without `--` it would read our options as abbreviations of its options.
    command += [f"--nproc-per-node={processes}", "-m", "--", "contexture", *arguments]
    threads = str(max(1, (os.cpu_count() or 1) // processes))
    environment = {"OMP_NUM_THREADS": threads, **os.environ, STARTER_VARIABLE: str(os.getpid())}
    with exit_on_sigterm(), subprocess.Popen(command, start_new_session=True, env=environment) as process:
        try:
            code = process.wait()
        finally:
            end_process_group(process)
    if code:
        raise RuntimeError(
            f"training on {processes} devices ended with code {code}: see the error above. All processes have ended. "
            "Run the same command again to continue from the last checkpoint"
        )


def end_with_starter() -> None:
    """End this process when its starter ends, even if that is killed."""
    if starter := os.environ.get(STARTER_VARIABLE):
        threading.Thread(target=_exit_after_process, args=(int(starter),), daemon=True).start()


def _exit_after_process(process: int) -> None:
    """End this process when the process with this ID has ended."""
    try:
        while True:
            os.kill(process, 0)  # sends no signal; raises if the process has ended
            time.sleep(1)
    except OSError:
        os._exit(1)


def end_process_group(process: subprocess.Popen[bytes]) -> None:
    """End the process and all that it started, by SIGTERM and, if it goes on, SIGKILL."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
        except ProcessLookupError:
            return
        try:
            process.wait(GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            LOG.warning("training did not end within %d s of signal %d", GRACE_SECONDS, number)

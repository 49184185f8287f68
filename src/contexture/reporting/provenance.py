"""How results were made: command, code, text, seeds, budget, duration and processor."""

import hashlib
import json
import os
import platform
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic.dataclasses import dataclass

from contexture.strict import STRICT

_CPU_FILE = Path("/proc/cpuinfo")


@dataclass(config=STRICT, frozen=True)
class Provenance:
    """How the records of a system were made; null: unknown, as for runs of older versions."""

    # Repeats the run with the system. Paths are those of the machine that ran it.
    command: str | None = None
    # Git commit, or several after ", ", and whether files differed from it.
    commit: str | None = None
    changed_files: bool | None = None
    # Time of the end, such as 2026-01-31T12:00.
    finished: str | None = None
    # Duration of the last start of the run: without the trainings that an earlier start finished.
    minutes: float | None = None
    # Duration of all trainings together, from the records; null in run.json.
    training_minutes: float | None = None
    seeds: int | None = None
    # Of each training, such as "9 minutes"; null: the schedules have their own steps.
    budget: str | None = None
    # Text of the trainings, and SHA-256 of its files (`hash_corpus`).
    text: str | None = None
    text_sha256: str | None = None
    processor: str | None = None
    cores: int | None = None

    def join(self, later: "Provenance", seeds: int) -> "Provenance":
        """Return how the records of both runs were made, with `seeds` together, and with the command of `later`.

        Raises ValueError unless both have the same text and budget.
        """
        for name in ("text_sha256", "budget"):
            if (first := getattr(self, name)) != (second := getattr(later, name)):
                raise ValueError(f"{name} is {second} in this run and {first} in the file; save it as another file")
        changes, minutes = (self.changed_files, later.changed_files), (self.minutes, later.minutes)
        return replace(
            later,
            commit=_join_names(self.commit, later.commit),
            changed_files=True if True in changes else None if None in changes else False,
            minutes=None if None in minutes else round(sum(filter(None, minutes)), 1),
            seeds=seeds,
            processor=_join_names(self.processor, later.processor),
        )


def _join_names(*texts: str | None) -> str | None:
    """Return the names of texts such as "a, b", each once, as one such text; None if none is known."""
    names = (name for text in texts if text for name in text.split(", "))
    return ", ".join(dict.fromkeys(names)) or None


def hash_json(value: Any) -> str:
    """Return the SHA-256 of a value as JSON."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def hash_corpus(sources: Mapping[str, Any]) -> str:
    """Return the SHA-256 of the fingerprints of a corpus' files, in the manifest that the stage `sources` writes.

    It is the same in another folder, and for files with other names.
    """
    return hash_json(sorted(file["fingerprint"] for file in sources["corpus"]))


def describe_processor() -> dict[str, Any]:
    """Return the name of the `processor` and its `cores`; the GPU if this process uses one."""
    lines = _CPU_FILE.read_text(encoding="utf-8").splitlines() if _CPU_FILE.exists() else []
    names = (line.partition(": ")[2] for line in lines if line.startswith("model name"))
    processor = next(names, platform.processor() or platform.machine())
    if (torch := sys.modules.get("torch")) is not None and torch.cuda.is_available():
        processor = torch.cuda.get_device_name()
    return {"processor": processor, "cores": os.cpu_count()}

"""fp32 or bf16: measured on the device at hand, never assumed."""

import logging
import time
from pathlib import Path
from typing import Any, Literal

import torch
from pytorch_lightning.utilities import move_data_to_device

from contexture.training.config import Precision
from contexture.training.decisions import decided
from contexture.training.module import ScheduledObjectives

LOG = logging.getLogger(__name__)
#: bf16 must be this many times as fast to be worth its lower precision, and to keep the choice stable.
WORTHWHILE = 1.3
TRIALS = 3
#: What `auto` found.
PRECISION_FILE = "precision.json"

LightningPrecision = Literal["32-true", "bf16-mixed"]


def allow_tf32() -> None:
    """Products of float32 matrices as training has them, so that what is timed is what is used."""
    torch.set_float32_matmul_precision("high")


def choose_precision(
    wanted: Precision, module: ScheduledObjectives, batch: Any, folder: Path, rank: int = 0
) -> LightningPrecision:
    """Lightning's name of the wanted precision; `auto` times the encoding of a batch of all streams in both.

    The first process does so, on its own device, and keeps what it found in `folder`: all devices, and a run that is
    resumed, take the same (`decided`).
    """
    allow_tf32()
    if wanted != "auto":
        return "bf16-mixed" if wanted == "bf16" else "32-true"
    found: LightningPrecision = decided(folder / PRECISION_FILE, rank, lambda: _faster(module, batch))
    return found


def _faster(module: ScheduledObjectives, batch: Any) -> LightningPrecision:
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    module.to(device)
    batch = move_data_to_device(batch, device)
    seconds = {dtype: _seconds(module, batch, device, dtype) for dtype in (torch.float32, torch.bfloat16)}
    module.zero_grad(set_to_none=True)
    ratio = seconds[torch.float32] / seconds[torch.bfloat16]
    chosen: LightningPrecision = "bf16-mixed" if ratio >= WORTHWHILE else "32-true"
    LOG.info("bf16 runs %.2f times as fast as fp32 on this %s: %s", ratio, device.type, chosen)
    return chosen


def _seconds(module: ScheduledObjectives, batch: Any, device: torch.device, dtype: torch.dtype) -> float:
    """The fastest of a few forward and backward passes."""
    times = []
    for _ in range(TRIALS + 1):  # the first one warms up
        start = time.perf_counter()
        with torch.autocast(device.type, dtype, enabled=dtype != torch.float32):
            encoded = [module.streams[name].encode(module.encoder, part) for name, part in batch.items()]
            tensors = [tensor for states in encoded for tensor in _list_tensors(states)]
            loss = torch.stack([tensor.float().square().mean() for tensor in tensors]).sum()
        loss.backward()  # type: ignore[no-untyped-call]
        if device.type == "cuda":
            torch.cuda.synchronize()
        times.append(time.perf_counter() - start)
    return min(times[1:])


def _list_tensors(states: Any) -> list[torch.Tensor]:
    """The tensors of what a stream encodes: one, one by role, or one for each chunk."""
    if isinstance(states, dict):
        return list(states.values())
    return states if isinstance(states, list) else [states]

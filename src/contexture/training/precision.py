"""Choose fp32 or bf16 by measuring both on the device."""

import logging
import time
from pathlib import Path
from typing import Any, Literal

import torch

from contexture.encoders.base import to_device
from contexture.encoders.precision import MIN_BF16_SPEEDUP, NUM_TRIALS
from contexture.training.config import Precision
from contexture.training.module import ScheduledObjectives, synchronize
from contexture.training.ranks import decide_once

LOG = logging.getLogger(__name__)
#: File with the choice of `auto`.
PRECISION_FILE = "precision.json"

LightningPrecision = Literal["32-true", "bf16-mixed"]


def allow_tf32() -> None:
    """Let products of float32 matrices use TF32."""
    torch.set_float32_matmul_precision("high")


def choose_precision(
    setting: Precision, module: ScheduledObjectives, batch: Any, folder: Path, rank: int = 0
) -> LightningPrecision:
    """Return Lightning's name of the precision; `auto` chooses by the time of a batch of all streams in both.

    The first process measures and saves the choice in `folder`, for all devices and for resumed runs.
    """
    allow_tf32()
    if setting != "auto":
        return "bf16-mixed" if setting == "bf16" else "32-true"
    precision: LightningPrecision = decide_once(folder / PRECISION_FILE, rank, lambda: _choose_faster(module, batch))
    return precision


def _choose_faster(module: ScheduledObjectives, batch: Any) -> LightningPrecision:
    """Return bf16 if it is at least `MIN_BF16_SPEEDUP` times as fast as fp32 on a batch, otherwise fp32."""
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    module.to(device)
    batch = to_device(batch, device)
    seconds = {dtype: _measure_seconds(module, batch, device, dtype) for dtype in (torch.float32, torch.bfloat16)}
    module.zero_grad(set_to_none=True)
    ratio = seconds[torch.float32] / seconds[torch.bfloat16]
    chosen: LightningPrecision = "bf16-mixed" if ratio >= MIN_BF16_SPEEDUP else "32-true"
    LOG.info("bf16 is %.2f times as fast as fp32 on this %s: using %s", ratio, device.type, chosen)
    return chosen


def _measure_seconds(module: ScheduledObjectives, batch: Any, device: torch.device, dtype: torch.dtype) -> float:
    """Return the least time of a few forward and backward passes over a batch in a precision."""
    times = []
    for _ in range(NUM_TRIALS + 1):  # the first one warms up
        start = time.perf_counter()
        with torch.autocast(device.type, dtype, enabled=dtype != torch.float32):
            encoded = [module.streams[name].encode(module.encoder, part) for name, part in batch.items()]
            tensors = [tensor for states in encoded for tensor in _list_tensors(states)]
            loss = torch.stack([tensor.float().square().mean() for tensor in tensors]).sum()
        loss.backward()  # type: ignore[no-untyped-call]
        synchronize(device)
        times.append(time.perf_counter() - start)
    return min(times[1:])


def _list_tensors(states: Any) -> list[torch.Tensor]:
    """Return the encoded tensors of a stream as a list: one, one by role, or one for each chunk."""
    if isinstance(states, dict):
        return list(states.values())
    return states if isinstance(states, list) else [states]

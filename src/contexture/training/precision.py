"""fp32 or bf16: measured on the device at hand, never assumed."""

import logging
import time
from typing import Any, Literal

import torch
from pytorch_lightning.utilities import move_data_to_device
from torch import nn

from contexture.training.config import Precision

LOG = logging.getLogger(__name__)
#: bf16 must be this many times as fast to be worth its lower precision, and to keep the choice stable.
WORTHWHILE = 1.3
TRIALS = 3

LightningPrecision = Literal["32-true", "bf16-mixed"]


def choose_precision(wanted: Precision, encoder: nn.Module, batch: Any) -> LightningPrecision:
    """Lightning's name of the wanted precision; `auto` times forward and backward passes of both."""
    if wanted != "auto":
        return "bf16-mixed" if wanted == "bf16" else "32-true"
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    encoder.to(device)
    batch = move_data_to_device(batch, device)
    seconds = {dtype: _seconds(encoder, batch, device, dtype) for dtype in (torch.float32, torch.bfloat16)}
    encoder.zero_grad(set_to_none=True)
    ratio = seconds[torch.float32] / seconds[torch.bfloat16]
    chosen: LightningPrecision = "bf16-mixed" if ratio >= WORTHWHILE else "32-true"
    LOG.info("bf16 runs %.2f times as fast as fp32 on this %s: %s", ratio, device.type, chosen)
    return chosen


def _seconds(encoder: nn.Module, batch: Any, device: torch.device, dtype: torch.dtype) -> float:
    """The fastest of a few forward and backward passes."""
    times = []
    for _ in range(TRIALS + 1):  # the first one warms up
        start = time.perf_counter()
        with torch.autocast(device.type, dtype, enabled=dtype != torch.float32):
            loss = encoder(batch).float().square().mean()
        loss.backward()
        if device.type == "cuda":
            torch.cuda.synchronize()
        times.append(time.perf_counter() - start)
    return min(times[1:])

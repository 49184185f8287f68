"""Choose the precision in which published models embed texts."""

import time
from functools import cache

import torch

#: Least speed-up for which bf16 is chosen.
MIN_BF16_SPEEDUP = 1.3
NUM_TRIALS = 3
#: Rows and columns of the matrices that are multiplied.
_SIZE = 1024


def embed_in_bf16(device: torch.device) -> torch.autocast:
    """Return a context for embedding on a device: bf16 if it is a CPU that multiplies faster in bf16, else unchanged.

    Sums, norms and the vectors stay in fp32. With all-MiniLM-L6-v2, cosines to fp32 are at least 0.99997.
    """
    return torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cpu" and is_bf16_faster())


@cache
def is_bf16_faster() -> bool:
    """Return whether this CPU multiplies matrices at least `MIN_BF16_SPEEDUP` times as fast in bf16 as in fp32.

    Processors are far from this limit: three times as fast with AVX-512 BF16 of AMD, and slower than fp32 with that of
    Intel without AMX.
    """
    return _measure_product(torch.float32) >= MIN_BF16_SPEEDUP * _measure_product(torch.bfloat16)


def _measure_product(dtype: torch.dtype) -> float:
    """Return the least seconds of a product of two matrices."""
    matrix = torch.ones(_SIZE, _SIZE, dtype=dtype)
    seconds = []
    for _ in range(NUM_TRIALS + 1):  # the first one warms up
        start = time.perf_counter()
        matrix @ matrix
        seconds.append(time.perf_counter() - start)
    return min(seconds[1:])

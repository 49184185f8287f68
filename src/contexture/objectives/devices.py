"""Tensors of all devices, for objectives with negatives on other devices."""

import torch
from torch import Tensor, distributed
from torch.distributed.nn.functional import all_gather


def gather_devices(values: Tensor) -> Tensor:
    """Return the values (B, …) of all R devices, (R·B, …), by rank. Gradients flow to all of them.

    All devices must have the same B. Gradients averaged over devices, as DistributedDataParallel does, are those of the
    mean loss over the whole batch.
    """
    if not is_distributed():
        return values
    if values.is_floating_point():
        return torch.cat(all_gather(values.contiguous()))  # type: ignore[no-untyped-call]
    parts = [torch.empty_like(values) for _ in range(distributed.get_world_size())]
    distributed.all_gather(parts, values.contiguous())
    return torch.cat(parts)


def global_mean(total: Tensor, count: Tensor) -> Tensor:
    """Return a sum over `count` examples, divided so that its average over devices is the mean over all examples.

    Devices may have different counts. Returns 0 without examples.
    """
    return total / gather_devices(count[None]).float().mean().clamp_min(1)


def first_row_index(count: int) -> int:
    """Return the index of this device's first row among the rows of all devices, if each device has `count`."""
    return distributed.get_rank() * count if is_distributed() else 0


def is_distributed() -> bool:
    """Return whether there is more than one device."""
    return distributed.is_available() and distributed.is_initialized() and distributed.get_world_size() > 1


def inner_products(left: Tensor, right: Tensor) -> Tensor:
    """Return inner products (B, C) of vectors (B, D) and (C, D) in float32, even under autocast.

    bfloat16 would round scores above 256 to even numbers, so that many documents would tie.
    """
    with torch.autocast(left.device.type, enabled=False):
        return left.float() @ right.float().T

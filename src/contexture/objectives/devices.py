"""Tensors of all devices, for objectives whose negatives are on all of them."""

import torch
from torch import Tensor, distributed
from torch.distributed.nn.functional import all_gather


def gather_devices(values: Tensor) -> Tensor:
    """The values (B, …) of all R devices, (R·B, …), in the order of their ranks; gradients flow to all of them.

    All devices must have the same B. Gradients averaged over devices, as DistributedDataParallel does, are then those
    of the mean loss over the whole batch.
    """
    if not is_distributed():
        return values
    if values.is_floating_point():
        return torch.cat(all_gather(values.contiguous()))  # type: ignore[no-untyped-call]
    parts = [torch.empty_like(values) for _ in range(distributed.get_world_size())]
    distributed.all_gather(parts, values.contiguous())
    return torch.cat(parts)


def global_mean(total: Tensor, count: Tensor) -> Tensor:
    """A sum over `count` examples, which devices may have different numbers of → this device's part of their mean.

    Averaged over devices it is the mean over the examples of all; 0 where there is none.
    """
    return total / gather_devices(count[None]).float().mean().clamp_min(1)


def first_row_index(count: int) -> int:
    """Where this device's rows begin among those of all devices, if each has `count`."""
    return distributed.get_rank() * count if is_distributed() else 0


def is_distributed() -> bool:
    """Whether there is more than one device."""
    return distributed.is_available() and distributed.is_initialized() and distributed.get_world_size() > 1


def inner_products(left: Tensor, right: Tensor) -> Tensor:
    """Inner products (B, C) of vectors (B, D) and (C, D) in float32, also where autocast would round them to bfloat16.

    Scores of some hundreds are even numbers there: many documents would have the same one.
    """
    with torch.autocast(left.device.type, enabled=False):
        return left.float() @ right.float().T

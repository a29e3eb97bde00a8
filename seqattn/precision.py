"""Half precision where it is safe and where the machine has units for it."""

import torch
from torch import Tensor

__all__ = [
    "at_least_single",
    "autocast",
    "computes_bf16",
    "held_temperature",
    "ready_for_products",
]


def at_least_single(kind: torch.dtype) -> torch.dtype:
    """Give the type in which positions and running sums of a type are computed: 32 bits or more.

    In bfloat16 there is no number between 256 and 258: position 257 would be another word's.
    """
    return torch.promote_types(kind, torch.float32)


def held_temperature(temperature: float, kind: torch.dtype) -> float:
    """Bring a temperature above 0 into what a type can hold: neither 0 nor infinite in it."""
    limits = torch.finfo(kind)
    return min(max(temperature, limits.tiny), limits.max)


def autocast(device: torch.device, bf16: bool) -> torch.autocast:
    """Compute in bfloat16 where that is safe, or leave everything as it is.

    Weights stay in 32 bits, and so do losses and sums; matrix products lose bits.

    Parameters
    ----------
    device : torch.device
        Where the model is.
    bf16 : bool
        Whether to use bfloat16.
    """
    return torch.autocast(device.type, dtype=torch.bfloat16, enabled=bf16)


def ready_for_products(x: Tensor) -> Tensor:
    """Cast what many matrix products will read, as each of them would under :func:`autocast`.

    Weights are cast once and remembered, but what a model computed would be cast anew each time.
    """
    kind = x.device.type
    if x.is_floating_point() and x.element_size() < 8 and torch.is_autocast_enabled(kind):
        return x.to(torch.get_autocast_dtype(kind))
    return x


def computes_bf16(device: torch.device) -> bool:
    """Whether a device multiplies matrices in bfloat16 by itself, and does not only imitate it."""
    if device.type == "cuda":
        return torch.cuda.is_bf16_supported(including_emulation=False)
    if device.type != "cpu":
        return False
    probes = ("_is_amx_tile_supported", "_is_avx512_bf16_supported")
    return any(getattr(torch.cpu, probe, lambda: False)() for probe in probes)

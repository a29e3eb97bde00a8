"""Half precision where it is safe and where the machine has units for it."""

import torch

__all__ = ["autocast", "computes_bf16"]


def autocast(device: torch.device, bf16: bool) -> torch.autocast:
    """Compute in bfloat16 where that is safe, or leave everything as it is.

    Weights stay in 32 bits, and so do losses and sums; matrix products lose bits.

    Parameters
    ----------
    device : torch.device
        Where the model is.
    bf16 : bool
        Whether to.
    """
    return torch.autocast(device.type, dtype=torch.bfloat16, enabled=bf16)


def computes_bf16(device: torch.device) -> bool:
    """Whether a device multiplies matrices in bfloat16 by itself, and does not only imitate it."""
    if device.type == "cuda":
        return torch.cuda.is_bf16_supported(including_emulation=False)
    if device.type != "cpu":
        return False
    probes = ("_is_amx_tile_supported", "_is_avx512_bf16_supported")
    return any(getattr(torch.cpu, probe, lambda: False)() for probe in probes)

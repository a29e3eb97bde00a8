"""The process that computes: its number, its cores, and how it is set up to compute on a CPU.

Several processes that train together, and signals, are in :mod:`seqattn.training.runtime`.
"""

import ctypes
import os
import re
import sys
from pathlib import Path

import torch

__all__ = [
    "available_cores",
    "peak_memory",
    "prepare_process",
    "process_rank",
    "return_free_memory",
]

# glibc's mallopt: the least size that gets pages of its own, and the most that is kept when free.
M_MMAP_THRESHOLD, M_TRIM_THRESHOLD, TWO_GIB = -3, -1, 2**31 - 1


def process_rank() -> int:
    """Give the number of this process among those that were launched together; alone it is 0."""
    return int(os.environ.get("RANK", "0"))


def available_cores() -> int:
    """Count the cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def prepare_process() -> None:
    """Set up this process for training or translation on a CPU, before its first product.

    Numbers too small to be normal, which cost a hundred times the time of others, become 0. And
    memory that is freed stays with the process: an update needs as much again, and to have large
    blocks mapped and cleared by the system each time costs up to a fifth of it, with some models
    nothing that is seen (with glibc; elsewhere nothing changes).
    """
    torch.set_flush_denormal(True)
    _ask_library("mallopt", M_MMAP_THRESHOLD, TWO_GIB)
    _ask_library("mallopt", M_TRIM_THRESHOLD, TWO_GIB)


def return_free_memory() -> None:
    """Give the system the memory that is free but scattered between what is in use.

    Batches of many shapes leave gaps that nothing fits into any more: in thousands of updates they
    grow to several times what the training needs. To return them costs the time to map them anew,
    so this is for now and then (with glibc; elsewhere nothing happens).
    """
    _ask_library("malloc_trim", 0)


def peak_memory(device: str) -> float | None:
    """Give the MiB that this process has had at most, or None where the system does not tell.

    Of main memory for "cpu", of the GPU's for "cuda".
    """
    if device.startswith("cuda"):
        return torch.cuda.max_memory_allocated(device) / 2**20
    if device != "cpu" or sys.platform == "win32":
        return None
    status = Path("/proc/self/status")
    if status.exists():  # what getrusage tells here begins with the peak of who started the process
        [peak] = re.findall(r"^VmHWM:\s+(\d+) kB$", status.read_text(), re.MULTILINE)
        return int(peak) / 2**10
    import resource

    unit = 2**20 if sys.platform == "darwin" else 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


def _ask_library(name: str, *arguments: int) -> None:
    """Call a function of the C library, where it has it."""
    try:
        function = getattr(ctypes.CDLL(None), name)
    except (AttributeError, OSError, TypeError):
        return
    function(*arguments)

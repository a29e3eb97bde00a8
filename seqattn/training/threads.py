"""What a CPU needs to be fast: the right number of threads, and a process set up for the work."""

import copy
import ctypes
import os
import time

import torch
from torch import nn

from seqattn.data.batches import Batch, Batches
from seqattn.precision import autocast
from seqattn.training.losses import cross_entropy

__all__ = ["available_cores", "fastest_threads", "prepare_process", "return_free_memory"]

# glibc's mallopt: the least size that gets pages of its own, and the most that is kept when free.
M_MMAP_THRESHOLD, M_TRIM_THRESHOLD, TWO_GIB = -3, -1, 2**31 - 1


def available_cores() -> int:
    """Count the cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def prepare_process() -> None:
    """Set up this process for training or translation on a CPU, before its first product.

    Numbers too small to be normal, which cost a hundred times the time of others, become 0. And
    memory that is freed stays with the process: an update needs as much again, and to have large
    blocks mapped and cleared by the system each time costs a tenth of it (with glibc; elsewhere
    nothing changes).
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


def _ask_library(name: str, *arguments: int) -> None:
    """Call a function of the C library, where it has it."""
    try:
        function = getattr(ctypes.CDLL(None), name)
    except (AttributeError, OSError, TypeError):
        return
    function(*arguments)


def fastest_threads(model: nn.Module, batches: Batches, *, bf16: bool = False) -> int:
    """Try out numbers of threads on a copy of the model, and give the fastest.

    The products of a small model are short, and threads that wait for each other spin: where
    another program uses a core as well, two threads can be seven times slower than one.

    Parameters
    ----------
    model : nn.Module
        On the CPU; neither it nor the random numbers are changed.
    batches : Batches
        What will be trained on.
    bf16 : bool
        Compute in bfloat16 where that is safe.

    Returns
    -------
    int
        A power of 2, or the number of cores.
    """
    cores = available_cores()
    candidates = [n for n in (1, 2, 4, 8, 16) if n < cores] + [cores]
    if cores == 1:
        return 1
    before = torch.get_num_threads()
    trial = copy.deepcopy(model).train()
    batch = next(batches.epoch(0))
    seconds = {}
    with torch.random.fork_rng(devices=[]):
        for threads in candidates:
            torch.set_num_threads(threads)
            _time(trial, batch, bf16)  # the first time at a shape plans its products
            seconds[threads] = min(_time(trial, batch, bf16) for _ in range(2))
            if seconds[threads] > 2 * min(seconds.values()):
                break
    torch.set_num_threads(before)
    return min(seconds, key=seconds.__getitem__)


def _time(model: nn.Module, batch: Batch, bf16: bool) -> float:
    began = time.perf_counter()
    with autocast(batch.source.device, bf16):
        logits = model(batch.source, batch.lengths, batch.inputs).logits
    cross_entropy(logits, batch.targets).mean.backward()
    return time.perf_counter() - began

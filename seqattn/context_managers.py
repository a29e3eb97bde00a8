"""Contexts to run a model in, which leave its flags and the caller's random numbers as before."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn

__all__ = ["evaluating", "own_random"]


@contextmanager
def evaluating(model: object) -> Iterator[None]:
    """Switch dropout and gradients off, and leave every training flag as it was.

    ``model.eval()`` and ``model.train()`` set the flag of every part, so that a part which was
    frozen in evaluation mode would wake up in training mode; this puts each back.

    Parameters
    ----------
    model : nn.Module, or any other object
        What will be evaluated; other objects have no flags.

    Examples
    --------
    >>> model = nn.Sequential(nn.Dropout(), nn.Dropout().eval())
    >>> with evaluating(model):
    ...     model[0].training
    False
    >>> model[0].training, model[1].training
    (True, False)
    """
    parts = list(model.modules()) if isinstance(model, nn.Module) else []
    flags = [part.training for part in parts]
    try:
        for part in parts:
            part.training = False
        with torch.no_grad():
            yield
    finally:
        for part, flag in zip(parts, flags):
            part.training = flag


@contextmanager
def own_random() -> Iterator[None]:
    """Draw and seed as one likes: afterwards the caller's random numbers go on as if nothing was.

    Also a decorator, ``@own_random()``.
    """
    # Of a GPU that nobody has used yet there is no stream to keep.
    devices = range(torch.cuda.device_count() if torch.cuda.is_initialized() else 0)
    with torch.random.fork_rng(devices=devices):
        yield

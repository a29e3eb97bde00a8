"""Hostile pads: the universal test that padding never reaches what attention gives.

A pad of zeros is a friendly one: masks that leak a little, or come too late, survive it. Here pads
hold what does most harm: keys that score far above all others, infinite values and NaN.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from seqattn.attention.core import Mechanism
from seqattn.context_managers import evaluating

__all__ = ["RUBBISH", "check_padding"]

# What a pad may hold, as a multiple of a real vector: its scores then stand far above the others',
# with one sign or the other. What is no number needs no direction.
RUBBISH = {"zero": 0.0, "huge": 1e4, "infinite": math.inf, "NaN": math.nan}
PADS = 4

Attends = Callable[[Tensor, Tensor, Tensor, Tensor], tuple[Tensor, Tensor]]


def check_padding(
    attention: Mechanism | Callable[..., Any],
    query: Float[Tensor, "batch *queries d_query"],
    keys: Float[Tensor, "batch keys d_key"],
    values: Float[Tensor, "batch keys d_value"] | None = None,
    *,
    gradients: bool = True,
) -> list[str]:
    """Pad sentences with what does most harm, and say what changes.

    Pads stand behind the sentence, and then before it. Their keys and values are zero, huge (with
    both signs, so that some score far above the real ones), infinite, or NaN. With a mask that
    closes them, context and weights of the real positions must stay as they were, weights on pads
    must be 0, and gradients must be those without pads: finite, and 0 at the pads.

    Parameters
    ----------
    attention : Mechanism, or callable
        A mechanism, or any function ``(query, keys, values, mask)`` whose result begins with
        context and weights. A module is switched to evaluation for the time of the check.
    query : (batch, [queries,] d_query)
        What asks.
    keys : (batch, keys, d_key)
        Sentences of one length, without padding.
    values : (batch, keys, d_value), optional
        What to take the weighted sum of; the keys themselves if not given.
    gradients : bool
        Whether gradients are looked at, too. A score *function* knows no mask: its own gradient
        meets whatever the keys of pads hold.

    Returns
    -------
    list of str
        What padding changed; empty if nothing.

    Raises
    ------
    ValueError
        If there is no sentence, or none has a position: nothing could change.

    Examples
    --------
    >>> from seqattn import ScaledDotProductAttention
    >>> _ = torch.manual_seed(0)
    >>> query, keys = torch.randn(2, 3, 5), torch.randn(2, 7, 5)
    >>> check_padding(ScaledDotProductAttention(), query, keys)
    []

    A mask applied after the softmax is too late for a pad that scores far above the words:

    >>> def late(query, keys, values, mask):
    ...     weights = (query @ keys.mT).softmax(-1) * mask[:, None]
    ...     weights = weights / (weights.sum(-1, keepdim=True) + 1e-13)
    ...     return weights @ values, weights
    >>> check_padding(late, query, keys, gradients=False)[0].partition(":")[0]
    'huge pads, right'
    """
    if not query.numel() or not keys.numel():
        raise ValueError(
            f"query and keys have shapes {tuple(query.shape)} and {tuple(keys.shape)}; expected at "
            "least one sentence of at least one position: without one, padding can change nothing"
        )
    attend = _as_function(attention)
    values = keys if values is None else values
    module = attention if isinstance(attention, nn.Module) else None
    found: list[str] = []
    with evaluating(attention), torch.enable_grad():
        every = torch.ones(keys.shape[:2], dtype=torch.bool, device=keys.device)
        before = _look(attend, module, gradients, query, keys, values, every)
        for kind, factor in RUBBISH.items():
            for side in ("right", "left"):
                title = f"{kind} pads, {side}"
                size = keys.shape[1]
                real = slice(0, size) if side == "right" else slice(PADS, PADS + size)
                longer, rest = _pad(keys, factor, real), _pad(values, factor, real)
                mask = torch.zeros(longer.shape[:2], dtype=torch.bool, device=keys.device)
                mask[:, real] = True
                try:
                    after = _look(attend, module, gradients, query, longer, rest, mask)
                except Exception as error:
                    found.append(f"{title}: {type(error).__name__}: {error}")
                    continue
                found += [f"{title}: {what}" for what in _compare(before, after, real)]
    return found


def _as_function(attention: Any) -> Attends:
    if not isinstance(attention, Mechanism):
        return lambda query, keys, values, mask: attention(query, keys, values, mask)[:2]

    def attend(query: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        memory = attention.remember(keys, values, mask)
        return attention.look(query, memory, attention.first_past(keys))[:2]

    return attend


def _look(
    attend: Attends,
    module: nn.Module | None,
    gradients: bool,
    query: Tensor,
    keys: Tensor,
    values: Tensor,
    mask: Tensor,
) -> dict[str, Tensor]:
    """Give context, weights and every gradient of a function of the context."""
    query, keys, values = (x.detach().clone().requires_grad_() for x in (query, keys, values))
    context, weights = attend(query, keys, values, mask)
    wanted = {"query": query, "keys": keys, "values": values}
    if module is not None:
        wanted |= {name: p for name, p in module.named_parameters() if p.requires_grad}
    grads: Sequence[Tensor | None] = [None] * len(wanted)
    if gradients and context.requires_grad:
        total = context.square().sum()
        grads = torch.autograd.grad(total, list(wanted.values()), allow_unused=True)
    looked = {"context": context.detach(), "weights": weights.detach()}
    for name, grad in zip(wanted, grads, strict=True):
        if grad is not None:
            looked[f"gradient of {name}"] = grad
    return looked


def _pad(x: Tensor, factor: float, real: slice) -> Tensor:
    """Put a sentence among pads that are multiples of its first vector, by turns + and −."""
    signs = x.new_tensor([1.0, -1.0] * (PADS // 2))[:, None]
    finite = math.isfinite(factor)
    pads = (x[:, :1] * factor if finite else torch.full_like(x[:, :1], factor)) * signs
    return torch.cat([x, pads] if real.start == 0 else [pads, x], 1)


def _compare(before: dict[str, Tensor], after: dict[str, Tensor], real: slice) -> Iterator[str]:
    for name, expected in before.items():
        found = after.get(name)
        if found is None:
            yield f"the {name} is gone"
            continue
        if name == "weights":
            on_pads = torch.cat([found[..., : real.start], found[..., real.stop :]], -1)
            found = found[..., real]
            if bool((on_pads != 0).any()):
                yield f"weights on pads reach {on_pads.abs().max():.2g}"
        elif name in ("gradient of keys", "gradient of values"):
            at_pads = torch.cat([found[:, : real.start], found[:, real.stop :]], 1)
            found = found[:, real]
            if bool((at_pads != 0).any()):
                yield f"the {name} at pads is not 0"
        # A sum over more positions is taken in another order.
        allowed = 1e3 * torch.finfo(expected.dtype).eps * max(1.0, float(_largest(expected)))
        if not bool(found.isfinite().all()):
            yield f"the {name} is not finite"
        elif (moved := float(_largest(found - expected))) > allowed:
            yield f"the {name} moves by {moved:.2g}"


def _largest(x: Tensor) -> Tensor:
    return x.abs().max() if x.numel() else x.new_zeros(())

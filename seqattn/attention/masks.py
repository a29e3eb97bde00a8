"""Boolean masks. **True means "may be attended"**, everywhere in this package.

That is the convention of :func:`torch.nn.functional.scaled_dot_product_attention` and of Keras, and
the opposite of ``key_padding_mask`` in :class:`torch.nn.MultiheadAttention`. Masks of one shape
combine with ``&`` and ``|``.
"""

import torch
from jaxtyping import Bool, Int
from torch import Tensor

__all__ = [
    "causal_mask",
    "expand_mask",
    "forget_unseen",
    "may_look",
    "padding_mask",
]


def padding_mask(lengths: Int[Tensor, " batch"], max_len: int | None = None) -> Bool[Tensor, "..."]:
    """Make a padding mask: say which positions of a batch hold real tokens.

    Parameters
    ----------
    lengths : (batch,) integers
        Number of real tokens of each sentence.
    max_len : int, optional
        Width of the padded batch, in positions; the longest length if not given.

    Returns
    -------
    (batch, max_len) bool
        True where the position holds a real token, that is where ``position < length``.

    Raises
    ------
    ValueError
        If a length is negative or exceeds ``max_len``: the sentence would silently lose tokens.

    Examples
    --------
    >>> padding_mask(torch.tensor([3, 1])).int()
    tensor([[1, 1, 1],
            [1, 0, 0]], dtype=torch.int32)
    """
    if max_len is not None and not may_look(lengths):
        return torch.arange(max_len, device=lengths.device) < lengths.unsqueeze(1)
    longest = int(lengths.max()) if lengths.numel() else 0
    width = longest if max_len is None else max_len
    if longest > width or (lengths.numel() and int(lengths.min()) < 0):
        raise ValueError(
            f"lengths run from {int(lengths.min())} to {longest}; "
            f"expected values from 0 to max_len = {width}"
        )
    return torch.arange(width, device=lengths.device) < lengths.unsqueeze(1)


def causal_mask(size: int, *, device: torch.device | None = None) -> Bool[Tensor, "size size"]:
    """Let query t see keys 0..t: itself and the past, never the future.

    Parameters
    ----------
    size : int
        Number of queries, which is also the number of keys.
    device : torch.device, optional
        Where to make the mask.

    Returns
    -------
    (size, size) bool
        Lower triangle, diagonal included. Pass ``causal_mask(size)[None]`` when the batch may
        happen to have as many sentences as there are queries (see
        :func:`~seqattn.attention.masks.expand_mask`).

    References
    ----------
    Vaswani et al. (2017), "Attention Is All You Need", section 3.2.3.

    Examples
    --------
    >>> causal_mask(3).int()
    tensor([[1, 0, 0],
            [1, 1, 0],
            [1, 1, 1]], dtype=torch.int32)
    """
    return torch.ones(size, size, dtype=torch.bool, device=device).tril()


def expand_mask(mask: Tensor, scores: Tensor) -> Tensor:
    """Give a mask the axes that its scores have, or refuse it.

    PyTorch would broadcast a ``(batch, keys)`` mask against ``(batch, queries, keys)`` scores from
    the right, so that sentence b masks *query* b: silent nonsense whenever batch equals queries (or
    heads). Here the shapes below are known, and anything else raises.

    Parameters
    ----------
    mask : bool
        For ``(batch, keys)`` scores: ``(batch, keys)``.
        For ``(batch, [heads,] queries, keys)`` scores: ``(batch, keys)``, read first;
        ``(batch, queries, keys)``, where batch may be 1 for "the same for every sentence";
        or ``(queries, keys)``, as :func:`~seqattn.causal_mask` makes it. The last
        cannot be told from ``(batch, keys)`` if batch equals queries: it is then read as padding,
        so write ``mask[None]`` for a causal mask.
    scores : (batch, keys), (batch, queries, keys) or (batch, heads, queries, keys)
        The scores that the mask is for.

    Returns
    -------
    bool
        A view of the mask that broadcasts against ``scores`` as said above.

    Raises
    ------
    TypeError
        If the mask is not boolean. A float mask has another meaning (it is added to the scores).
    ValueError
        If the shape is none of those above.
    """
    if mask.dtype != torch.bool:
        raise TypeError(
            f"mask has dtype {mask.dtype}; expected torch.bool with True = may be attended "
            "(for a 0/1 mask write mask.bool())"
        )
    batch, n_keys = scores.shape[0], scores.shape[-1]
    shape = tuple(mask.shape)
    if scores.dim() == 2:
        if shape == (batch, n_keys):
            return mask
        raise ValueError(
            f"mask has shape {shape}; expected (batch, keys) = {(batch, n_keys)}: "
            "one flag per source position"
        )
    if scores.dim() not in (3, 4):
        raise ValueError(
            f"scores have shape {tuple(scores.shape)}; with a mask expected "
            "(batch, [[heads,] queries,] keys)"
        )
    queries = scores.shape[-2]
    if shape == (batch, n_keys):
        mask = mask[:, None, :]
    elif shape == (queries, n_keys):
        mask = mask[None]
    elif shape not in ((batch, queries, n_keys), (1, queries, n_keys)):  # symbols have no hash
        raise ValueError(
            f"mask has shape {shape}; expected (batch, keys) = {(batch, n_keys)}, "
            f"(batch, queries, keys) = {(batch, queries, n_keys)} "
            f"or (queries, keys) = {(queries, n_keys)}"
        )
    return mask if scores.dim() == 3 else mask[:, None]


def forget_unseen(x: Tensor, mask: Tensor | None) -> Tensor:
    """Set keys or values that no query may attend to zero, whatever stands there.

    A weight of exactly 0 keeps a number out of the weighted sum, and neither NaN nor an infinite
    value: 0 · NaN and 0 · ∞ are NaN. So does a gradient of 0 on its way to the weights that
    project the keys.

    Parameters
    ----------
    x : (batch, keys, size)
        Keys or values.
    mask : bool, or None
        True = may be attended, in the shapes of :func:`expand_mask`. A position is forgotten where
        no query at all may attend it. What one query may attend and another may not has to be a
        number.

    Returns
    -------
    (batch, keys, size)
        Without what cannot be seen, and no gradient passes there. The tensor itself where there is
        no mask, or one that does not fit, which is refused where it is used.
    """
    if mask is None or mask.dtype != torch.bool or x.dim() != 3:
        return x
    batch, keys = x.shape[:2]
    seen = mask
    if mask.dim() == 3:
        seen = mask.any(1)
    elif mask.dim() == 2 and mask.shape[0] != batch:
        seen = mask.any(0, keepdim=True)
    if tuple(seen.shape) not in ((batch, keys), (1, keys)):
        return x
    return x.masked_fill(~seen.unsqueeze(-1), 0.0)


def may_look(x: Tensor) -> bool:
    """Say whether a program may ask what a tensor holds: not while it is compiled or recorded.

    A look would cut a compiled program in two, and fix its shapes; a CUDA graph that is being
    recorded has no numbers yet.
    """
    if torch.compiler.is_compiling():
        return False
    return not (x.is_cuda and torch.cuda.is_current_stream_capturing())

"""Boolean masks. **True means "may be attended"**, everywhere in this package.

That is the convention of :func:`torch.nn.functional.scaled_dot_product_attention` and of Keras, and
the opposite of ``key_padding_mask`` in :class:`torch.nn.MultiheadAttention`. Masks of one shape
combine with ``&`` and ``|``.
"""

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from seqattn.settings import check_whole

__all__ = [
    "causal_mask",
    "check_bool",
    "check_lengths",
    "check_size",
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
        If a length is negative or exceeds ``max_len``: the sentence would silently lose tokens; or
        lengths have other axes, or ``max_len`` is negative or no whole number.
    TypeError
        If lengths are not whole numbers in a tensor.

    Examples
    --------
    >>> padding_mask(torch.tensor([3, 1])).int()
    tensor([[1, 1, 1],
            [1, 0, 0]], dtype=torch.int32)
    """
    check_lengths(lengths)
    if max_len is not None:
        check_size("max_len", max_len)
        if not may_look(lengths):
            return torch.arange(max_len, device=lengths.device) < lengths.unsqueeze(1)
    longest = int(lengths.max()) if lengths.numel() else 0
    width = longest if max_len is None else max_len
    if longest > width or (lengths.numel() and int(lengths.min()) < 0):
        raise ValueError(
            f"lengths run from {int(lengths.min())} to {longest}; "
            f"expected values from 0 to max_len = {width}"
        )
    return torch.arange(width, device=lengths.device) < lengths.unsqueeze(1)


def check_lengths(lengths: Tensor, sentences: int | None = None) -> None:
    """Refuse what are not whole numbers, one for each sentence; what they are is not looked at.

    Raises
    ------
    TypeError
        If it is no tensor, or one of another kind of number.
    ValueError
        If there is not one length for each of so many sentences.
    """
    if not isinstance(lengths, Tensor):
        raise TypeError(
            f"lengths have type {type(lengths).__name__}; expected a tensor of whole numbers, "
            "(batch,)"
        )
    if lengths.is_floating_point() or lengths.is_complex() or lengths.dtype == torch.bool:
        raise TypeError(
            f"lengths have dtype {lengths.dtype}; expected whole numbers, as torch.int64: how many "
            "real tokens each sentence has"
        )
    if lengths.dim() != 1 or (sentences is not None and lengths.shape[0] != sentences):
        wanted = "(batch,)" if sentences is None else f"(batch,) = ({sentences},)"
        raise ValueError(
            f"lengths have shape {tuple(lengths.shape)}; expected {wanted}: one for each sentence"
        )


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

    Raises
    ------
    ValueError
        If the size is negative or no whole number.

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
    check_size("size", size)
    return torch.ones(size, size, dtype=torch.bool, device=device).tril()


def check_size(name: str, size: int) -> None:
    """Refuse a negative size, or half a position; not in a program that is compiled.

    There a size may be a symbol, which a look would fix.
    """
    if not torch.compiler.is_compiling():
        check_whole(name, size, least=0)


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
    check_bool(mask)
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


def check_bool(mask: Tensor, name: str = "mask") -> None:
    """Refuse, with a TypeError, a mask that is not boolean: of whole numbers ``~`` makes others.

    A float mask has another meaning besides (it is added to the scores).
    """
    dtype = getattr(mask, "dtype", None)
    if dtype != torch.bool:
        came = f"is a {type(mask).__name__}" if dtype is None else f"has dtype {dtype}"
        raise TypeError(
            f"{name} {came}; expected torch.bool with True = may be attended "
            f"(for a 0/1 mask write {name}.bool())"
        )


def forget_unseen(x: Tensor, mask: Tensor | None) -> Tensor:
    """Set keys or values that no query may attend to zero, whatever stands there.

    A weight of exactly 0 keeps a number out of the weighted sum, but not NaN or an infinite value:
    0 · NaN and 0 · ∞ are NaN. The same holds of a gradient of 0 on its way to the weights that
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
    if not isinstance(mask, Tensor) or mask.dtype != torch.bool or x.dim() != 3:
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

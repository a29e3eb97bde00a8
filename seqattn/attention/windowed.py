"""Windows and other sparse patterns for self-attention, as masks; and a window that saves work.

A pattern given as a mask teaches the pattern and saves nothing: all scores are still computed.
:func:`windowed_attention` gathers the window's positions instead, in time and memory of
``size * window``. Masks combine with ``&`` and ``|``.
"""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional as F

from seqattn.attention.core import AttentionOutput, masked_softmax, weighted_sum
from seqattn.attention.masks import check_bool, check_size, forget_unseen
from seqattn.attention.scores import scaled_dot_score
from seqattn.settings import check_whole

__all__ = ["block_mask", "global_mask", "strided_mask", "window_mask", "windowed_attention"]

Pattern = Bool[Tensor, "size size"]


def window_mask(size: int, window: int, device: torch.device | None = None) -> Pattern:
    """Let each position attend to those at most ``window`` away, itself included.

    Parameters
    ----------
    size : int
        Length of the sequence.
    window : int
        How far to each side; with ``& causal_mask(size)`` to the left alone.
    device : torch.device, optional
        Where to make it.

    Returns
    -------
    (size, size) bool
        The pattern. Pass ``mask[None]`` where the batch may have ``size`` sentences.

    Raises
    ------
    ValueError
        If size or window is negative or no whole number.

    References
    ----------
    Beltagy, Peters and Cohan (2020), "Longformer", section 3.1, sliding window.

    Examples
    --------
    >>> window_mask(4, 1).int()
    tensor([[1, 1, 0, 0],
            [1, 1, 1, 0],
            [0, 1, 1, 1],
            [0, 0, 1, 1]], dtype=torch.int32)
    """
    check_whole("window", window, least=0)
    return _distances(size, device).abs() <= window


def strided_mask(size: int, stride: int, device: torch.device | None = None) -> Pattern:
    """Let each position attend to every ``stride``-th one, counted from itself.

    Parameters
    ----------
    size : int
        Length of the sequence.
    stride : int
        Distance between attended positions, at least 1.
    device : torch.device, optional
        Where to make it.

    Returns
    -------
    (size, size) bool
        The pattern. With a causal window, ``(window_mask(n, s) | strided_mask(n, s)) &
        causal_mask(n)``, any position is reached in two layers.

    Raises
    ------
    ValueError
        If the stride is below 1, the size negative, or one no whole number.

    References
    ----------
    Child et al. (2019), "Generating Long Sequences with Sparse Transformers", section 4.3, strided
    attention, second head.

    Examples
    --------
    >>> strided_mask(4, 2).int()
    tensor([[1, 0, 1, 0],
            [0, 1, 0, 1],
            [1, 0, 1, 0],
            [0, 1, 0, 1]], dtype=torch.int32)
    """
    check_whole("stride", stride, least=1)
    return _distances(size, device) % stride == 0


def global_mask(
    size: int, positions: Int[Tensor, " chosen"] | list[int], device: torch.device | None = None
) -> Pattern:
    """Let the chosen positions attend to all, and all to them.

    Parameters
    ----------
    size : int
        Length of the sequence.
    positions : integers
        Which, from 0.
    device : torch.device, optional
        Where to make it.

    Returns
    -------
    (size, size) bool
        The pattern: rows and columns of the chosen positions.

    Raises
    ------
    IndexError
        If a position is no whole number from 0 to the last of the sequence.
    ValueError
        If the size is negative or no whole number.

    References
    ----------
    Beltagy, Peters and Cohan (2020), "Longformer", section 3.1, global attention.

    Examples
    --------
    >>> global_mask(3, [0]).int()
    tensor([[1, 1, 1],
            [1, 0, 0],
            [1, 0, 0]], dtype=torch.int32)
    """
    check_size("size", size)
    chosen = torch.zeros(size, dtype=torch.bool, device=device)
    places = torch.as_tensor(positions, device=device)
    whole = not (places.dtype == torch.bool or places.is_floating_point())
    if places.numel() and not (whole and places.min() >= 0 and places.max() < size):
        raise IndexError(
            f"positions are {places.tolist()}; expected whole numbers from 0 to below {size}"
        )
    chosen[places.long()] = True
    return chosen[:, None] | chosen[None]


def block_mask(size: int, block: int, device: torch.device | None = None) -> Pattern:
    """Let each position attend within its own block of ``block`` neighbours.

    Parameters
    ----------
    size : int
        Length of the sequence; the last block may be shorter.
    block : int
        Length of a block, at least 1.
    device : torch.device, optional
        Where to make it.

    Returns
    -------
    (size, size) bool
        The pattern: blocks along the diagonal.

    Raises
    ------
    ValueError
        If the block is below 1, the size negative, or one no whole number.

    References
    ----------
    Child et al. (2019), section 4.3, fixed attention, first head, before the causal mask.

    Examples
    --------
    >>> block_mask(4, 2).int()
    tensor([[1, 1, 0, 0],
            [1, 1, 0, 0],
            [0, 0, 1, 1],
            [0, 0, 1, 1]], dtype=torch.int32)
    """
    check_whole("block", block, least=1)
    check_size("size", size)
    number = torch.arange(size, device=device) // block
    return number[:, None] == number[None]


def windowed_attention(
    query: Float[Tensor, "batch size d_key"],
    keys: Float[Tensor, "batch size d_key"],
    values: Float[Tensor, "batch size d_value"],
    window: int,
    mask: Bool[Tensor, "batch size"] | None = None,
    *,
    causal: bool = False,
) -> AttentionOutput:
    """Scaled dot-product self-attention within a sliding window, by gathering.

    The same contexts as with ``window_mask(size, window)``, in time and memory that grow with
    ``size * window`` instead of ``size * size``.

    Parameters
    ----------
    query, keys : (batch, size, d_key)
        What asks and what is compared, position by position.
    values : (batch, size, d_value)
        What the weighted sum is taken of.
    window : int
        How far to each side.
    mask : (batch, size) bool, optional
        True = may be attended. What stands at the other positions never reaches a result.
    causal : bool
        Whether to look to the left alone.

    Returns
    -------
    AttentionOutput
        ``context`` (batch, size, d_value), and ``weights`` (batch, size, places): place j of row t
        is position ``t - window + j``. There are ``2 * window + 1`` places, or ``window + 1`` if
        causal.

    Raises
    ------
    ValueError
        If the window is negative or the shapes differ.
    TypeError
        If the mask is not bool.

    References
    ----------
    Beltagy, Peters and Cohan (2020), "Longformer", section 3.1.

    Examples
    --------
    >>> x = torch.randn(1, 100, 8)
    >>> windowed_attention(x, x, x, window=3).weights.shape
    torch.Size([1, 100, 7])
    """
    check_whole("window", window, least=0)
    if not query.shape == keys.shape or keys.shape[:2] != values.shape[:2]:
        raise ValueError(
            f"query, keys and values have shapes {tuple(query.shape)}, {tuple(keys.shape)} and "
            f"{tuple(values.shape)}; expected query and keys of one shape (batch, size, d_key), "
            "and values (batch, size, d_value)"
        )
    if mask is not None:
        check_bool(mask)
    if mask is not None and mask.shape != keys.shape[:2]:
        raise ValueError(
            f"the mask has shape {tuple(mask.shape)}; expected {tuple(keys.shape[:2])}: one flag "
            "per position"
        )
    batch, size = keys.shape[:2]
    keys, values = forget_unseen(keys, mask), forget_unseen(values, mask)
    right = 0 if causal else window
    real = keys.new_ones(batch, size) if mask is None else mask.to(keys.dtype)
    # Each position with its window is a sentence of its own.
    seen = _windows(real.unsqueeze(-1), window, right).squeeze(-1) > 0
    queries = query.flatten(0, 1).unsqueeze(1)
    scores = scaled_dot_score(queries, _windows(keys, window, right))
    weights = masked_softmax(scores, seen)
    context = weighted_sum(weights, _windows(values, window, right))
    return AttentionOutput(*(x.squeeze(1).unflatten(0, (batch, size)) for x in (context, weights)))


def _windows(x: Tensor, left: int, right: int) -> Tensor:
    """Give each position its window: (batch, size, d) to (batch · size, places, d)."""
    return F.pad(x, (0, 0, left, right)).unfold(1, left + 1 + right, 1).flatten(0, 1).mT


def _distances(size: int, device: torch.device | None) -> Tensor:
    check_size("size", size)
    places = torch.arange(size, device=device)
    return places[:, None] - places[None]

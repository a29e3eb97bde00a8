"""What a pattern lets through, layer after layer: the reach of a mask."""

import torch
from jaxtyping import Bool
from torch import Tensor

from seqattn.attention.masks import causal_mask, check_bool
from seqattn.settings import check_whole

__all__ = ["layers_to_connect", "reach_of"]

Pattern = Bool[Tensor, "size size"]


def reach_of(mask: Pattern, layers: int) -> Pattern:
    r"""Say which positions can have influenced which, after some layers with the same pattern.

    With A the pattern and I for the residual connection, by which each position keeps what it has:

    .. math::
        R^{(\ell)}_{ij} = \big[\big((A \vee I)^\ell\big)_{ij} > 0\big]

    Parameters
    ----------
    mask : (size, size) bool
        True where position i may attend to position j.
    layers : int
        How many; none leaves each position with itself.

    Returns
    -------
    (size, size) bool
        True where what stood at j may be part of what stands at i.

    Raises
    ------
    ValueError
        If the mask is not square, or layers is no whole number or negative.
    TypeError
        If the mask is not boolean.

    References
    ----------
    Child et al. (2019), "Generating Long Sequences with Sparse Transformers", section 4.2, asks for
    paths between all pairs of positions.

    Examples
    --------
    >>> from seqattn.attention import window_mask
    >>> reach_of(window_mask(5, 1), 2).int()[0]
    tensor([1, 1, 1, 0, 0], dtype=torch.int32)
    """
    step = _with_itself(mask)
    check_whole("layers", layers, least=0)
    reach = torch.eye(mask.shape[0], dtype=torch.bool, device=mask.device)
    for _ in range(layers):
        reach = _after(reach, step)
    return reach


def layers_to_connect(mask: Pattern, *, causal: bool = False) -> int | None:
    """Count the layers until each position can have influenced every other.

    Parameters
    ----------
    mask : (size, size) bool
        True where position i may attend to position j.
    causal : bool
        Whether only earlier positions are asked for: no position has to hear of a later one.

    Returns
    -------
    int or None
        The least number of layers; None if no number is enough.

    Raises
    ------
    ValueError
        If the mask is not square.
    TypeError
        If the mask is not boolean.

    Examples
    --------
    >>> from seqattn.attention import block_mask, global_mask, window_mask
    >>> layers_to_connect(window_mask(64, 4)), layers_to_connect(block_mask(64, 8))
    (16, None)
    >>> layers_to_connect(window_mask(64, 4) | global_mask(64, [0]))
    2
    """
    step = _with_itself(mask)
    size = mask.shape[0]
    wanted = causal_mask(size, device=mask.device) if causal else torch.ones_like(step)
    reach = torch.eye(size, dtype=torch.bool, device=mask.device)
    layers = 0
    while not reach[wanted].all():
        further = _after(reach, step)
        if torch.equal(further, reach):
            return None
        reach, layers = further, layers + 1
    return layers


def _with_itself(mask: Pattern) -> Pattern:
    check_bool(mask)
    if mask.dim() != 2 or mask.shape[0] != mask.shape[1]:
        raise ValueError(
            f"mask has shape {tuple(mask.shape)}; expected (size, size): a row for each position "
            "that asks, a column for each that may be attended"
        )
    return mask | torch.eye(mask.shape[0], dtype=torch.bool, device=mask.device)


def _after(reach: Pattern, step: Pattern) -> Pattern:
    # Only whether there is a path counts: numbers of paths would overflow after some layers.
    return (step.float() @ reach.float()) > 0

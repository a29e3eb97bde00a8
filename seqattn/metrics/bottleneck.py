"""Instruments of the bottleneck chapter: what a fixed vector holds, how far gradients reach."""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor

from seqattn.settings import check_whole

__all__ = ["gradient_reach", "longest_countable", "superpose", "unpack"]


def longest_countable(d: int, vocabulary: int, bits: int = 32) -> int:
    r"""Give the longest sentence that counting bits lets into a vector.

    The largest T with :math:`T \log_2 |V| \le b\,d`: a vector of d numbers of b bits tells apart at
    most :math:`2^{bd}` sentences. That is a bound on what is possible, not on what is learned.

    Parameters
    ----------
    d : int
        Numbers in the vector.
    vocabulary : int
        Number of different words, at least 2.
    bits : int
        Bits of each number.

    Returns
    -------
    int
        A number of words.

    Raises
    ------
    ValueError
        If ``vocabulary`` is below 2.

    Examples
    --------
    >>> longest_countable(512, vocabulary=32_000)
    1094
    """
    if vocabulary < 2:
        raise ValueError(f"vocabulary is {vocabulary}; expected at least 2 words")
    return int(bits * d / math.log2(vocabulary))


def superpose(
    tokens: Int[Tensor, " positions"],
    embeddings: Float[Tensor, "vocabulary d"],
    signs: Float[Tensor, "positions d"],
) -> Float[Tensor, " d"]:
    r"""Store a whole sentence in one vector, :math:`c = \sum_i r_i \odot E_{x_i}`.

    Each position has its own pattern of signs. Multiplying by it marks a word with its position;
    multiplying again takes the mark off.

    Parameters
    ----------
    tokens : (positions,) integers
        The sentence.
    embeddings : (vocabulary, d)
        One random vector for each word, entries of mean 0 and variance 1/d.
    signs : (positions, d)
        Entries of +1 and −1 at random, a row for each position.

    Returns
    -------
    (d,)
        The sum, of the same size whatever the length of the sentence.

    Raises
    ------
    ValueError
        If the shapes do not fit each other.
    TypeError
        If tokens are not whole numbers.

    References
    ----------
    Plate (1995), "Holographic Reduced Representations", for binding by a product; Kanerva (2009),
    "Hyperdimensional Computing", for sign patterns.

    Examples
    --------
    >>> E, signs = torch.eye(3), torch.tensor([[1.0, 1.0, 1.0], [-1.0, -1.0, 1.0]])
    >>> superpose(torch.tensor([0, 1]), E, signs)
    tensor([ 1., -1.,  0.])
    """
    tokens = torch.as_tensor(tokens, device=embeddings.device)
    if tokens.is_floating_point() or tokens.dtype == torch.bool:
        raise TypeError(f"tokens have dtype {tokens.dtype}; expected whole numbers")
    _check_patterns("tokens", tokens, signs.shape[:1], embeddings, signs)
    return (signs * embeddings[tokens]).sum(0)


def unpack(
    vector: Float[Tensor, " d"],
    embeddings: Float[Tensor, "vocabulary d"],
    signs: Float[Tensor, "positions d"],
) -> Int[Tensor, " positions"]:
    r"""Read a superposed sentence back, :math:`\hat x_i = \arg\max_w E_w^\top (r_i \odot c)`.

    Parameters
    ----------
    vector : (d,)
        What :func:`superpose` made.
    embeddings, signs
        The ones it was made with.

    Returns
    -------
    (positions,) integers
        The best guess for each position; wrong where the other words' noise is louder.

    Raises
    ------
    ValueError
        If the shapes do not fit each other.

    Examples
    --------
    >>> E, signs = torch.eye(3), torch.tensor([[1.0, 1.0, 1.0], [-1.0, -1.0, 1.0]])
    >>> unpack(superpose(torch.tensor([0, 1]), E, signs), E, signs)
    tensor([0, 1])
    """
    _check_patterns("vector", vector, signs.shape[1:], embeddings, signs)
    return ((signs * vector) @ embeddings.T).argmax(-1)


def _check_patterns(
    name: str, x: Tensor, shape: torch.Size, embeddings: Tensor, signs: Tensor
) -> None:
    """Refuse what would broadcast: one sign pattern for all positions, or one word."""
    if signs.dim() != 2 or embeddings.dim() != 2 or signs.shape[1] != embeddings.shape[1]:
        raise ValueError(
            f"signs have shape {tuple(signs.shape)} and embeddings {tuple(embeddings.shape)}; "
            "expected (positions, d) and (vocabulary, d)"
        )
    if x.shape != shape:
        raise ValueError(
            f"{name} has shape {tuple(x.shape)}; expected {tuple(shape)} to fit signs of shape "
            f"{tuple(signs.shape)}, (positions, d)"
        )


def gradient_reach(
    summary: Float[Tensor, "batch d"],
    inputs: Float[Tensor, "batch positions d_in"],
    *,
    probes: int = 16,
    generator: torch.Generator | None = None,
) -> Float[Tensor, " positions"]:
    r"""Measure how strongly a summary vector depends on each input, as a share of the strongest.

    Estimates the Frobenius norm of :math:`\partial c / \partial x_i`, averaged over the batch, from
    random projections: for u with independent standard normal entries,
    :math:`\mathbb{E}\,\lVert u^\top J \rVert^2 = \lVert J \rVert_F^2`.

    Parameters
    ----------
    summary : (batch, d)
        The vector whose dependence is measured, computed from ``inputs``.
    inputs : (batch, positions, d_in)
        Leaf or intermediate that requires a gradient.
    probes : int
        Number of random projections; the relative error falls as one over their square root.
    generator : torch.Generator, optional
        Source of the projections.

    Returns
    -------
    (positions,)
        Norms divided by the largest; NaN if all are 0.

    Raises
    ------
    ValueError
        If ``inputs`` does not require a gradient, or there are no probes.
    RuntimeError
        If ``summary`` was not computed from ``inputs``.

    Examples
    --------
    >>> x = torch.ones(1, 2, 1, requires_grad=True)
    >>> gradient_reach(0.5 * x[:, 0] + x[:, 1], x)
    tensor([0.5000, 1.0000])
    """
    if not inputs.requires_grad:
        raise ValueError("inputs do not require a gradient: call inputs.requires_grad_() first")
    check_whole("probes", probes, least=1)
    squares = inputs.new_zeros(inputs.shape[:2])
    for _ in range(probes):
        # Drawn on the CPU, so that a generator gives the same numbers on every device.
        u = torch.randn(summary.shape[1], generator=generator, dtype=summary.dtype)
        u = u.to(summary.device)
        (gradient,) = torch.autograd.grad((summary @ u).sum(), inputs, retain_graph=True)
        squares += gradient.square().sum(-1)
    reach = (squares / probes).sqrt().mean(0)
    return reach / reach.max()

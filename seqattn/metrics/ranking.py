"""Numbers as rankings: how well they warn of something, and whether two of them agree."""

from collections.abc import Sequence

import torch
from torch import Tensor

__all__ = ["kendall_tau", "roc_area"]


def kendall_tau(first: Tensor | Sequence[float], second: Tensor | Sequence[float]) -> float:
    r"""Kendall's rank correlation, with ties: do two numbers put things into one order?

    .. math:: \tau_b = \frac{C - D}{\sqrt{(P - T_1)(P - T_2)}}

    C pairs stand in the same order in both, D in opposite orders; P is the number of all pairs, and
    T of those that are equal in the first, or in the second. Without ties it is the share of pairs
    in order minus the share out of order.

    Parameters
    ----------
    first, second : (n,)
        Two numbers for each thing. Leave padding out before.

    Returns
    -------
    float
        From −1 (reversed) to 1 (same order); NaN if all are equal in one of the two.

    Raises
    ------
    ValueError
        If they are not two lists of one length, or one is NaN, which has no rank.

    References
    ----------
    Kendall (1945), "The Treatment of Ties in Ranking Problems".

    Examples
    --------
    >>> kendall_tau([1, 2, 3, 4], [0.1, 0.3, 0.2, 0.9]) * 3
    2.0
    """
    a, b = torch.as_tensor(first).double(), torch.as_tensor(second).double()
    if a.dim() != 1 or a.shape != b.shape:
        raise ValueError(
            f"the numbers have the shapes {tuple(a.shape)} and {tuple(b.shape)}; expected two "
            "lists of one length"
        )
    _refuse_nan("numbers", torch.cat([a, b]))
    here, there = torch.triu_indices(len(a), len(a), 1)
    # Which way each pair stands: differences of infinite numbers would be NaN.
    ways = [(x[there] > x[here]).double() - (x[there] < x[here]).double() for x in (a, b)]
    order = (ways[0] * ways[1]).sum()
    return (order / (ways[0].abs().sum() * ways[1].abs().sum()).sqrt()).item()


def roc_area(scores: Tensor | Sequence[float], positive: Tensor | Sequence[bool]) -> float:
    r"""Area under the ROC curve: how often a positive case has the higher score.

    .. math:: \frac{1}{|P|\,|N|} \sum_{p \in P} \sum_{n \in N}
              \Big([x_p > x_n] + \tfrac12 [x_p = x_n]\Big)

    Draw one case of those that are positive and one of the others. The area is the probability that
    the first has the higher score, where equal scores count as one half. It depends on no
    threshold, and not on how many cases are positive.

    Parameters
    ----------
    scores : (cases,)
        A number for each case: high where a positive one is expected.
    positive : (cases,) bool
        Which cases are positive.

    Returns
    -------
    float
        From 0 to 1: 1 if every positive case is above every other, 0.5 for scores that know
        nothing, below 0.5 if they warn of the wrong ones.

    Raises
    ------
    ValueError
        If there is not one flag for each score, a score or flag is NaN, or all cases are of one
        kind.

    References
    ----------
    Hanley and McNeil (1982), "The Meaning and Use of the Area under a Receiver Operating
    Characteristic (ROC) Curve".

    Examples
    --------
    >>> roc_area([0.9, 0.4, 0.4, 0.1], [True, True, False, False])
    0.875
    """
    x = torch.as_tensor(scores).double()
    flags = torch.as_tensor(positive)
    _refuse_nan("flags", flags)  # as a truth value NaN would be true
    marked = flags.bool()
    if x.shape != marked.shape or x.dim() != 1:
        raise ValueError(
            f"scores have the shape {tuple(x.shape)} and positive {tuple(marked.shape)}; expected "
            "one number and one flag for each case"
        )
    _refuse_nan("scores", x)
    hits, others = int(marked.sum()), int((~marked).sum())
    if not hits or not others:
        raise ValueError(
            f"{hits} cases are positive and {others} are not; expected at least one of each"
        )
    # The mean rank of each value, ties sharing theirs; the sum of ranks counts the pairs.
    _, where, counts = x.unique(return_inverse=True, return_counts=True)
    last = counts.cumsum(0).double()
    ranks = (last - (counts.double() - 1) / 2)[where]
    return (ranks[marked].sum().item() - hits * (hits + 1) / 2) / (hits * others)


def _refuse_nan(name: str, x: Tensor) -> None:
    count = int(x.isnan().sum())
    if count:
        raise ValueError(f"{count} {name} are NaN; expected a number for each case")

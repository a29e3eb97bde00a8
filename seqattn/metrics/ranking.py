"""How well a number warns of something: the area under the ROC curve."""

from collections.abc import Sequence

import torch
from torch import Tensor

__all__ = ["roc_area"]


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
        If there is not one flag for each score, a score is NaN, or all cases are of one kind.

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
    marked = torch.as_tensor(positive, dtype=torch.bool)
    if x.shape != marked.shape or x.dim() != 1:
        raise ValueError(
            f"scores have the shape {tuple(x.shape)} and positive {tuple(marked.shape)}; expected "
            "one number and one flag for each case"
        )
    if x.isnan().any():
        raise ValueError(f"{int(x.isnan().sum())} scores are NaN; expected a number for each case")
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

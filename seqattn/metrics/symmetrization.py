"""Symmetrization (symmetrisation) of word alignments: from two one-sided ones to one.

An aligner that looks from one side, be it an attention map read row by row or IBM Model 1, gives
each word of that side at most one partner, and so never links such a word to two where it should.
The usual remedy is to look from both sides and to combine, by one of the field's
heuristics.
"""

from collections.abc import Callable, Iterable

from seqattn.metrics.alignment_error import link_set

__all__ = ["METHODS", "symmetrize"]

Link = tuple[int, int]
Links = set[Link]


def symmetrize(
    forward: Iterable[Link], backward: Iterable[Link], method: str = "grow-diag"
) -> Links:
    """Combine the links that two directions found between the words of one sentence pair.

    ===================  =======================================================================
    ``target``           ``forward`` as it is: at most one source word for each target word
    ``source``           ``backward`` as it is: at most one target word for each source word
    ``intersection``     what both say: few links, most of them right
    ``union``            what either says: many links, more of them wrong
    ``grow-diag``        the intersection; then, as long as there are such, each link of the union
                         that is next to one of ours, at a corner too, and has a word without any
    ``grow-diag-final``  the same; then each link, of ``forward`` before ``backward``, that has a
                         word without any, wherever it stands
    ===================  =======================================================================

    Parameters
    ----------
    forward, backward : sets of (source, target)
        Links from each target word to a source word, and from each source word to a target word.
    method : str
        One of the table.

    Returns
    -------
    set of (source, target)
        The links.

    Raises
    ------
    ValueError
        If there is no such method.
    TypeError
        If a link is no pair of whole numbers.

    References
    ----------
    Och and Ney (2003), on symmetrization, for intersection, union, and growing between the two;
    Koehn, Och and Marcu (2003), "Statistical Phrase-Based Translation", section 3.1, for the
    diagonal and final steps.

    Examples
    --------
    Two source words for one target word: ``forward`` cannot say it.

    >>> forward, backward = {(0, 0), (2, 1)}, {(0, 0), (1, 1), (2, 1), (3, 9)}
    >>> for method in ("intersection", "grow-diag", "union"):
    ...     print(sorted(symmetrize(forward, backward, method)))
    [(0, 0), (2, 1)]
    [(0, 0), (1, 1), (2, 1)]
    [(0, 0), (1, 1), (2, 1), (3, 9)]
    """
    if method not in _METHODS:
        raise ValueError(f"no method {method!r}; expected one of {', '.join(_METHODS)}")
    return _METHODS[method](link_set(forward), link_set(backward))


def _grow(forward: Links, backward: Links) -> Links:
    links, union = forward & backward, forward | backward
    added = True
    while added:
        added = False
        for source, target in sorted(union - links):
            touches = any(abs(source - s) <= 1 and abs(target - t) <= 1 for s, t in links)
            if touches and _is_new((source, target), links):
                links.add((source, target))
                added = True
    return links


def _grow_final(forward: Links, backward: Links) -> Links:
    links = _grow(forward, backward)
    for link in [*sorted(forward), *sorted(backward)]:
        if _is_new(link, links):
            links.add(link)
    return links


def _is_new(link: Link, links: Links) -> bool:
    """Tell whether one of the link's words has no link yet."""
    return all(link[0] != source for source, _ in links) or all(
        link[1] != target for _, target in links
    )


_METHODS: dict[str, Callable[[Links, Links], Links]] = {
    "target": lambda forward, backward: forward,
    "source": lambda forward, backward: backward,
    "intersection": lambda forward, backward: forward & backward,
    "union": lambda forward, backward: forward | backward,
    "grow-diag": _grow,
    "grow-diag-final": _grow_final,
}
METHODS = tuple(_METHODS)

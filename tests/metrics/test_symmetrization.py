"""Links from both directions: what each way of combining them keeps, adds and never does."""

import itertools

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from seqattn import alignment_error_rate
from seqattn.evaluation import alignment_links
from seqattn.metrics import hard_alignment
from seqattn.metrics.symmetrization import METHODS, symmetrize


@st.composite
def directions(draw):
    """Draw two functions: from each target word to a source word or none, and back."""
    source, target = draw(st.integers(1, 7)), draw(st.integers(1, 5))
    forward = [draw(st.none() | st.integers(0, source - 1)) for _ in range(target)]
    backward = [draw(st.none() | st.integers(0, target - 1)) for _ in range(source)]
    return (
        {(i, j) for j, i in enumerate(forward) if i is not None},
        {(i, j) for i, j in enumerate(backward) if j is not None},
    )


def has_link(links, side):
    return {link[side] for link in links}


@given(directions())
def test_every_method_lies_between_intersection_and_union(both):
    forward, backward = both
    found = {method: symmetrize(forward, backward, method) for method in METHODS}
    assert found["target"] == forward
    assert found["source"] == backward
    assert found["intersection"] == forward & backward
    assert found["union"] == forward | backward
    for method in ("grow-diag", "grow-diag-final"):
        assert found["intersection"] <= found[method] <= found["union"]
    assert found["grow-diag"] <= found["grow-diag-final"]


@given(directions())
def test_growing_goes_from_neighbour_to_neighbour_and_stops_when_no_link_would_be_new(both):
    forward, backward = both
    grown = symmetrize(forward, backward)
    start, union = forward & backward, forward | backward
    # From the intersection every link can be reached in steps of one, within what was grown.
    reached = set(start)
    for _ in grown:
        reached |= {
            (i, j) for i, j in grown if any(max(abs(i - s), abs(j - t)) <= 1 for s, t in reached)
        }
    assert reached == grown
    # And no link that is left out touches one of them and has a word without any.
    for i, j in union - grown:
        touches = any(max(abs(i - s), abs(j - t)) <= 1 for s, t in grown)
        assert not touches or (i in has_link(grown, 0) and j in has_link(grown, 1))


@given(directions())
def test_final_leaves_no_word_alone_that_either_direction_links(both):
    forward, backward = both
    found = symmetrize(forward, backward, "grow-diag-final")
    for side in (0, 1):
        assert has_link(found, side) == has_link(forward | backward, side)


def test_growing_takes_corners_but_no_link_between_words_that_have_theirs():
    forward = {(0, 0), (1, 1), (5, 2)}
    backward = {(0, 0), (1, 1), (2, 2), (5, 2), (3, 1), (9, 9)}
    # (2, 2) touches (1, 1) at a corner and word 2 has none; (3, 1) touches (2, 2) then.
    assert symmetrize(forward, backward) == {(0, 0), (1, 1), (2, 2), (3, 1), (5, 2)}
    # Here both words of (0, 1) are linked already.
    assert symmetrize({(0, 0), (1, 1)}, {(0, 0), (1, 1), (0, 1)}) == {(0, 0), (1, 1)}
    assert symmetrize({(0, 0)}, {(0, 0), (9, 9)}, "grow-diag-final") == {(0, 0), (9, 9)}


def test_an_unknown_method_is_refused():
    with pytest.raises(ValueError, match="no method 'grow'; expected one of target, source, inter"):
        symmetrize(set(), set(), "grow")
    with pytest.raises(ValueError, match="no method 'rows'"):
        hard_alignment(torch.eye(3)[None], method="rows")
    with pytest.raises(ValueError, match=r"threshold is 1\.0"):
        hard_alignment(torch.eye(3)[None], threshold=1.0, method="union")


@pytest.mark.parametrize("threshold", [None, 0.2])
@pytest.mark.parametrize("method", METHODS)
def test_links_of_maps_are_the_largest_weights_of_rows_and_of_columns(method, threshold):
    weights = torch.randn(11, 5, 7).double().softmax(-1)
    weights[0, 2] = 0  # a row of padding
    found = hard_alignment(weights, method=method, threshold=threshold)
    if threshold is not None and method in ("target", "union", "grow-diag"):
        assert found != hard_alignment(weights, method=method)
    for sentence, links in zip(weights.tolist(), found, strict=True):
        columns = [list(column) for column in zip(*sentence)]
        forward = {(row.index(max(row)), t) for t, row in enumerate(sentence) if max(row) > 0}
        if threshold is not None:
            above = {(i, t) for t, row in enumerate(sentence) for i, w in enumerate(row) if w > 0.2}
            forward = above if method == "target" else forward | above
        backward = {(i, column.index(max(column))) for i, column in enumerate(columns)}
        assert links == symmetrize(forward, backward, method)


def test_columns_link_what_the_mask_lets_them():
    weights = torch.tensor([[[0.9, 0.0, 0.1], [0.6, 0.0, 0.4]]])
    mask = torch.tensor([[True, True, False]])
    assert hard_alignment(weights, method="source") == [{(0, 0), (2, 1)}]
    assert hard_alignment(weights, mask, method="source") == [{(0, 0)}]


def test_two_source_words_for_one_target_word_need_the_columns():
    """The king 's dog: le chien du roi, of which "du" is "the" and "'s"."""
    gold = {(0, 2), (1, 3), (2, 2), (3, 0), (3, 1)}
    weights = torch.full((5, 5), 0.02)
    for t, i in ((0, 3), (1, 3), (2, 2), (3, 1), (4, 4)):
        weights[t, i] = 0.92
    weights[2] = torch.tensor([0.4, 0.02, 0.54, 0.02, 0.02])
    rows, grown = (alignment_links(weights, method) for method in ("target", "grow-diag"))
    assert grown - rows == {(0, 2)}
    assert alignment_error_rate([grown], [gold], [gold]) == 0
    assert alignment_error_rate([rows], [gold], [gold]) > 0.1


def test_sentence_ends_have_no_links():
    for method, links in itertools.product(
        METHODS, [torch.eye(4), torch.eye(4).flip(1), torch.ones(3, 4) / 4]
    ):
        found = alignment_links(links, method)
        assert all(i < 3 and t < len(links) - 1 for i, t in found)
    assert alignment_links(torch.eye(4), "union") == {(0, 0), (1, 1), (2, 2)}
    weights = torch.tensor([[0.3, 0.3, 0.4], [0.45, 0.15, 0.4], [0.0, 0.0, 1.0]])
    assert alignment_links(weights) == {(0, 1)}
    assert alignment_links(weights, "union") == {(0, 1), (1, 0)}
    assert alignment_links(weights, "union", 0.2) == {(0, 0), (1, 0), (0, 1)}
    assert alignment_links(weights, threshold=0.2) == {(0, 0), (1, 0), (0, 1)}


def test_a_map_of_several_sentences_is_refused(unchecked):
    with pytest.raises(
        ValueError, match=r"weights have shape \(1, 3, 3\); expected \(target tokens"
    ):
        alignment_links(torch.eye(3)[None])

"""Coverage of the source, and pieces merged into words."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from seqattn import padding_mask
from seqattn.metrics import coverage_report, merge_pieces
from tests.hostile import every_rubbish, surround

B, T, S = 3, 5, 7
TARGET = padding_mask(torch.tensor([T, 2, 4]), T)
SOURCE = padding_mask(torch.tensor([S, 5, 3]), S)


def maps():
    scores = torch.randn(B, T, S).double().masked_fill(~SOURCE[:, None], -torch.inf)
    return scores.softmax(-1)


def test_totals_are_sums_over_real_tokens():
    weights = maps()
    report = coverage_report(weights, TARGET, SOURCE)
    for b in range(B):
        steps, keys = int(TARGET[b].sum()), int(SOURCE[b].sum())
        expected = [sum(weights[b, t, i].item() for t in range(steps)) for i in range(keys)]
        assert report.total[b, :keys].tolist() == pytest.approx(expected)
        assert (report.total[b, keys:] == 0).all()
        assert report.share[b].item() == pytest.approx(steps / keys)
        # Why a mean says nothing: it is the share for any map.
        assert report.total[b, :keys].mean().item() == pytest.approx(steps / keys)
        for i, total in enumerate(expected):
            assert report.under[b, i] == (total < 0.5 * steps / keys)
            assert report.over[b, i] == (total > 2.0 * steps / keys)
    assert not (report.under | report.over)[~SOURCE].any()


@pytest.mark.parametrize(("low", "high"), [(0.5, 2.0), (1.0, 1.0)])
@pytest.mark.parametrize(("steps", "keys"), [(5, 5), (5, 12), (12, 5), (3, 1), (3000, 7)])
def test_even_maps_are_neither_under_nor_over_whatever_their_lengths(steps, keys, low, high):
    report = coverage_report(torch.full((1, steps, keys), 1 / keys), low=low, high=high)
    assert not report.under.any()
    assert not report.over.any()


def test_without_target_or_source_nothing_is_under_or_over_and_no_share_is_infinite():
    target, source = TARGET.clone(), SOURCE.clone()
    target[0], source[1] = False, False
    target[2], source[2] = False, False
    report = coverage_report(maps(), target, source)
    assert not (report.under | report.over).any()
    assert report.share.tolist() == [0, int(TARGET[1].sum()), 0]


@every_rubbish
def test_padding_changes_nothing(rubbish):
    weights = maps()
    longer = surround(surround(weights, rubbish, 4, dim=2), rubbish, 6)
    target, source = (torch.nn.functional.pad(m, (0, n)) for m, n in ((TARGET, 6), (SOURCE, 4)))
    report, padded = (
        coverage_report(weights, TARGET, SOURCE),
        coverage_report(longer, target, source),
    )
    torch.testing.assert_close(padded.total[:, :S], report.total)
    assert torch.equal(padded.under[:, :S], report.under)


def test_a_perfect_alignment_leaves_nothing_out_and_says_nothing_twice():
    report = coverage_report(torch.eye(5)[None])
    assert not (report.under | report.over).any()
    report = coverage_report(torch.eye(5)[None, [0, 0, 0, 3, 4]])
    assert report.over[0].tolist() == [True, False, False, False, False]
    assert report.under[0].tolist() == [False, True, True, False, False]


def test_a_translation_that_drops_a_clause_does_not_lower_a_bar_that_stands_still():
    # Twelve source words, of which the first four are translated word by word: the share is 1/3,
    # and the dropped words got a good half of that from a map that is not quite sharp.
    weights = torch.full((1, 4, 12), 0.05)
    weights[0, torch.arange(4), torch.arange(4)] = 0.45
    assert not coverage_report(weights).under.any()
    report = coverage_report(weights, expected=1.0)
    assert report.under[0].tolist() == [False] * 4 + [True] * 8
    assert report.share.item() == pytest.approx(4 / 12)
    assert coverage_report(weights, expected=0.2).over[0].tolist() == [True] * 4 + [False] * 8
    wanted = torch.tensor([[0.5] * 4 + [0.2] * 8])
    report = coverage_report(weights, low=1.0, high=1.0, expected=wanted)
    assert report.over[0].tolist() == [True] * 4 + [False] * 8
    assert not report.under.any()


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_totals_are_added_up_in_32_bits(dtype):
    weights = torch.rand(1, 700, 3).softmax(-1).to(dtype)
    report = coverage_report(weights, low=0.999, high=1.001)
    exact = coverage_report(weights.float(), low=0.999, high=1.001)
    assert report.total.dtype == dtype
    assert torch.equal(report.total, exact.total.to(dtype))
    assert torch.equal(report.under, exact.under)


words = st.lists(st.integers(1, 3), min_size=1, max_size=4).map(
    lambda sizes: [word for word, size in enumerate(sizes) for _ in range(size)]
)


@given(words, words)
def test_merging_sums_columns_and_averages_rows(target, source):
    weights = torch.randn(len(target), len(source)).double().softmax(-1)
    merged = merge_pieces(weights, target, source)
    for t in range(max(target) + 1):
        rows = [r for r, word in enumerate(target) if word == t]
        for s in range(max(source) + 1):
            columns = [c for c, word in enumerate(source) if word == s]
            total = sum(weights[r, c].item() for r in rows for c in columns)
            assert merged[t, s].item() == pytest.approx(total / len(rows))
    torch.testing.assert_close(merged.sum(-1), torch.ones(len(merged)).double())


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: coverage_report(maps(), low=2.0, high=1.0), "expected low to be the lower"),
        (lambda: coverage_report(maps(), SOURCE), "target_mask has shape"),
        (
            lambda: coverage_report(maps(), expected=torch.ones(B, T)),
            r"expected has shape \(3, 5\); one number, or \(batch, keys\) = \(3, 7\) would fit",
        ),
        (lambda: coverage_report(maps(), TARGET, TARGET), "source_mask has shape"),
        (lambda: coverage_report(maps(), TARGET.int()), "target_mask has dtype torch.int32"),
        (lambda: coverage_report(maps(), None, SOURCE.int()), "source_mask has dtype torch.int32"),
        (lambda: merge_pieces(torch.rand(2, 3), [0], [0, 1, 2]), "1 numbers for 2 pieces"),
        (lambda: merge_pieces(torch.rand(2, 3), [0, 2], [0, 1, 2]), "without gaps"),
    ],
)
def test_errors_name_what_was_wrong(call, said, unchecked):
    with pytest.raises(TypeError if "dtype" in said else ValueError, match=said):
        call()

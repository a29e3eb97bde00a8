"""The public check of padding finds each way in which pads reach what attention gives."""

import pytest
import torch

from seqattn import Attention, GeneralScore, attend, check_padding, dot_score, padding_mask

QUERY, KEYS, VALUES = torch.randn(3, 5, 7), torch.randn(3, 11, 7), torch.randn(3, 11, 13)


def softmax(scores, values):
    weights = scores.softmax(-1)
    return weights @ values, weights


def no_mask(query, keys, values, mask):
    return softmax(query @ keys.mT, values)


def scores_times_mask(query, keys, values, mask):
    return softmax(query @ keys.mT * mask[:, None], values)


def renormalised_late(query, keys, values, mask):
    weights = (query @ keys.mT).softmax(-1) * mask[:, None]
    weights = weights / (weights.sum(-1, keepdim=True) + 1e-13)
    return weights @ values, weights


def largest_of_all(query, keys, values, mask):
    scores = query @ keys.mT
    weights = (scores - scores.amax(-1, keepdim=True)).exp() * mask[:, None]
    weights = weights / weights.sum(-1, keepdim=True)
    return weights @ values, weights


def reads_lengths(query, keys, values, mask):
    first = padding_mask(mask.sum(-1), mask.shape[1])
    return attend(dot_score(query, keys), values.where(first[..., None], 0.0), first)


def sound(query, keys, values, mask):
    return attend(dot_score(query, keys), values, mask)


def test_a_sound_function_passes():
    assert check_padding(sound, QUERY, KEYS, VALUES, gradients=False) == []
    assert check_padding(sound, QUERY[:, 0], KEYS, VALUES, gradients=False) == []


@pytest.mark.parametrize(
    ("wrong", "first"),
    [
        (no_mask, "zero pads, right: the context moves"),
        (scores_times_mask, "zero pads, right: the context moves"),
        (renormalised_late, "huge pads, right: the context moves"),
        (largest_of_all, "huge pads, right: the context is not finite"),
        (reads_lengths, "zero pads, left: the context moves"),
    ],
)
def test_each_fault_is_found_by_the_pads_that_show_it(wrong, first):
    found = check_padding(wrong, QUERY.double(), KEYS.double(), VALUES.double(), gradients=False)
    assert found[0].startswith(first)


def test_an_error_is_said_and_not_raised():
    def fails(query, keys, values, mask):
        if not mask.all():
            raise RuntimeError("no pads, please")
        return sound(query, keys, values, mask)

    found = check_padding(fails, QUERY, KEYS)
    assert found[0] == "zero pads, right: RuntimeError: no pads, please"
    assert len(found) == 8


def test_gradients_of_a_module_are_looked_at(monkeypatch):
    attention = Attention(GeneralScore(7, 7))
    assert check_padding(attention, QUERY, KEYS) == []
    monkeypatch.setattr("seqattn.attention.core.forget_unseen", lambda x, mask: x)
    found = check_padding(attention, QUERY, KEYS)
    assert "NaN pads, left: the gradient of score.W is not finite" in found


@pytest.mark.parametrize("given", [(QUERY[:0], KEYS[:0]), (QUERY, KEYS[:, :0])])
def test_of_no_position_nothing_can_be_said(given):
    with pytest.raises(ValueError, match="expected at least one sentence of at least one position"):
        check_padding(sound, *given)

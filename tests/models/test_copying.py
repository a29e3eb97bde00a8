"""The pointer-generator: the mixture of the paper, in logarithms, for every row and word."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.autograd import gradcheck

from seqattn import padding_mask
from seqattn.models.pointer_generator import CopyGate, extend_vocabulary, mix_copy

B, T, K, V, SIZE = 3, 4, 5, 7, 9


def inputs(seed=0):
    torch.manual_seed(seed)
    logits, gate = torch.randn(B, T, V).double(), torch.randn(B, T).double()
    mask = padding_mask(torch.tensor([K, 3, 1]), K)
    scores = torch.randn(B, T, K).double().masked_fill(~mask[:, None], -torch.inf)
    return logits, scores.softmax(-1), gate, torch.randint(0, SIZE, (B, K))


@given(st.integers(0, 10**6))
def test_probabilities_are_those_of_the_formula_and_sum_to_one(seed):
    logits, weights, gate, source = inputs(seed)
    found = mix_copy(logits, weights, gate, source, SIZE).exp()
    torch.testing.assert_close(found.sum(-1), torch.ones(B, T).double())
    for b in range(B):
        for t in range(T):
            p_gen = 1 / (1 + math.exp(-gate[b, t]))
            vocab = np.exp(logits[b, t].numpy())
            vocab /= vocab.sum()
            for w in range(SIZE):
                copied = sum(float(weights[b, t, i]) for i in range(K) if source[b, i] == w)
                expected = p_gen * (vocab[w] if w < V else 0.0) + (1 - p_gen) * copied
                assert found[b, t, w].item() == pytest.approx(expected, abs=1e-12)


def test_one_step_is_a_row_of_all_steps():
    logits, weights, gate, source = inputs()
    whole = mix_copy(logits, weights, gate, source, SIZE)
    for t in range(T):
        step = mix_copy(logits[:, t], weights[:, t], gate[:, t], source, SIZE)
        torch.testing.assert_close(step, whole[:, t])


@pytest.mark.parametrize("extreme", [-200.0, 200.0])
def test_a_gate_that_is_sure_keeps_values_and_gradients_finite(extreme):
    logits, weights, _, source = inputs()
    logits.requires_grad_()
    gate = torch.full((B, T), extreme).double().requires_grad_()
    found = mix_copy(logits, weights, gate, source, SIZE)
    torch.testing.assert_close(found.logsumexp(-1), torch.zeros(B, T).double())
    likeliest = found.amax(-1).sum()
    grads = torch.autograd.grad(likeliest, (logits, gate))
    assert all(g.isfinite().all() for g in grads)


def test_without_a_place_to_copy_from_everything_is_written():
    logits, weights, gate, source = inputs()
    found = mix_copy(logits, torch.zeros_like(weights), gate, source, SIZE)
    torch.testing.assert_close(found[..., :V], logits.log_softmax(-1))
    assert (found[..., V:] == -torch.inf).all()


def test_gradcheck():
    logits, weights, gate, source = inputs()
    scores = weights.clamp(min=1e-3).log()
    chosen = source[:, :1].unsqueeze(1).expand(B, T, 1)

    def log_prob(logits, scores, gate):
        return mix_copy(logits, scores.softmax(-1), gate, source, SIZE).gather(-1, chosen)

    assert gradcheck(log_prob, [x.requires_grad_() for x in (logits, scores, gate)])


def test_the_gate_is_a_linear_layer_on_all_three():
    gate = CopyGate(2, 3, 4).double()
    c, s, y = (torch.randn(B, T, n).double() for n in (2, 3, 4))
    w_c, w_s, w_y = gate.gate.weight[0].split([2, 3, 4])
    torch.testing.assert_close(gate(c, s, y), c @ w_c + s @ w_s + y @ w_y + gate.gate.bias)


def test_unknown_words_get_ids_of_their_own_in_each_sentence():
    ids, unknown = extend_vocabulary([["a", "x", "b", "x"], ["y", "a"], []], {"a": 0, "b": 1})
    assert ids == [[0, 2, 1, 2], [2, 0], []]
    assert unknown == [["x"], ["y"], []]


def test_an_extended_vocabulary_is_not_smaller(unchecked):
    with pytest.raises(ValueError, match="size is 6; expected at least 7"):
        mix_copy(*inputs(), 6)


def test_weights_that_are_none_are_refused_and_nan_is_not_hidden():
    logits, weights, gate, source = inputs()
    spoilt = weights.clone()
    spoilt[0, 0, 0] = -0.25
    with pytest.raises(ValueError, match=r"the least of the weights is -0\.25; expected attention"):
        mix_copy(logits, spoilt, gate, source, SIZE)
    spoilt[0, 0, 0] = torch.nan
    found = mix_copy(logits, spoilt, gate, source, SIZE)
    assert found[0, 0].isnan().any()
    assert not found[1:].isnan().any()
    assert not found[0, 1:].isnan().any()


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"logits": (7,)}, r"logits have shape \(7,\); expected \(batch, \[steps,\] vocabulary\)"),
        ({"weights": (3, 5)}, r"weights have shape \(3, 5\); expected \(batch, \[steps,\] keys\)"),
        ({"weights": (1, 2, 5)}, r"rows as the logits have them, \(3, 2\)"),
        ({"gate": (3, 1)}, r"gate has shape \(3, 1\); expected \(3, 2\)"),
        ({"gate": (3, 2, 1)}, r"gate has shape \(3, 2, 1\)"),
        ({"source": (1, 5)}, r"source has shape \(1, 5\); expected \(batch, keys\) = \(3, 5\)"),
        ({"source": (3, 4)}, r"source has shape \(3, 4\)"),
    ],
    ids=str,
)
def test_rows_that_do_not_fit_each_other_are_refused(changed, said, unchecked):
    shapes = {"logits": (3, 2, 7), "weights": (3, 2, 5), "gate": (3, 2), "source": (3, 5)}
    given = {name: torch.ones(shape) for name, shape in {**shapes, **changed}.items()}
    with pytest.raises(ValueError, match=said):
        mix_copy(**given | {"source": given["source"].long()})


@pytest.mark.parametrize(
    ("sentences", "known", "error", "said"),
    [
        ("see Ada", {"see": 0}, TypeError, "a sentence is one string, 'see Ada'; expected a list"),
        (["see Ada"], {"see": 0}, TypeError, "a sentence is one string, 'see Ada'"),
        ([["see", "Ada"]], {0: "see"}, ValueError, "dict from each word to its id, without gaps"),
        ([["see", "Ada"]], {"see": 1}, ValueError, "ids of the 1 known words are not 0 to 0"),
    ],
)
def test_a_vocabulary_that_is_none_is_not_extended(sentences, known, error, said, unchecked):
    with pytest.raises(error, match=said):
        extend_vocabulary(sentences, known)

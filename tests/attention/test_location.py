"""Location-based attention: against loops, blind to what stands there, and bounded in length."""

import numpy as np
import pytest
import torch

from seqattn import LocationAttention, attend, location_score, padding_mask
from seqattn.models import ModelConfig, build_model
from tests import oracles

B, T, K, D_QUERY, D_KEY, MAX_LEN = 3, 5, 7, 11, 13, 17
MASK = padding_mask(torch.tensor([K, 2, 5]), K)


def build(dtype=torch.float64):
    return LocationAttention(D_QUERY, MAX_LEN).to(dtype)


def inputs(dtype=torch.float64, keys=K):
    return torch.randn(B, T, D_QUERY, dtype=dtype), torch.randn(B, keys, D_KEY, dtype=dtype)


@pytest.mark.parametrize(("dtype", "atol"), [(torch.float64, 1e-12), (torch.float32, 1e-5)])
def test_scores_weights_and_context_are_the_formula(dtype, atol):
    attention, (query, keys) = build(dtype), inputs(dtype)
    W = attention.score.W.detach()
    expected = np.array(
        [
            [[oracles.location(s, i, W.double().numpy()) for i in range(K)] for s in sentence]
            for sentence in query.double().numpy()
        ]
    )
    np.testing.assert_allclose(location_score(query, keys, W), expected, atol=atol, rtol=0)
    allowed = MASK[:, None].expand(B, T, K).numpy()
    contexts, weights = oracles.attend(expected, keys.double().numpy(), allowed)
    found = attention(query, keys, None, MASK)
    np.testing.assert_allclose(found.weights.detach(), weights, atol=atol, rtol=0)
    np.testing.assert_allclose(found.context.detach(), contexts, atol=atol, rtol=0)


def test_one_query_is_several_queries_taken_alone():
    attention, (query, keys) = build(), inputs()
    together = attention(query, keys, None, MASK)
    for t, one in enumerate(query.unbind(1)):
        alone = attention(one, keys, None, MASK)
        torch.testing.assert_close(alone.weights, together.weights[:, t])
        torch.testing.assert_close(alone.context, together.context[:, t])


def test_what_stands_there_moves_the_context_and_never_the_weights():
    attention, (query, keys) = build(), inputs()
    keys.requires_grad_()
    one, other = attention(query, keys), attention(query, keys.flip(1))
    assert torch.equal(one.weights, other.weights)
    assert not torch.allclose(one.context, other.context)
    [gradient] = torch.autograd.grad(one.weights.square().sum(), keys, allow_unused=True)
    assert gradient is None


def test_every_row_that_is_used_learns_and_no_other():
    attention, (query, keys) = build(), inputs()
    attention(query, keys, None, MASK).context.square().sum().backward()
    learns = attention.score.W.grad.abs().sum(1) > 0
    assert learns.tolist() == [True] * K + [False] * (MAX_LEN - K)


@pytest.mark.parametrize("keys", [MAX_LEN, MAX_LEN + 1])
def test_a_source_beyond_the_last_row_is_an_error_and_not_a_shorter_look(keys):
    attention, (query, source) = build(), inputs(keys=keys)
    if keys == MAX_LEN:
        assert attention(query, source).weights.shape == (B, T, MAX_LEN)
        return
    for call in (
        lambda: attention(query, source),
        lambda: location_score(query, source, attention.score.W),
    ):
        with pytest.raises(ValueError, match="the source has 18 positions and W has rows for 17"):
            call()


def test_sizes_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="max_len is 0; expected at least 1"):
        LocationAttention(D_QUERY, 0)


def test_sizes_of_one_are_not_broadcast(unchecked):
    query, keys = inputs()
    with pytest.raises(ValueError, match="W"):
        location_score(query, keys, torch.randn(MAX_LEN, 1).double())
    with pytest.raises(ValueError, match="batch"):
        location_score(query[:1], keys, torch.randn(MAX_LEN, D_QUERY).double())


def test_the_scores_go_through_the_same_core():
    attention, (query, keys) = build(), inputs()
    scores = location_score(query, keys, attention.score.W)
    expected = attend(scores, keys, MASK)
    found = attention(query, keys, None, MASK)
    torch.testing.assert_close(found.context, expected.context)
    torch.testing.assert_close(found.weights, expected.weights)


@pytest.mark.parametrize("architecture", ["bahdanau", "luong"])
def test_a_configuration_names_it(architecture):
    config = ModelConfig(architecture, score="location", max_source=9, d_embed=4, d_hidden=6)
    model = build_model(config, 11, 13)
    assert isinstance(model.decoder.attention, LocationAttention)
    assert model.decoder.attention.score.W.shape == (9, 6)
    with pytest.raises(ValueError, match="the source has 10 positions and W has rows for 9"):
        model(torch.full((1, 10), 5), torch.tensor([10]), torch.tensor([[1, 5]]))

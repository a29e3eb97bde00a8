"""Against Keras on its torch backend: an implementation by other hands.

Its matrix products give float32 whatever the input, hence 1e-6 and not 1e-12.
"""

import pytest
import torch

from seqattn import additive_score, attend, dot_score, general_score, padding_mask, scaled_dot_score

B, Q, K, D_QUERY, D_KEY, D_ATTN = 3, 5, 7, 11, 13, 17


@pytest.fixture(scope="module")
def layers(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        # Importing Keras writes a settings file; not into the home directory of whoever tests.
        patch.setenv("KERAS_HOME", str(tmp_path_factory.mktemp("keras")))
        patch.setenv("KERAS_BACKEND", "torch")
        from keras import layers
    return layers


@pytest.fixture
def keys():
    return torch.randn(B, K, D_KEY)


MASK = padding_mask(torch.tensor([K, 2, 5]), K)


def query(size):
    return torch.randn(B, Q, size)


def agree(layer, inputs, scores, values):
    for mask in (None, MASK):
        context, weights = layer(
            inputs, mask=None if mask is None else [None, mask], return_attention_scores=True
        )
        ours = attend(scores, values, mask)
        torch.testing.assert_close(weights.detach(), ours.weights, atol=1e-6, rtol=0)
        torch.testing.assert_close(context.detach(), ours.context, atol=1e-6, rtol=0)


def test_dot(layers, keys):
    s = query(D_KEY)
    agree(layers.Attention(), [s, keys], dot_score(s, keys), keys)


def test_scaled_dot(layers, keys):
    s = query(D_KEY)
    layer = layers.Attention(use_scale=True)
    layer([s, keys])
    layer.set_weights([torch.tensor(D_KEY**-0.5).numpy()])
    agree(layer, [s, keys], scaled_dot_score(s, keys), keys)


def test_general(layers, keys):
    s, W = query(D_QUERY), torch.randn(D_QUERY, D_KEY) / D_KEY**0.5
    agree(layers.Attention(), [s, keys, keys @ W.T], general_score(s, keys, W), keys)


def test_additive(layers, keys):
    # Keras' layer has v alone: the projections are ours to make.
    s, v, b = query(D_QUERY), torch.randn(D_ATTN) / D_ATTN**0.5, torch.randn(D_ATTN)
    W_q, W_k = (torch.randn(D_ATTN, d) / d**0.5 for d in (D_QUERY, D_KEY))
    layer = layers.AdditiveAttention()
    for bias in (None, b):
        projected = s @ W_q.T if bias is None else s @ W_q.T + bias
        inputs = [projected, keys, keys @ W_k.T]
        layer(inputs)
        layer.set_weights([v.numpy()])
        agree(layer, inputs, additive_score(s, keys, W_q, W_k, v, bias), keys)

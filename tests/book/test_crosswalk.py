"""The crosswalk: each row names a test that there is, and each difference is one."""

import re
from pathlib import Path

import pytest
import torch
from torch.nn import functional as F

from seqattn import (
    BahdanauAttention,
    MultiHeadAttention,
    ScaledDotProductAttention,
    additive_score,
    attend,
    concat_score,
    padding_mask,
)
from tools.course_map import test_source as source_of

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "chapters" / "crosswalk.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| `.*\|$", TEXT.partition("## What differs")[0], re.MULTILINE)

# As many queries as sentences: where a mask can be taken for another.
B, Q, K, D, HEADS = 3, 3, 7, 8, 2
PADDED = padding_mask(torch.tensor([K, 2, 5]), K)
EMPTY = padding_mask(torch.tensor([K, 0, 5]), K)  # nothing to attend in the second sentence


@pytest.fixture(scope="module")
def keras(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        # Importing Keras writes a settings file; not into the home directory of whoever tests.
        patch.setenv("KERAS_HOME", str(tmp_path_factory.mktemp("keras")))
        patch.setenv("KERAS_BACKEND", "torch")
        from keras import layers
    return layers


@pytest.fixture
def given():
    return torch.randn(B, Q, D), torch.randn(B, K, D), torch.randn(B, K, D)


def theirs(dropout=0.0):
    return torch.nn.MultiheadAttention(D, HEADS, dropout=dropout, batch_first=True)


def close(found, expected):
    torch.testing.assert_close(found.detach(), expected.detach(), atol=1e-5, rtol=0)


def test_each_row_names_a_test_that_there_is():
    assert len(ROWS) >= 10
    for row in ROWS:
        named = re.search(r"`(tests/\S+::\w+)` \|$", row)
        assert named, row
        assert source_of(ROOT, named[1]), named[1]


def test_true_in_a_mask(keras, given):
    q, k, v = given
    seen = PADDED[:, None].expand(B, Q, K)
    for weights in (
        ScaledDotProductAttention()(q, k, v, PADDED).weights,
        theirs()(q, k, v, key_padding_mask=~PADDED)[1],
        keras.Attention()([q, v, k], mask=[None, PADDED], return_attention_scores=True)[1],
        keras.MultiHeadAttention(HEADS, D // HEADS)(
            q, v, k, value_mask=PADDED, return_attention_scores=True
        )[1].mean(1),
    ):
        assert torch.equal(weights > 0, seen)
    # No weights come back here: what is hidden is spoilt instead.
    spoilt = v.masked_fill(~PADDED.unsqueeze(-1), 1e6)
    context = F.scaled_dot_product_attention(q, k, spoilt, PADDED[:, None])
    close(context, F.scaled_dot_product_attention(q, k, v, PADDED[:, None]))


def test_a_padding_mask_fits_scaled_dot_product_attention_only_by_accident(given):
    q, k, v = given
    ours = ScaledDotProductAttention()(q, k, v, PADDED).context
    close(F.scaled_dot_product_attention(q, k, v, PADDED[:, None]), ours)
    mistaken = F.scaled_dot_product_attention(q, k, v, PADDED)
    assert (mistaken - ours).abs().max() > 0.5
    # Row b for query b of every sentence:
    by_query = ScaledDotProductAttention()(q, k, v, PADDED[None]).context
    close(mistaken, by_query)
    with pytest.raises(RuntimeError, match="size of tensor"):
        F.scaled_dot_product_attention(q[:, :2], k, v, PADDED)


def test_the_order_of_arguments(keras, given):
    q, k, v = given
    expected = attend(q @ k.mT, v).context
    close(keras.Attention()([q, v, k]), expected)
    assert (keras.Attention()([q, k, v]) - expected).abs().max() > 0.5
    close(F.scaled_dot_product_attention(q, k, v), ScaledDotProductAttention()(q, k, v).context)
    # With several heads: other keys move the weights, other values do not.
    several, torchs = keras.MultiHeadAttention(HEADS, D // HEADS), theirs()
    others = torch.randn(B, K, D)

    def of_keras(value, key):
        return several(q, value, key, return_attention_scores=True)[1]

    close(of_keras(others, k), of_keras(v, k))
    assert (of_keras(v, others) - of_keras(v, k)).abs().max() > 0.01
    close(torchs(q, k, others)[1], torchs(q, k, v)[1])
    assert (torchs(q, others, v)[1] - torchs(q, k, v)[1]).abs().max() > 0.01


def test_nothing_to_attend_in_this_package(given):
    q, k, v = given
    for attention in (ScaledDotProductAttention(), BahdanauAttention(D, D, 5)):
        context, weights = attention(q, k, v, EMPTY)
        assert not weights[1].any()
        assert not context[1].any()
    several = MultiHeadAttention(D, HEADS)
    torch.nn.init.zeros_(several.output.bias)
    context, weights = several(q, k, v, EMPTY)
    assert not weights[1].any()
    assert not context[1].any()


@pytest.mark.parametrize("gradients", [True, False])
def test_nothing_to_attend_in_pytorch(given, gradients):
    q, k, v = given
    attention = theirs().eval()
    with torch.set_grad_enabled(gradients):
        context, weights = attention(q, k, v, key_padding_mask=~EMPTY)
        assert context[1].isnan().all()
        assert weights[1].isnan().all()
        context, _ = attention(q, k, v, key_padding_mask=~EMPTY, need_weights=False)
        assert not context[1].any()  # the bias of the output is 0 in a fresh layer
        assert not F.scaled_dot_product_attention(q, k, v, EMPTY[:, None])[1].any()
        # Its fast path: self-attention, in evaluation, without gradients.
        context, _ = attention(k, k, k, key_padding_mask=~EMPTY, need_weights=False)
        assert not context[1].any() if gradients else context[1].isnan().all()


def test_nothing_to_attend_in_keras(keras, given):
    q, k, v = given
    for layer in (keras.Attention(), keras.AdditiveAttention()):
        context, weights = layer([q, v, k], mask=[None, EMPTY], return_attention_scores=True)
        close(weights[1], torch.full((Q, K), 1 / K))
        close(context[1], v[1].mean(0).expand(Q, D))
    several = keras.MultiHeadAttention(HEADS, D // HEADS)
    context, weights = several(q, v, k, value_mask=EMPTY, return_attention_scores=True)
    assert not weights[1].any()
    assert not context[1].any()  # biases are 0 in a fresh layer
    unasked = several(q, v, k, value_mask=EMPTY)
    kernels = {w.path.split("/", 1)[1]: w.value for w in several.weights}
    mean = torch.einsum("d,dhe->he", v[1].mean(0), kernels["value/kernel"])
    equal = torch.einsum("he,hed->d", mean, kernels["attention_output/kernel"])
    close(unasked[1], equal.expand(Q, D))


def test_which_weights_are_returned(keras, given):
    q, k, v = given
    ones = torch.ones(B, HEADS, Q)
    ours = MultiHeadAttention(D, HEADS, dropout=0.5).train()(q, k, v).weights
    close(ours.sum(-1), ones)
    several = keras.MultiHeadAttention(HEADS, D // HEADS, dropout=0.5)
    _, weights = several(q, v, k, return_attention_scores=True, training=True)
    close(weights.sum(-1), ones)
    attention = theirs(dropout=0.5).train()
    assert attention(q, k, v)[1].shape == (B, Q, K)
    _, weights = attention(q, k, v, average_attn_weights=False)
    assert weights.shape == (B, HEADS, Q, K)
    assert (weights == 0).any()  # dropped
    assert (weights.sum(-1) - 1).abs().max() > 0.1
    for layer in (keras.Attention(dropout=0.5), keras.AdditiveAttention(dropout=0.5)):
        _, weights = layer([q, v, k], return_attention_scores=True, training=True)
        assert (weights == 0).any()
        assert (weights.sum(-1) - 1).abs().max() > 0.1


def test_keras_concat_concatenates_nothing(keras, given):
    q, k, v = given
    layer = keras.Attention(score_mode="concat")
    layer([q, v, k])
    [number] = layer.weights
    assert tuple(number.shape) == ()
    layer.set_weights([torch.tensor(0.7).numpy()])
    _, weights = layer([q, v, k], return_attention_scores=True)
    scores = 0.7 * torch.tanh(q.unsqueeze(2) + k.unsqueeze(1)).sum(-1)
    close(weights, scores.softmax(-1))
    # The additive score with nothing to learn but that number; Luong's concat with two identities.
    same, eye = torch.full((D,), 0.7), torch.eye(D)
    close(scores, additive_score(q, k, eye, eye, same))
    close(scores, concat_score(q, k, torch.cat([eye, eye], 1), same))
    with pytest.raises(RuntimeError, match="size of tensor"):  # no matrix makes two sizes one
        layer([torch.randn(B, Q, D + 1), v, k])

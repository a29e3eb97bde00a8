"""Weights of every head, and models without some: against attentions and matrices by hand."""

import pytest
import torch

from seqattn import causal_mask, padding_mask
from seqattn.decoding import greedy
from seqattn.models import all_heads, head_weights, masked_heads
from seqattn.models.config import ModelConfig, build_model
from tests.models.test_transformer import LENGTHS, B, D, H, S, T, build, sentences

LAYERS = 3


@pytest.fixture(params=["pre", "post"])
def model(request):
    return build(norm=request.param, layers=LAYERS)


def test_weights_of_every_layer_and_head(model):
    found = head_weights(model, *sentences())
    assert found.source.shape == (LAYERS, B, H, S, S)
    assert found.target.shape == (LAYERS, B, H, T, T)
    assert found.cross.shape == (LAYERS, B, H, T, S)
    for maps in found:
        torch.testing.assert_close(maps.sum(-1), torch.ones_like(maps.sum(-1)))
    real = padding_mask(LENGTHS, S)
    assert (found.source[:, ~real[:, None, None].expand(B, H, S, S)] == 0).all()
    assert (found.cross[:, ~real[:, None, None].expand(B, H, T, S)] == 0).all()
    assert (found.target[..., ~causal_mask(T)] == 0).all()


def test_they_are_what_the_model_looked_with(model):
    source, lengths, inputs = sentences()
    found = head_weights(model, source, lengths, inputs)
    # The mean of the last layer is what the model gives itself.
    torch.testing.assert_close(
        found.cross[-1].mean(1), model(source, lengths, inputs).weights, check_dtype=False
    )
    # The first layers, from the formula.
    for layer, positions, embedding, tokens, maps, mask in (
        (model.encoder[0], model.source_positions, model.source_embedding, source, found.source,
         padding_mask(lengths, S)[:, None, None]),
        (model.decoder[0], model.target_positions, model.target_embedding, inputs, found.target,
         causal_mask(T)),
    ):  # fmt: skip
        x = positions(embedding(tokens) * model.scale)
        x = layer.self_norm(x) if layer.pre_norm else x
        attention = layer.self_attention
        for head in range(H):
            part = slice(head * D // H, (head + 1) * D // H)
            q, k = attention.query(x)[..., part], attention.key(x)[..., part]
            scores = (q @ k.mT / (D // H) ** 0.5).masked_fill(~mask.squeeze(1), -torch.inf)
            torch.testing.assert_close(maps[0, :, head], scores.softmax(-1))


def test_the_model_stands_as_before(model):
    source, lengths, inputs = sentences()
    model.train()
    before = model.eval()(source, lengths, inputs).logits
    model.train()
    keep = all_heads(model)
    keep["target"][:] = False
    head_weights(model, source, lengths, inputs)
    with pytest.raises(RuntimeError, match="on purpose"), masked_heads(model, keep):
        raise RuntimeError("on purpose")
    assert all(part.training for part in model.modules())
    assert torch.equal(model.eval()(source, lengths, inputs).logits, before)


def zero_columns(model, keep):
    """Silence heads as the formula says: zeros in the output matrices."""
    layers = {
        "source": (model.encoder, "self_attention"),
        "target": (model.decoder, "self_attention"),
        "cross": (model.decoder, "cross_attention"),
    }
    for kind, mask in keep.items():
        stack, name = layers[kind]
        for layer, row in zip(stack, mask, strict=True):
            matrix = getattr(layer, name).output.weight.data
            matrix[:, ~row.repeat_interleave(D // H)] = 0


def test_a_masked_head_is_a_block_of_zeros(model):
    source, lengths, inputs = sentences()
    keep = {k: torch.rand(mask.shape) < 0.5 for k, mask in all_heads(model).items()}
    full = model(source, lengths, inputs).logits
    with masked_heads(model, keep):
        found = model(source, lengths, inputs).logits
        step_by_step = greedy(model, source, lengths, max_len=4)
    zero_columns(model, keep)
    torch.testing.assert_close(found, model(source, lengths, inputs).logits)
    assert not torch.allclose(found, full)
    expected = greedy(model, source, lengths, max_len=4)
    assert torch.equal(step_by_step.tokens, expected.tokens)


def test_masks_that_do_not_fit(model):
    wrong = {
        "encoder": torch.ones(LAYERS, H).bool(),
        "source": torch.ones(H, LAYERS).bool(),
        "cross": torch.ones(LAYERS, H),
    }
    for kind, mask in wrong.items():
        with pytest.raises(ValueError, match=kind), masked_heads(model, {kind: mask}):
            pass
    recurrent = build_model(ModelConfig("luong", d_hidden=4), 7, 7)
    with pytest.raises(TypeError, match="Transformer"):
        head_weights(recurrent, *sentences())

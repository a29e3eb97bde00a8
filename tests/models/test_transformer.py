"""The Transformer: against PyTorch's layers, causal, cached, and at home in every search."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from seqattn import causal_mask, padding_mask
from seqattn.decoding import StepModel, beam_search, greedy, sample
from seqattn.models import Transformer
from seqattn.models.transformer import DecoderLayer, EncoderLayer, NoPositions
from tests.hostile import every_rubbish, other_words, spoil_embeddings, surround

B, S, T, D, H, D_FF, SOURCE, TARGET = 3, 7, 5, 10, 5, 11, 13, 17
LENGTHS = torch.tensor([S, 2, 4])
KINDS = [(n, p) for n in ("pre", "post") for p in ("sinusoidal", "learned", "rotary", "none")]
every_kind = pytest.mark.parametrize(("norm", "positions"), KINDS)


def build(norm="pre", positions="sinusoidal", **options):
    options = {"d_model": D, "heads": H, "layers": 2, "d_feedforward": D_FF} | options
    model = Transformer(SOURCE, TARGET, norm=norm, positions=positions, **options).double().eval()
    for p in model.parameters():
        if p.dim() == 1:  # biases and gains start at 0 and 1, which would hide them
            nn.init.normal_(p, mean=0.3)
    return model


def sentences():
    source = torch.randint(4, SOURCE, (B, S)).masked_fill(~padding_mask(LENGTHS, S), 0)
    inputs = torch.randint(4, TARGET, (B, T))
    inputs[:, 0] = 1
    return source, LENGTHS, inputs


def copy_attention(ours, theirs):
    theirs.in_proj_weight.copy_(torch.cat([p.weight for p in (ours.query, ours.key, ours.value)]))
    theirs.in_proj_bias.copy_(torch.cat([p.bias for p in (ours.query, ours.key, ours.value)]))
    theirs.out_proj.load_state_dict(ours.output.state_dict())


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_layers_agree_with_pytorch(norm):
    options = {"batch_first": True, "norm_first": norm == "pre", "dtype": torch.float64}
    x, y = torch.randn(B, S, D).double(), torch.randn(B, T, D).double()
    mask = padding_mask(LENGTHS, S)
    ours = EncoderLayer(D, H, D_FF, 0.0, 0.0, norm).double()
    theirs = nn.TransformerEncoderLayer(D, H, D_FF, 0.0, **options)
    with torch.no_grad():
        copy_attention(ours.self_attention, theirs.self_attn)
        for mine, other in (
            (ours.feed_forward[0], theirs.linear1),
            (ours.feed_forward[2], theirs.linear2),
            (ours.self_norm, theirs.norm1),
            (ours.feed_norm, theirs.norm2),
        ):
            nn.init.normal_(mine.bias)
            other.load_state_dict(mine.state_dict())
    expected = theirs(x, src_key_padding_mask=~mask)
    torch.testing.assert_close(ours(x, mask)[mask], expected[mask])

    ours = DecoderLayer(D, H, D_FF, 0.0, 0.0, norm).double()
    theirs = nn.TransformerDecoderLayer(D, H, D_FF, 0.0, **options)
    with torch.no_grad():
        copy_attention(ours.self_attention, theirs.self_attn)
        copy_attention(ours.cross_attention, theirs.multihead_attn)
        for mine, other in (
            (ours.feed_forward[0], theirs.linear1),
            (ours.feed_forward[2], theirs.linear2),
            (ours.self_norm, theirs.norm1),
            (ours.cross_norm, theirs.norm2),
            (ours.feed_norm, theirs.norm3),
        ):
            nn.init.normal_(mine.bias)
            other.load_state_dict(mine.state_dict())
    causal = causal_mask(T)
    expected = theirs(y, x, tgt_mask=~causal, memory_key_padding_mask=~mask)
    found, weights, _ = ours(y, ours.cross_attention.remember(x, mask=mask), mask=causal[None])
    torch.testing.assert_close(found, expected)
    assert weights.shape == (B, H, T, S)


@every_kind
def test_step_by_step_from_the_cache_is_everything_at_once(norm, positions):
    model, (source, lengths, inputs) = build(norm, positions), sentences()
    whole = model(source, lengths, inputs)
    state, memory = model.begin(source, lengths)
    for t in range(T):
        logits, weights, state = model.step(inputs[:, t], state, memory)
        torch.testing.assert_close(logits, whole.logits[:, t], atol=1e-10, rtol=0)
        torch.testing.assert_close(weights, whole.weights[:, t], atol=1e-10, rtol=0)
    assert state[0].keys.shape == (B, H, T, D // H)


@every_kind
def test_later_target_tokens_have_no_influence(norm, positions):
    model, (source, lengths, inputs) = build(norm, positions), sentences()
    before = model(source, lengths, inputs).logits
    for t in range(1, T):
        changed = inputs.clone()
        changed[:, t] = (changed[:, t] + 1) % TARGET
        after = model(source, lengths, changed).logits
        torch.testing.assert_close(after[:, :t], before[:, :t])
        assert not torch.allclose(after[:, t], before[:, t])


@every_kind
@every_rubbish
def test_neither_padding_nor_the_other_sentences_matter(norm, positions, rubbish):
    model, (source, lengths, inputs) = build(norm, positions), sentences()
    real = padding_mask(LENGTHS, S + 4)
    padded = other_words(surround(source, 0, 4), real, SOURCE)
    hook = spoil_embeddings(model.source_embedding, padded, real, rubbish)
    whole = model(padded, lengths, inputs)
    grads = torch.autograd.grad(whole.logits.square().sum(), list(model.parameters()))
    assert all(grad.isfinite().all() for grad in grads)
    hook.remove()
    for b, n in enumerate(LENGTHS.tolist()):
        alone = model(source[b : b + 1, :n], lengths[b : b + 1], inputs[b : b + 1])
        torch.testing.assert_close(whole.logits[b : b + 1], alone.logits)
        torch.testing.assert_close(whole.weights[b : b + 1, :, :n], alone.weights)
        assert (whole.weights[b, :, n:] == 0).all()


def test_rows_of_weights_sum_to_one():
    weights = build()(*sentences()).weights
    torch.testing.assert_close(weights.sum(-1), torch.ones(B, T).double())


def test_without_positions_the_order_of_the_source_would_not_matter():
    model, (source, lengths, inputs) = build(), sentences()
    swapped = source.clone()
    swapped[0, :2] = source[0, :2].flip(0)
    assert source[0, 0] != source[0, 1]
    with_order = (
        model(swapped, lengths, inputs).logits[0] - model(source, lengths, inputs).logits[0]
    )
    assert with_order.abs().max() > 1e-3
    model.source_positions = NoPositions()
    before, after = (model(x, lengths, inputs).logits[0] for x in (source, swapped))
    torch.testing.assert_close(before, after)


@every_kind
def test_every_parameter_gets_a_gradient(norm, positions):
    model = build(norm, positions, max_len=S)
    model(*sentences()).logits.square().sum().backward()
    idle = {n for n, p in model.named_parameters() if p.grad is None or p.grad.abs().max() < 1e-12}
    # A constant added to all keys is nothing to a softmax.
    assert idle == {n for n in idle if n.endswith("attention.key.bias")}


def test_every_search_drives_it():
    model, (source, lengths, _) = build(), sentences()
    assert isinstance(model, StepModel)
    best = greedy(model, source, lengths, max_len=6)
    assert torch.equal(best.tokens, beam_search(model, source, lengths, beam=1, max_len=6).tokens)
    assert torch.equal(best.tokens, model.generate(source, lengths, max_len=6).tokens)
    wide = beam_search(model, source, lengths, beam=4, max_len=6)
    drawn = sample(model, source, lengths, max_len=6)
    for found in (best, wide, drawn):
        for b in range(B):
            n = int(found.lengths[b])
            read = torch.cat([torch.tensor([1]), found.tokens[b, : n - 1]])
            known = model(source[b : b + 1], lengths[b : b + 1], read[None])
            log_probs = known.logits[0].log_softmax(-1)
            # A search never writes <pad>, <bos> or <unk>: at least the order of scores holds.
            picked = log_probs.gather(-1, found.tokens[b, :n, None]).sum()
            assert found.scores[b] >= picked - 1e-9
            torch.testing.assert_close(found.weights[b, :n], known.weights[0])


@pytest.mark.slow
def test_it_learns_to_turn_a_sentence_round(unchecked):
    torch.manual_seed(0)
    model = Transformer(9, 9, d_model=32, heads=2, layers=1, d_feedforward=64, dropout=0.0)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for _ in range(300):
        words = torch.randint(4, 9, (32, 4))
        source = F.pad(words, (0, 1), value=2)
        target = F.pad(words.flip(1), (0, 1), value=2)
        inputs = F.pad(target[:, :-1], (1, 0), value=1)
        logits, _ = model(source, torch.full((32,), 5), inputs)
        loss = F.cross_entropy(logits.mT, target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    words = torch.tensor([[4, 5, 6, 7], [8, 8, 4, 6]])
    found = model.generate(F.pad(words, (0, 1), value=2), torch.tensor([5, 5]), max_len=6)
    assert torch.equal(found.tokens, F.pad(words.flip(1), (0, 1), value=2))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"norm": "middle"}, "norm is 'middle'; expected 'pre' or 'post'"),
        (
            {"positions": "alibi"},
            "positions are 'alibi'; expected 'sinusoidal', 'learned', 'rotary' or 'none'",
        ),
        (
            {"positions": "rotary", "heads": 2},
            "2 heads of d_model=10 have 5 features each; rotary positions expect an even number",
        ),
        ({"heads": 4}, "4 heads cannot share d_model=10"),
        ({"layers": 0}, "layers is 0; expected at least 1"),
        ({"layers": -1}, "layers is -1; expected at least 1"),
        ({"d_feedforward": 0}, "d_feedforward is 0; expected at least 1"),
        ({"max_len": 2.5}, "max_len is 2.5; expected a whole number"),
    ],
)
def test_unknown_options_are_refused(options, said, unchecked):
    with pytest.raises(ValueError, match=said):
        build(**options)


def test_scheduled_sampling_reads_the_models_own_guesses():
    model = Transformer(11, 13, d_model=8, heads=2, layers=2, d_feedforward=16, dropout=0.0)
    source, lengths = torch.tensor([[4, 5, 2], [6, 2, 0]]), torch.tensor([3, 2])
    inputs = torch.tensor([[1, 7, 9, 4], [1, 8, 12, 5]])
    free = model(source, lengths, inputs, teacher_forcing=0.0)
    guesses = torch.cat([inputs[:, :1], free.logits.argmax(-1)[:, :-1]], 1)
    torch.testing.assert_close(free, model(source, lengths, guesses))
    assert not torch.equal(guesses, inputs)
    forced = model.eval()(source, lengths, inputs, teacher_forcing=0.0)
    torch.testing.assert_close(forced, model(source, lengths, inputs))


def test_sines_want_an_even_size():
    with pytest.raises(ValueError, match="d_model is 9; expected an even number"):
        Transformer(9, 9, d_model=9, heads=3)


def test_a_sentence_ends_where_learned_positions_do():
    torch.manual_seed(0)
    model = build(positions="learned", max_len=6).eval()
    source, lengths = torch.tensor([[4, 5, 2]]), torch.tensor([3])
    with torch.no_grad():
        model.vocabulary.bias[2] = -1e4  # it never ends by itself
    assert model.generate(source, lengths).tokens.shape == (1, 6)

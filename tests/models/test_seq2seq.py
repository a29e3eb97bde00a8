"""Encoder and decoder together: what no part can promise alone."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from seqattn import padding_mask
from seqattn.models import (
    AttentionDecoder,
    Encoder,
    ModelConfig,
    Seq2SeqAttention,
    build_model,
    evaluating,
)
from tests.hostile import every_rubbish, other_words, spoil_embeddings, surround
from tests.models.families import (
    D_EMBED,
    D_HIDDEN,
    KEYS,
    SOURCE_VOCAB,
    TARGET_VOCAB,
    batch,
    every_family,
    every_kind,
    every_order,
)


@every_kind
@every_rubbish
@pytest.mark.parametrize("more", [1, 53])
def test_padding_changes_neither_logits_nor_weights(family, more, rubbish):
    model = family.build()
    source, lengths, inputs = batch()
    narrow = model(source, lengths, inputs)
    real = padding_mask(lengths, KEYS + more)
    padded = other_words(surround(source, 0, more), real, SOURCE_VOCAB)
    spoil_embeddings(model.encoder.embedding, padded, real, rubbish)
    wide = model(padded, lengths, inputs)
    wide.logits.square().sum().backward()
    assert all(p.grad.isfinite().all() for p in model.parameters() if p.grad is not None)
    torch.testing.assert_close(wide.logits, narrow.logits)
    if wide.weights is not None:
        torch.testing.assert_close(wide.weights[..., :KEYS], narrow.weights)
        assert not wide.weights[..., KEYS:].any()


@every_order
def test_a_batch_is_its_sentences_one_by_one(family):
    model = family.build()
    source, lengths, inputs = batch()
    together = model(source, lengths, inputs)
    for row, length in enumerate(lengths.tolist()):
        alone = model(source[row : row + 1, :length], lengths[row : row + 1], inputs[row : row + 1])
        torch.testing.assert_close(together.logits[row], alone.logits[0])
        if alone.weights is not None:
            torch.testing.assert_close(together.weights[row, :, :length], alone.weights[0])


@every_order
def test_no_row_sees_a_later_input(family):
    model = family.build()
    source, lengths, inputs = batch()
    changed = inputs.clone()
    changed[:, 3:] = 4
    before, after = (model(source, lengths, x).logits for x in (inputs, changed))
    assert torch.equal(before[:, :3], after[:, :3])


@every_family
def test_a_gradient_reaches_every_parameter(family):
    model = family.build()
    source, lengths, inputs = batch()
    model(source, lengths, inputs).logits.square().sum().backward()
    missed = [n for n, p in model.named_parameters() if p.grad is None or not bool(p.grad.any())]
    assert missed == []


@every_order
def test_scheduled_sampling_reads_the_models_own_guesses(family):
    model = family.build()
    source, lengths, inputs = batch()
    free = model(source, lengths, inputs, teacher_forcing=0.0).logits
    # Feed the guesses back by hand: only the first input is true.
    guesses = torch.cat([inputs[:, :1], free.argmax(-1)[:, :-1]], 1)
    torch.testing.assert_close(free, model(source, lengths, guesses).logits)
    assert not torch.equal(guesses, inputs)


def test_scheduled_sampling_draws_for_each_token_and_from_its_generator():
    model = build_model(ModelConfig("luong", D_EMBED, D_HIDDEN, dropout=0.0), 40, 40)
    source = torch.randint(4, 40, (31, 5))
    inputs = torch.randint(4, 40, (31, 7))
    read = []
    model.decoder.embedding.register_forward_hook(lambda _, tokens, __: read.append(tokens[0]))

    def run(seed):
        read.clear()
        generator = torch.Generator().manual_seed(seed)
        model(source, torch.full((31,), 5), inputs, teacher_forcing=0.5, generator=generator)
        return torch.stack(read, 1)

    tokens = run(3)
    kept = (tokens == inputs).double()
    assert bool((kept[:, 0] == 1).all())
    assert abs(float(kept[:, 1:].mean()) - 0.5) < 0.1
    # Not once for the whole batch, and not once for the whole sentence.
    assert bool((kept[:, 1:].mean(0) % 1 != 0).all())
    assert bool((kept[:, 1:].mean(1) % 1 != 0).any())
    assert torch.equal(run(3), tokens)
    assert not torch.equal(run(4), tokens)


def test_scheduled_sampling_may_draw_once_for_a_step_of_the_batch():
    model = build_model(ModelConfig("luong", D_EMBED, D_HIDDEN, dropout=0.0), 40, 40)
    source, lengths = torch.randint(4, 40, (5, 5)), torch.full((5,), 5)
    inputs = torch.randint(4, 40, (5, 60))
    read = []
    model.decoder.embedding.register_forward_hook(lambda _, tokens, __: read.append(tokens[0]))
    model(source, lengths, inputs, teacher_forcing=0.5, draw_per="step")
    kept = (torch.stack(read, 1) == inputs).double().mean(0)
    # A guess is now and then the true token, by chance.
    true = kept == 1
    assert bool(((kept < 0.5) | true).all())
    assert 15 < int(true.sum()) < 45


def test_another_unit_to_draw_for_is_refused(unchecked):
    model = build_model(ModelConfig("luong", D_EMBED, D_HIDDEN), SOURCE_VOCAB, TARGET_VOCAB)
    for options in ({"teacher_forcing": 0.5}, {}):  # also where there is nothing to draw
        with pytest.raises(ValueError, match="draw_per is 'batch'; expected 'token' or 'step'"):
            model(*batch(), draw_per="batch", **options)


@every_order
def test_evaluation_is_teacher_forced_and_draws_nothing(family):
    model = family.build(dropout=0.5).eval()
    source, lengths, inputs = batch()
    state = torch.get_rng_state()
    evaluated = model(source, lengths, inputs, teacher_forcing=0.0)
    assert torch.equal(torch.get_rng_state(), state)
    torch.testing.assert_close(evaluated, model(source, lengths, inputs))


@pytest.mark.parametrize("probability", [-0.1, 1.5])
def test_teacher_forcing_is_a_probability(probability):
    model = build_model(ModelConfig("luong", D_EMBED, D_HIDDEN), SOURCE_VOCAB, TARGET_VOCAB)
    with pytest.raises(ValueError, match=r"teacher_forcing is .*; expected 0 to 1"):
        model(*batch(), teacher_forcing=probability)


def test_parts_that_do_not_fit_are_refused():
    encoder = Encoder(SOURCE_VOCAB, D_EMBED, 17)
    decoder = AttentionDecoder(TARGET_VOCAB, D_EMBED, D_HIDDEN, 17, None)
    with pytest.raises(ValueError, match=r"states of size 34, .* built for d_encoder=17"):
        Seq2SeqAttention(encoder, decoder)


def test_evaluating_leaves_each_training_flag_as_it_was():
    model = nn.Sequential(nn.Dropout(), nn.Sequential(nn.Dropout().eval()))
    before = [part.training for part in model.modules()]

    def fail_while_evaluating():
        with evaluating(model):
            assert not any(part.training for part in model.modules())
            assert not torch.is_grad_enabled()
            raise KeyError

    with pytest.raises(KeyError):
        fail_while_evaluating()
    assert [part.training for part in model.modules()] == before
    assert torch.is_grad_enabled()


@every_order
def test_half_precision_trains(family):
    model = family.build(torch.float32)
    source, lengths, inputs = batch()
    with torch.autocast("cpu", torch.bfloat16):
        logits = model(source, lengths, inputs).logits
    assert logits.dtype == torch.bfloat16
    exact = model(source, lengths, inputs).logits
    error = (logits.float() - exact).detach().abs().mean() / exact.detach().abs().mean()
    assert float(error) < 0.05
    logits.float().square().mean().backward()
    assert all(bool(p.grad.isfinite().all()) for p in model.parameters())


@pytest.mark.slow
@pytest.mark.parametrize("architecture", ["bahdanau", "luong", "fixed"])
def test_a_small_model_learns_to_copy(architecture, unchecked):
    config = ModelConfig(architecture, d_embed=16, d_hidden=32, dropout=0.0)
    model = build_model(config, 11, 11)
    lengths = torch.arange(32) % 3 + 2  # <eos> included
    words = torch.randint(4, 11, (32, 4))
    place = torch.arange(4)
    source = torch.where(place < lengths[:, None] - 1, words, 0)
    source[torch.arange(32), lengths - 1] = 2
    inputs = torch.cat([torch.ones(32, 1, dtype=torch.long), source[:, :-1]], 1)
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(80):
        logits = model(source, lengths, inputs).logits
        loss = F.cross_entropy(logits.flatten(0, 1), source.flatten(), ignore_index=0)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    assert loss.item() < 0.05
    found = model.generate(source, lengths, max_len=4)
    assert torch.equal(found.tokens, source)
    assert torch.equal(found.lengths, lengths)
    assert model.training

"""The decoder: one step after another, or all steps of a known target at once."""

import numpy as np
import pytest
import torch

from seqattn import AdditiveScore, BahdanauAttention, HardAttention
from seqattn.models import AttentionDecoder
from seqattn.precision import autocast
from tests.models import oracles
from tests.models.families import (
    ATTENDING,
    BATCH,
    D_EMBED,
    D_ENCODER,
    D_HIDDEN,
    PLAIN,
    STEPS,
    TARGET_VOCAB,
    Family,
    bahdanau,
    batch,
    every_attending_order,
    every_family,
    every_order,
    general,
)


def run_by_steps(model, source, lengths, inputs):
    state, memory = model.begin(source, lengths)
    steps = []
    for tokens in inputs.unbind(1):
        steps.append(model.step(tokens, state, memory))
        state = steps[-1].state
    logits = torch.stack([step.logits for step in steps], 1)
    if steps[0].weights is None:
        return logits, None
    return logits, torch.stack([step.weights for step in steps], 1)


@every_family
def test_step_by_step_equals_all_steps(family):
    model = family.build()
    source, lengths, inputs = batch()
    torch.testing.assert_close(
        run_by_steps(model, source, lengths, inputs),
        tuple(model(source, lengths, inputs)),
        atol=1e-10,
        rtol=1e-10,
    )


@pytest.mark.parametrize(
    ("style", "attention"),
    [("bahdanau", bahdanau), ("luong", general), ("fixed", None)],
    ids=["bahdanau", "luong", "fixed"],
)
def test_logits_and_weights_are_the_equations(style, attention):
    options = {} if style == "fixed" else {"style": style}
    model = Family(style, attention, options).build()
    weights = {name: p.detach().numpy() for name, p in model.named_parameters()}
    source, lengths, inputs = batch()
    output = model(source, lengths, inputs)
    for row, length in enumerate(lengths.tolist()):
        states, summary = oracles.encode(source[row, :length].numpy(), weights)
        logits, maps = oracles.decode(style, inputs[row].numpy(), states, summary, weights)
        np.testing.assert_allclose(output.logits[row].detach().numpy(), logits, atol=1e-12)
        if output.weights is not None:
            found = output.weights[row].detach().numpy()
            np.testing.assert_allclose(found[:, :length], maps, atol=1e-12)
            assert not found[:, length:].any()


@every_attending_order
def test_row_t_belongs_to_the_token_of_step_t(family):
    # No empty first row, and as many rows as inputs.
    source, lengths, inputs = batch()
    weights = family.build()(source, lengths, inputs).weights
    assert weights.shape == (BATCH, STEPS, source.shape[1])
    torch.testing.assert_close(weights.sum(-1), torch.ones(BATCH, STEPS).double())


@pytest.mark.parametrize("style", ["bahdanau", "luong"])
@pytest.mark.parametrize("score", [bahdanau, general], ids=["additive", "general"])
@pytest.mark.parametrize("input_feeding", [True, False])
@torch.no_grad()
def test_the_last_token_moves_luongs_row_and_not_bahdanaus(style, score, input_feeding):
    # Change what step t reads: Luong's query is s_t, which knows of it; Bahdanau's is s_{t-1}.
    options = {"style": style, "input_feeding": input_feeding}
    model = Family(style, score, options).build()
    source, lengths, inputs = batch()
    t = 2
    changed = inputs.clone()
    changed[:, t] = (changed[:, t] - 3) % (TARGET_VOCAB - 4) + 4
    before, after = (model(source, lengths, x) for x in (inputs, changed))
    moved = (after.weights - before.weights).abs().amax((0, 2))
    assert bool((moved[:t] == 0).all())
    assert (float(moved[t]) > 1e-6) == (style == "luong")
    assert bool((moved[t + 1 :] > 1e-6).all())
    shifted = (after.logits - before.logits).abs().amax((0, 2))
    assert bool((shifted[:t] == 0).all())
    assert bool((shifted[t:] > 1e-6).all())


def test_input_feeding_passes_the_readout_on():
    # The same weights, once with last step's readout and once with none.
    model = Family("luong", general, {"style": "luong"}).build()
    source, lengths, inputs = batch()
    state, memory = model.begin(source, lengths)
    assert bool((state.fed == 0).all())
    state = model.step(inputs[:, 0], state, memory).state
    fed = model.step(inputs[:, 1], state, memory)
    starved = model.step(inputs[:, 1], state._replace(fed=torch.zeros_like(state.fed)), memory)
    assert not torch.allclose(fed.logits, starved.logits)
    logits = model.decoder.vocabulary(fed.state.fed)
    torch.testing.assert_close(logits, fed.logits)


def test_a_fixed_vector_enters_every_step_or_the_first_state_alone():
    source, lengths, inputs = batch()
    for family in PLAIN:
        if family.attention is not None:
            continue
        model = family.build()
        encoded = model.encoder(source, lengths)
        logits, weights = model.decoder(inputs, encoded)
        assert weights is None
        assert model.decoder.remember(encoded) is None
        # Given the first state, does the summary still matter?
        state = model.decoder.start(encoded)
        fed = family.options.get("feed_summary", True)
        assert (state.fixed is not None) == fed
        if fed:
            other = state._replace(fixed=state.fixed + 1)
            step = model.step(inputs[:, 0], other, None)
            assert not torch.allclose(step.logits, logits[:, 0])


@every_order
def test_a_step_changes_no_state_in_place(family):
    model = family.build()
    source, lengths, inputs = batch()
    state, memory = model.begin(source, lengths)
    first = model.step(inputs[:, 0], state, memory)
    model.step(inputs[:, 1], state, memory)
    again = model.step(inputs[:, 0], state, memory)
    assert torch.equal(first.logits, again.logits)


@every_order
def test_dropout_is_drawn_in_training_only(family):
    model = family.build(dropout=0.5)
    source, lengths, inputs = batch()
    encoded = model.encoder.eval()(source, lengths)
    runs = [model.decoder(inputs, encoded)[0] for _ in range(2)]
    assert not torch.equal(*runs)
    model.eval()
    runs = [model.decoder(inputs, encoded)[0] for _ in range(2)]
    assert torch.equal(*runs)


@every_order
def test_dropout_stands_before_the_vocabulary_product(family):
    model = family.build(dropout=0.5)
    source, lengths, inputs = batch()
    read = []
    model.decoder.vocabulary.register_forward_hook(lambda _, args, __: read.append(args[0]))
    model(source, lengths, inputs)
    state, memory = model.begin(source, lengths)
    model.step(inputs[:, 0], state, memory)
    for features in read:
        assert 0.1 < (features == 0).double().mean().item() < 0.9


@every_order
def test_keys_are_projected_once_for_a_whole_sentence(family):
    model = family.build()
    if family.attention is None:
        return
    calls = []
    project = model.decoder.attention.score.project_keys
    model.decoder.attention.score.project_keys = lambda keys: calls.append(1) or project(keys)
    model(*batch())
    assert len(calls) == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"style": "Luong"}, "style is 'Luong'; expected 'bahdanau' or 'luong'"),
        ({"cell": "rnn"}, "cell is 'rnn'; expected 'gru' or 'lstm'"),
        ({"readout": "softmax"}, "readout is 'softmax'; expected 'linear', 'tanh' or 'maxout'"),
        ({"d_readout": 0}, "d_readout is 0; expected at least 1"),
    ],
)
def test_unknown_options_are_refused(options, message, unchecked):
    attention = BahdanauAttention(D_HIDDEN, D_ENCODER, 5)
    with pytest.raises(ValueError, match=message):
        AttentionDecoder(TARGET_VOCAB, D_EMBED, D_HIDDEN, D_ENCODER, attention, **options)


@pytest.mark.parametrize("gradient", ["none", "straight-through"])
def test_a_choice_that_trains_no_score_is_told_of(gradient, caplog):
    hard = HardAttention(AdditiveScore(D_HIDDEN, D_ENCODER, 5), gradient=gradient)
    AttentionDecoder(TARGET_VOCAB, D_EMBED, D_HIDDEN, D_ENCODER, hard)
    said = "HardAttention(gradient='none') passes no gradient to its score, and a decoder hands on"
    assert (said in caplog.text) is (gradient == "none")


def test_what_is_no_mechanism_is_refused(unchecked):
    with pytest.raises(TypeError, match="attention is 'bahdanau'; expected a mechanism, such as"):
        AttentionDecoder(TARGET_VOCAB, D_EMBED, D_HIDDEN, D_ENCODER, "bahdanau")


@pytest.mark.parametrize("family", ATTENDING, ids=lambda family: family.name)
def test_in_half_precision_what_is_remembered_is_cast_once(family):
    model = family.build(torch.float32)
    source, lengths, _ = batch()
    plain = model.begin(source, lengths)[1]
    with autocast(torch.device("cpu"), bf16=True):
        half = model.begin(source, lengths)[1]
    assert (plain.keys.dtype, plain.values.dtype) == (torch.float32, torch.float32)
    assert (half.keys.dtype, half.values.dtype) == (torch.bfloat16, torch.bfloat16)

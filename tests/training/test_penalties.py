"""What is asked of attention: the terms themselves, and that training minimises them."""

import pytest
import torch

from seqattn import coverage_loss, padding_mask
from seqattn.data import Batch, Batches, Example
from seqattn.models import ModelConfig, build_model
from seqattn.training import TrainingConfig, fit
from seqattn.training.losses import attention_penalty
from seqattn.training.regularizers import doubly_stochastic_penalty, entropy_penalty
from seqattn.training.step import make_optimizer, update

SMALL = ModelConfig(d_embed=8, d_hidden=12, dropout=0.0)


def a_batch():
    """Five sentences of one to seven words, to be said in other words of other numbers."""
    generator = torch.Generator().manual_seed(0)
    lengths = torch.tensor([7, 3, 5, 2, 6])
    source = torch.randint(4, 300, (5, 7), generator=generator)
    source = source.masked_fill(~padding_mask(lengths), 0)
    targets = torch.randint(4, 300, (5, 8), generator=generator)
    targets = targets.masked_fill(~padding_mask(torch.tensor([8, 4, 4, 3, 6])), 0)
    inputs = torch.cat([torch.ones(5, 1, dtype=torch.long), targets[:, :-1]], 1)
    return Batch(source, lengths, inputs, targets, list(range(5)))


def test_the_terms_are_weighed_and_added():
    batch = a_batch()
    weights = torch.rand(*batch.targets.shape, batch.source.shape[1]).softmax(-1)
    config = TrainingConfig(steps=1, doubly_stochastic_penalty=0.3, coverage_loss=0.7)
    written, read = batch.targets != 0, padding_mask(batch.lengths, batch.source.shape[1])
    expected = 0.3 * doubly_stochastic_penalty(weights, written, read)
    expected = expected + 0.7 * coverage_loss(weights, None, written)
    torch.testing.assert_close(attention_penalty(config)(weights, batch), expected)


@pytest.mark.parametrize("name", ["doubly_stochastic_penalty", "coverage_loss"])
def test_training_with_a_penalty_lowers_it(name, unchecked):
    batch = a_batch()
    asked = attention_penalty(TrainingConfig(steps=1, **{name: 1.0}))
    left = {}
    for penalty in (None, asked):
        torch.manual_seed(0)
        model = build_model(SMALL, 300, 300)
        optimizer = make_optimizer(model)
        for _ in range(30):
            update(model, optimizer, batch, lr=1e-2, penalty=penalty)
        with torch.no_grad():
            weights = model(batch.source, batch.lengths, batch.inputs).weights
        left[penalty is None] = float(asked(weights, batch))
    assert left[False] < 0.9 * left[True]


def test_the_loss_told_is_that_of_the_words():
    batch = a_batch()
    told = []
    for penalty in (
        None,
        attention_penalty(TrainingConfig(steps=1, doubly_stochastic_penalty=5.0)),
    ):
        torch.manual_seed(0)
        model = build_model(SMALL, 300, 300)
        told.append(update(model, make_optimizer(model), batch, lr=1e-3, penalty=penalty))
    assert told[0].loss.total == told[1].loss.total
    assert told[0].norm != told[1].norm


def test_several_batches_weigh_as_their_tokens_do():
    batch = a_batch()
    penalty = attention_penalty(TrainingConfig(steps=1, doubly_stochastic_penalty=2.0))
    norms = []
    for given in (batch, [batch, batch]):
        torch.manual_seed(0)
        model = build_model(SMALL, 300, 300).double()
        norms.append(update(model, make_optimizer(model), given, lr=1e-3, penalty=penalty).norm)
    torch.testing.assert_close(norms[0], norms[1])


@pytest.mark.parametrize("term", ["doubly_stochastic_penalty", "coverage_loss"])
def test_half_precision_weights_are_summed_in_full(term):
    penalty = attention_penalty(TrainingConfig(steps=1, **{term: 1.0}))
    torch.manual_seed(0)
    weights = torch.rand(2, 300, 2).softmax(-1).bfloat16()
    source = torch.full((2, 2), 5)
    targets = torch.full((2, 300), 5)
    batch = Batch(source, torch.tensor([2, 2]), targets, targets, [0, 1])
    found = penalty(weights, batch)
    assert found.dtype == torch.float32
    torch.testing.assert_close(found, penalty(weights.double(), batch).float(), rtol=1e-4, atol=0)


def test_without_attention_there_is_nothing_to_ask():
    penalty = attention_penalty(TrainingConfig(steps=1, coverage_loss=1.0))
    with pytest.raises(ValueError, match="need attention, and the model has none"):
        penalty(None, a_batch())


def test_a_negative_weight_is_refused():
    with pytest.raises(ValueError, match=r"coverage_loss is -0.1; expected a number, 0 or more"):
        TrainingConfig(steps=1, coverage_loss=-0.1)


def test_fit_takes_a_penalty_and_tells_the_loss_of_the_words():
    examples = [Example([5, 6, 7, 2], [7, 8, 2]), Example([9, 5, 2], [10, 2])]
    left, told = {}, {}
    for factor in (0.0, 2.0):
        torch.manual_seed(0)
        model = build_model(SMALL, 300, 300)

        def penalty(weights, batch, factor=factor):
            read = padding_mask(batch.lengths, batch.source.shape[1])
            return factor * entropy_penalty(weights, batch.targets != 0, read)

        batches = Batches(examples, tokens=64)
        history = fit(model, batches, steps=40, lr=0.01, warmup=1, penalty=penalty)
        [batch] = batches.epoch(0)
        with torch.no_grad():
            weights = model(batch.source, batch.lengths, batch.inputs).weights
            left[factor] = float(penalty(weights, batch, 1.0))
        told[factor] = history.losses[0]
    assert told[0.0] == told[2.0]
    assert left[2.0] < 0.8 * left[0.0]

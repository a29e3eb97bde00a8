"""Sampling draws from the distribution that it says."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from seqattn.decoding import greedy, sample, truncate
from tests.decoding.stub import EOS, LETTERS, TableModel, sentences, sources

MANY = 4000
# Multiples of 1/64: numbers that differ by less than a rounding of their softmax are equals to it.
logits = st.lists(st.integers(-320, 320).map(lambda n: n / 64), min_size=1, max_size=9)


def first_tokens(seed=0, **options):
    """Frequencies of eos and the two letters as a first token."""
    generator = torch.Generator().manual_seed(seed)
    found = sample(TableModel(3), *sources(*[8] * MANY), max_len=1, generator=generator, **options)
    return np.bincount(found.tokens[:, 0].tolist(), minlength=5)[2:] / MANY


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
def test_frequencies_are_the_tempered_probabilities(temperature):
    expected = np.exp(TableModel(3).log_probabilities(8, ()) / temperature)[2:]
    expected /= expected.sum()
    np.testing.assert_allclose(first_tokens(temperature=temperature), expected, atol=0.03)


def test_the_same_generator_draws_the_same_sentences():
    def draw(seed):
        generator = torch.Generator().manual_seed(seed)
        return sample(TableModel(), *sources(*range(20)), max_len=6, generator=generator).tokens

    assert torch.equal(draw(1), draw(1))
    assert draw(1).tolist() != draw(2).tolist()


@pytest.mark.parametrize(
    "options",
    [
        {"top_k": 1},
        {"top_p": 1e-6},
        {"temperature": 1e-6},
        {"temperature": 1e-39},
        {"temperature": 1e-320},
    ],
)
def test_sampling_narrows_to_greedy_search(options):
    class Single(TableModel):  # whose logits a small temperature would make infinite
        def step(self, tokens, state, memory):
            step = super().step(tokens, state, memory)
            return step._replace(logits=step.logits.float())

    found = sample(Single(), *sources(*range(9)), max_len=6, **options)
    for a, b in zip(found, greedy(Single(), *sources(*range(9)), max_len=6)):
        torch.testing.assert_close(a, b)


def test_scores_are_the_models_own_whatever_the_temperature():
    model, ids = TableModel(), range(9)
    found = sample(model, *sources(*ids), max_len=6, temperature=3.0, top_k=2)
    expected = [model.score(i, s) for i, s in zip(ids, sentences(found))]
    np.testing.assert_allclose(found.scores, expected, atol=1e-10)


def test_the_model_is_neither_tempered_nor_cut_off_before_a_hundred_tokens_unless_told_otherwise():
    class Endless(TableModel):
        def rows(self, name, source, code):
            return {"scores": np.array([0.0, 0, -99, 2, 0]), "weights": np.ones(7)}[name]

    def draw(**options):
        return sample(Endless(), *sources(4), generator=torch.Generator().manual_seed(0), **options)

    assert draw().lengths.tolist() == [100]
    assert torch.equal(draw().tokens, draw(temperature=1.0).tokens)
    assert not torch.equal(draw().tokens, draw(temperature=2.0).tokens)


def test_sampled_sentences_end():
    found = sample(TableModel(), *sources(*range(50)), max_len=8)
    for row, length in zip(found.tokens.tolist(), found.lengths.tolist()):
        assert set(row[: length - 1]) <= set(LETTERS)
        assert row[length - 1] == EOS or length == 8
        assert set(row[length:]) <= {0}


@given(logits, st.integers(1, 10))
def test_top_k_keeps_the_k_likeliest_and_their_equals(values, k):
    kept = truncate(torch.tensor([values]).double(), top_k=k)[0].isfinite().tolist()
    last = sorted(values, reverse=True)[min(k, len(values)) - 1]
    assert kept == [v >= last for v in values]


@given(logits, st.floats(0.01, 1))
def test_the_nucleus_is_the_smallest_set_that_holds_p(values, p):
    kept = truncate(torch.tensor([values]).double(), top_p=p)[0].isfinite().numpy()
    chances = np.exp(values) / np.exp(values).sum()
    assert kept.any()
    assert chances[kept].sum() >= p - 1e-9
    # Without its least likely member it would hold less.
    assert chances[kept].sum() - chances[kept].min() < p + 1e-9
    if not kept.all():
        assert chances[kept].min() >= chances[~kept].max()


def test_the_nucleus_is_full_as_soon_as_it_holds_exactly_p():
    assert truncate(torch.zeros(1, 4), top_p=0.5).isfinite().sum() == 2


def test_a_nucleus_of_one_is_everything():
    assert truncate(torch.tensor([[3.0, 1.0, 0.0]]), top_p=1.0).isfinite().all()
    assert truncate(torch.tensor([[0.0, 0.0, -20.0]]), top_p=1.0).isfinite().all()


def test_the_nucleus_is_taken_among_the_top_k():
    probabilities = torch.tensor([[0.4, 0.3, 0.2, 0.1]]).log()
    # Alone, 0.4 + 0.3 reach 0.5; among two, 0.4 / 0.7 does.
    kept = truncate(probabilities, top_k=2, top_p=0.5).isfinite()
    assert kept.tolist() == [[True, False, False, False]]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"temperature": 0.0},
            r"temperature is 0.0; expected a number above 0 \(at 0: greedy search\)",
        ),
        (
            {"temperature": float("inf")},
            "temperature is inf; expected a number above 0 .* and finite",
        ),
        ({"temperature": float("nan")}, "temperature is nan; expected a number above 0"),
        ({"temperature": "a"}, "temperature is 'a'; expected a number above 0"),
        ({"top_k": 0}, "top_k is 0; expected at least 1"),
        ({"top_k": 1.5}, "top_k is 1.5; expected a whole number"),
        ({"top_k": torch.tensor(True)}, r"top_k is tensor\(True\); expected a whole number"),
        ({"temperature": True}, "temperature is True; expected a number above 0"),
        ({"top_p": 0.0}, r"top_p is 0.0; expected a number above 0 and at most 1"),
        ({"top_p": 1.1}, r"top_p is 1.1; expected a number above 0 and at most 1"),
        ({"top_p": True}, r"top_p is True; expected a number above 0 and at most 1"),
        ({"top_p": "0.5"}, r"top_p is '0.5'; expected a number above 0 and at most 1"),
    ],
)
def test_impossible_options_are_refused(options, message, unchecked):
    with pytest.raises(ValueError, match=message):
        sample(TableModel(), *sources(1, 2), **options)


@pytest.mark.parametrize("shape", [(5,), (2, 3, 5)])
def test_logits_of_several_steps_are_not_truncated(shape, unchecked):
    with pytest.raises(ValueError, match=r"expected \(batch, vocabulary\), of one step"):
        truncate(torch.zeros(shape), top_k=2)


def test_a_nucleus_smaller_than_a_number_can_tell_holds_the_likeliest():
    kept = truncate(torch.tensor([[0.0, 3.0, 1.0]]), top_p=1e-60).isfinite()
    assert kept.tolist() == [[False, True, False]]
    with torch.random.fork_rng():
        found = sample(TableModel(), *sources(1, 2), top_p=1e-320)
    torch.testing.assert_close(found.tokens, greedy(TableModel(), *sources(1, 2)).tokens)


@pytest.mark.parametrize("temperature", [1e-320, 1e300])
def test_a_temperature_beyond_single_precision_draws_all_the_same(temperature):
    model = TableModel()
    narrow = model.step
    model.step = lambda *given: narrow(*given)._replace(logits=narrow(*given).logits.float())
    found = sample(model, *sources(1, 2), temperature=temperature, max_len=5)
    assert found.scores.isfinite().all()

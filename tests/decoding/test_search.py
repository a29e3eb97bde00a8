"""Greedy and beam search against exhaustive search and against a slow one with lists."""

import math
from functools import partial
from unittest import mock

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from seqattn import padding_mask
from seqattn.decoding import beam_search, greedy
from seqattn.decoding.topk import top_first
from seqattn.models import Step, evaluating
from seqattn.specials import BOS, PAD
from tests.decoding.stub import (
    EOS,
    KEYS,
    LETTERS,
    TableModel,
    every_sentence,
    penalised,
    sentences,
    slow_beam_search,
    sources,
)
from tests.hostile import other_words, spoil_embeddings, surround
from tests.models.families import ATTENDING, SOURCE_VOCAB, Family, batch, every_kind

IDS = (11, 5, 8, 2, 9)
seeds = st.integers(0, 10**6)
alphas = st.sampled_from([0.0, 0.6, 1.0, 2.0])


def close(a, b, tolerance=1e-10):
    np.testing.assert_allclose(a, b, atol=tolerance, rtol=0)


@settings(max_examples=20)
@given(seeds, alphas)
def test_a_beam_as_wide_as_the_language_ranks_every_sentence(seed, alpha):
    model, max_len = TableModel(seed), 3
    every = list(every_sentence(max_len))
    n_best = len(every)
    found = beam_search(
        model,
        *sources(*IDS),
        beam=len(every),  # not one place more
        max_len=max_len,
        length_penalty=alpha,
        n_best=n_best,
    )
    for place, source in enumerate(IDS):
        ranked = sorted(every, key=lambda s: -penalised(model.score(source, s), len(s), alpha))
        rows = slice(place * n_best, (place + 1) * n_best)
        assert sentences(found)[rows] == ranked
        close(found.scores[rows], [model.score(source, s) for s in ranked])


@given(seeds, alphas, st.integers(1, 5), st.integers(1, 7), st.data())
def test_beam_search_is_what_a_slow_one_finds(seed, alpha, beam, max_len, data):
    # The slow one runs to the end: stopping early loses nothing.
    n_best = data.draw(st.integers(1, beam))
    model = TableModel(seed)
    found = beam_search(
        model,
        *sources(*IDS),
        beam=beam,
        max_len=max_len,
        length_penalty=alpha,
        n_best=n_best,
    )
    for place, source in enumerate(IDS):
        expected = slow_beam_search(model, source, beam, max_len, alpha, n_best)
        rows = range(place * n_best, place * n_best + len(expected))
        assert [sentences(found)[row] for row in rows] == [s for s, _ in expected]
        close(found.scores[list(rows)], [score for _, score in expected])
        # Fewer sentences than asked for: the rest are empty, and say so.
        for row in range(rows.stop, (place + 1) * n_best):
            assert (sentences(found)[row], float(found.scores[row])) == ((), -np.inf)


@given(seeds, alphas, st.sampled_from([0.1, 0.5, 3.0]), st.integers(1, 5), st.data())
def test_a_coverage_penalty_ranks_and_stops_as_the_slow_one(seed, alpha, beta, beam, data):
    model, n_best = TableModel(seed), data.draw(st.integers(1, beam))
    source, _ = sources(*IDS)
    real = torch.tensor([KEYS, 3, 1, 5, 2])
    found = beam_search(
        model,
        source.expand(-1, KEYS),
        real,
        beam=beam,
        max_len=5,
        length_penalty=alpha,
        coverage_penalty=beta,
        n_best=n_best,
    )
    for place, (one, positions) in enumerate(zip(IDS, real.tolist())):
        expected = slow_beam_search(model, one, beam, 5, alpha, n_best, beta, positions)
        rows = range(place * n_best, place * n_best + len(expected))
        assert [sentences(found)[row] for row in rows] == [s for s, _ in expected]
        close(found.scores[list(rows)], [score for _, score in expected])  # not penalised


@pytest.mark.parametrize("seed", range(3))
def test_where_there_is_less_to_find_than_asked_for_nothing_is_made_up(seed):
    # One token: three sentences, and five places.
    found = beam_search(TableModel(seed), *sources(*IDS), beam=5, max_len=1, n_best=5)
    for place in range(len(IDS)):
        said = sentences(found)[5 * place : 5 * place + 5]
        assert sorted(said) == sorted([(), (), (EOS,), *((letter,) for letter in LETTERS)])
        assert said[3:] == [(), ()]
    assert found.weights[found.tokens == 0].sum() == 0


def test_sentences_end_after_a_hundred_tokens_unless_told_otherwise():
    class Endless(TableModel):
        def rows(self, name, source, code):
            return {"scores": np.array([0.0, 0, -99, 9, 0]), "weights": np.ones(KEYS)}[name]

    assert greedy(Endless(), *sources(4)).lengths.tolist() == [100]
    assert beam_search(Endless(), *sources(4), beam=2).lengths.tolist() == [100]


@pytest.mark.parametrize("seed", range(5))
def test_five_places_and_a_mild_length_penalty_unless_told_otherwise(seed):
    model = TableModel(seed)
    for option in ({"beam": 5}, {"length_penalty": 0.6}):
        settings = {"beam": 5, "max_len": 6, "n_best": 4} | option
        told = beam_search(model, *sources(*IDS), **settings)
        del settings[next(iter(option))]
        assert sentences(told) == sentences(beam_search(model, *sources(*IDS), **settings))


def test_a_coverage_penalty_needs_weights():
    model = TableModel(attends=False)
    with pytest.raises(ValueError, match="needs attention, and the model gives no weights"):
        beam_search(model, *sources(*IDS), coverage_penalty=0.2)


@given(seeds, alphas)
def test_a_beam_of_one_is_greedy(seed, alpha):
    model = TableModel(seed)
    narrow = beam_search(model, *sources(*IDS), beam=1, max_len=9, length_penalty=alpha)
    likeliest = greedy(model, *sources(*IDS), max_len=9)
    for a, b in zip(narrow, likeliest):
        assert torch.equal(a, b)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_beam_of_one_is_greedy_where_log_probabilities_are_rounded_to_one(dtype):
    # The next larger number is still another logit, and no longer another log-probability.
    least = torch.tensor(1.0, dtype=dtype)
    logits = torch.full((1, 2000), 1.0, dtype=dtype)
    logits[0, 9] = torch.nextafter(least, 2 * least)

    class Close(TableModel):
        def step(self, tokens, state, memory):
            return Step(logits.expand(len(tokens), -1), None, state)

    if dtype == torch.float32:
        chances = logits.log_softmax(-1)
        assert chances[0, 9] == chances[0, 8]
    for found in (
        greedy(Close(), *sources(4), max_len=3),
        beam_search(Close(), *sources(4), beam=1, max_len=3),
    ):
        assert sentences(found) == [(9, 9, 9)]


@every_kind
def test_a_beam_of_one_is_greedy_with_real_models(family):
    model, (source, lengths, _) = family.build(), batch()
    narrow = beam_search(model, source, lengths, beam=1, max_len=9)
    likeliest = greedy(model, source, lengths, max_len=9)
    for a, b in zip(narrow, likeliest):
        assert a is b is None or torch.equal(a, b)


@given(seeds)
def test_greedy_takes_the_likeliest_token(seed):
    model = TableModel(seed)
    found = greedy(model, *sources(*IDS), max_len=6)
    for place, source in enumerate(IDS):
        sentence = ()
        while len(sentence) < 6 and EOS not in sentence:
            chances = model.log_probabilities(source, sentence)
            sentence += (max((EOS, *LETTERS), key=lambda token: chances[token]),)
        assert sentences(found)[place] == sentence
        close(found.scores[place], model.score(source, sentence))


def searches():
    return [
        lambda model, *batch, **o: greedy(model, *batch, **o),
        lambda model, *batch, **o: beam_search(model, *batch, beam=3, n_best=2, **o),
    ]


every_search = pytest.mark.parametrize("search", searches(), ids=["greedy", "beam"])


@every_search
@pytest.mark.parametrize("step", [1, 3])
def test_logits_that_are_no_numbers_are_said(search, step):
    model = TableModel()
    narrow, calls = model.step, []

    def spoiled(*given):
        calls.append(given)
        found = narrow(*given)
        return found._replace(logits=found.logits * (torch.nan if len(calls) == step else 1))

    model.step = spoiled
    with pytest.raises(ValueError, match="the model gave logits that are NaN"):
        search(model, *sources(*IDS), max_len=6)


@every_search
@pytest.mark.parametrize("seed", range(5))
def test_weights_follow_the_sentence_through_the_beam(search, seed):
    model = TableModel(seed)
    found = search(model, *sources(*IDS), max_len=6)
    each = len(found.tokens) // len(IDS)
    assert found.weights.shape == (*found.tokens.shape, KEYS)
    for row, sentence in enumerate(sentences(found)):
        close(found.weights[row, : len(sentence)], model.looks(IDS[row // each], sentence))
        assert not found.weights[row, len(sentence) :].any()


@every_search
@pytest.mark.parametrize("seed", range(5))
def test_after_the_end_comes_padding_alone(search, seed):
    found = search(TableModel(seed), *sources(*IDS), max_len=8)
    assert found.tokens.shape[1] == int(found.lengths.max())
    for row, length in zip(found.tokens.tolist(), found.lengths.tolist()):
        assert set(row[: length - 1]) <= set(LETTERS)
        assert row[length - 1] == EOS or length == 8
        assert set(row[length:]) <= {0}


@every_search
@pytest.mark.parametrize("seed", range(5))
def test_a_sentence_does_not_depend_on_its_batch(search, seed):
    model = TableModel(seed)
    together = search(model, *sources(*IDS), max_len=7)
    each = len(together.tokens) // len(IDS)
    backwards = search(model, *sources(*IDS[::-1]), max_len=7)
    for place, source in enumerate(IDS):
        alone = search(model, *sources(source), max_len=7)
        here = slice(place * each, (place + 1) * each)
        there = slice((len(IDS) - 1 - place) * each, (len(IDS) - place) * each)
        assert sentences(alone) == sentences(together)[here] == sentences(backwards)[there]
        assert torch.equal(alone.scores, together.scores[here])
        assert torch.equal(alone.scores, backwards.scores[there])


@every_search
def test_each_sentence_may_have_a_limit_of_its_own(search):
    model, limits = TableModel(1), (3, 1, 6, 2, 4)
    together = search(model, *sources(*IDS), max_len=torch.tensor(limits))
    each = len(together.tokens) // len(IDS)
    for place, (source, limit) in enumerate(zip(IDS, limits)):
        alone = search(model, *sources(source), max_len=limit)
        assert sentences(alone) == sentences(together)[place * each : (place + 1) * each]


@every_search
def test_the_model_is_not_asked_about_sentences_that_have_ended(search):
    model, limits, asked = TableModel(1), torch.tensor([2, 2, 2, 6, 6]), []
    step = model.step

    def endless(last, state, memory):
        asked.append(len(last))
        logits, *rest = step(last, state, memory)
        return Step(logits.index_fill(1, torch.tensor([EOS]), -torch.inf), *rest)

    model.step = endless
    found = search(model, *sources(*IDS), max_len=limits)
    places = asked[0] // len(IDS)
    assert found.lengths.tolist() == limits.repeat_interleave(len(found.lengths) // 5).tolist()
    assert asked == [5 * places, 5 * places, *[2 * places] * 4]


@given(seeds, st.integers(1, 4))
def test_with_ties_everywhere_the_score_is_still_that_of_the_sentence(seed, beam):
    model = TableModel(seed, levels=2)
    found = beam_search(model, *sources(*IDS), beam=beam, max_len=4, length_penalty=0.0)
    again = beam_search(model, *sources(*IDS[::-1]), beam=beam, max_len=4, length_penalty=0.0)
    assert sentences(found) == sentences(again)[::-1]
    for place, source in enumerate(IDS):
        close(found.scores[place], model.score(source, sentences(found)[place]))
        if beam == 1:
            assert (
                sentences(found)[place] == sentences(greedy(model, *sources(source), max_len=4))[0]
            )


def test_among_equals_the_lowest_id_wins():
    class Undecided(TableModel):
        def rows(self, name, source, code):
            return {"scores": np.array([0.0, 0, -9, 0, 0]), "weights": np.ones(KEYS)}[name]

    for found in (
        greedy(Undecided(), *sources(*IDS), max_len=4),
        beam_search(Undecided(), *sources(*IDS), beam=3, max_len=4),
    ):
        assert set(sentences(found)) == {(3, 3, 3, 3)}


@given(
    st.lists(st.integers(-2, 2), min_size=1, max_size=12),
    st.integers(1, 13),
    st.sampled_from([2, 3, 64]),
)
def test_top_first_is_a_stable_sort_cut_off(values, k, group):
    with mock.patch("seqattn.decoding.topk.GROUP", group):
        top, index = top_first(torch.tensor([values, values[::-1]]).double(), k)
    for row, order in enumerate((values, values[::-1])):
        expected = sorted(range(len(order)), key=lambda i: -order[i])[:k]
        assert index[row].tolist() == expected
        assert top[row].tolist() == [order[i] for i in expected]


def test_search_stops_once_nothing_better_can_come():
    class Certain(TableModel):
        def rows(self, name, source, code):
            return {"scores": np.array([0.0, 0, 30, 0, 0]), "weights": np.ones(KEYS)}[name]

    model = Certain()
    beam_search(model, *sources(*IDS), beam=4, max_len=50)
    assert model.steps == 1
    # The second best is not there after one step.
    beam_search(model, *sources(*IDS), beam=4, max_len=50, n_best=2, length_penalty=0.0)
    assert model.steps == 2
    greedy(model, *sources(*IDS), max_len=50)
    assert model.steps == 1


def test_a_beginning_that_can_only_draw_level_is_given_up():
    class Level(TableModel):
        def rows(self, name, source, code):
            begins = code == 1  # even chances to end at once, or one token later for certain
            scores = [-999.0, -999, 0, 0 if begins else -999, -999]
            return {"scores": np.array(scores), "weights": np.ones(KEYS)}[name]

    model = Level()
    found = beam_search(model, *sources(4), beam=2, max_len=9, length_penalty=0.0)
    assert sentences(found) == [(EOS,)]
    assert model.steps == 1


def test_what_is_returned_is_no_wider_than_its_longest_sentence():
    class Hopeful(TableModel):
        def rows(self, name, source, code):
            # One step more may help, and does not.
            scores = [-999.0, -999, 0.4, 0, -999] if code == 1 else [-999.0, -999, 0, 0, 0]
            return {"scores": np.array(scores), "weights": np.ones(KEYS)}[name]

    model = Hopeful()
    found = beam_search(model, *sources(4), beam=2, max_len=9, length_penalty=1.0)
    assert model.steps > 1
    assert found.tokens.tolist() == [[EOS]]
    assert found.weights.shape == (1, 1, KEYS)


def test_padding_and_bos_are_never_written():
    class Tempted(TableModel):
        def rows(self, name, source, code):
            return {"scores": np.array([9.0, 9, 0, 1, 0]), "weights": np.ones(KEYS)}[name]

    model = Tempted()
    found = greedy(model, *sources(4), max_len=3)
    assert sentences(found) == [(3, 3, 3)]
    # Their share of the probability is not given to the others.
    close(found.scores, [model.score(4, (3, 3, 3))])
    found = beam_search(model, *sources(4), beam=3, max_len=3, n_best=3)
    assert {token for sentence in sentences(found) for token in sentence} <= {EOS, *LETTERS}


@every_search
def test_a_model_without_attention_has_no_weights(search):
    assert search(TableModel(attends=False), *sources(*IDS), max_len=4).weights is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"beam": 0}, "beam is 0 and n_best is 1; expected 1 <= n_best <= beam"),
        ({"beam": 2, "n_best": 3}, "beam is 2 and n_best is 3"),
        ({"n_best": 0}, "beam is 5 and n_best is 0; expected 1 <= n_best <= beam"),
        ({"beam": 1.5}, r"beam is 1.5; expected a whole number"),
        ({"beam": True}, r"beam is True; expected a whole number"),
        ({"max_len": 0}, "max_len is 0; expected at least 1"),
        ({"max_len": 1.5}, r"max_len is 1.5; expected a whole number"),
        ({"max_len": torch.tensor([2.5])}, r"max_len holds torch.float32; expected whole numbers"),
        (
            {"max_len": torch.ones(2, dtype=torch.long)},
            r"max_len has shape \(2,\); expected \(5,\), one for each sentence",
        ),
        ({"beam": torch.tensor(1.5)}, r"beam is tensor\(1.5000\); expected a whole number"),
        ({"length_penalty": math.nan}, r"length_penalty is nan; expected 0 or more, and finite"),
        ({"length_penalty": "a"}, r"length_penalty is 'a'; expected 0 or more"),
        ({"length_penalty": -0.5}, r"length_penalty is -0.5; expected 0 or more"),
        ({"coverage_penalty": -0.5}, r"coverage_penalty is -0.5; expected 0 or more"),
    ],
)
def test_impossible_options_are_refused(options, message, unchecked):
    source, _ = sources(*IDS)
    with pytest.raises(ValueError, match=message):
        beam_search(TableModel(), source.expand(-1, KEYS), torch.full((len(IDS),), KEYS), **options)


# With real models.


@every_kind
@every_search
def test_real_models_search_the_same_alone_and_in_a_batch(family, search):
    model = family.build()
    source, lengths, _ = batch()
    real = padding_mask(lengths, source.shape[1] + 3)
    padded = other_words(surround(source, 0), real, SOURCE_VOCAB)
    hook = spoil_embeddings(model.encoder.embedding, padded, real, torch.nan)
    together = search(model, padded, lengths, max_len=9)
    hook.remove()
    each = len(together.tokens) // len(source)
    for row, length in enumerate(lengths.tolist()):
        alone = search(model, source[row : row + 1, :length], lengths[row : row + 1], max_len=9)
        here = slice(row * each, (row + 1) * each)
        assert sentences(alone) == sentences(together)[here]
        torch.testing.assert_close(alone.scores, together.scores[here])


@every_kind
@every_search
def test_scores_and_weights_are_what_the_model_says_of_the_sentence(family, search):
    model = family.build()
    source, lengths, _ = batch()
    found = search(model, source, lengths, max_len=9)
    each = len(found.tokens) // len(source)
    inputs = torch.cat([torch.ones(len(found.tokens), 1, dtype=torch.long), found.tokens], 1)
    rows = torch.arange(len(source)).repeat_interleave(each)
    output = model(source[rows], lengths[rows], inputs[:, :-1])
    written = found.tokens != 0
    gained = output.logits.log_softmax(-1).gather(2, found.tokens[..., None])[..., 0]
    torch.testing.assert_close((gained * written).sum(1), found.scores)
    if found.weights is not None:
        torch.testing.assert_close(output.weights * written[..., None], found.weights)


@every_search
@pytest.mark.parametrize("training", [True, False])
def test_a_search_leaves_the_model_as_it_was(search, training):
    model = ATTENDING[0].build(dropout=0.5).train(training)
    model.encoder.eval()
    flags = [part.training for part in model.modules()]
    source, lengths, _ = batch()
    first, second = (search(model, source, lengths, max_len=6) for _ in range(2))
    assert [part.training for part in model.modules()] == flags
    assert torch.equal(first.tokens, second.tokens)  # no dropout
    assert not first.scores.requires_grad


def test_half_precision_scores_are_summed_in_full():
    model = Family("bahdanau", ATTENDING[0].attention).build(torch.bfloat16)
    source, lengths, _ = batch()
    for search in (greedy, partial(beam_search, beam=3)):
        found = search(model, source, lengths, max_len=5)
        assert found.scores.dtype == torch.float32
        with evaluating(model):
            state, memory = model.begin(source, lengths)
            last, total = torch.full_like(lengths, BOS), torch.zeros(len(source))
            for tokens in found.tokens.unbind(1):
                logits, _, state = model.step(last, state, memory)
                gained = logits.float().log_softmax(-1).gather(1, tokens[:, None])[:, 0]
                total, last = total + gained.masked_fill(tokens == PAD, 0.0), tokens
        torch.testing.assert_close(found.scores, total, atol=1e-4, rtol=0.0)


@pytest.mark.parametrize("alpha", [60.0, 400.0, 5000.0])
def test_a_length_penalty_beyond_single_precision_makes_up_no_sentence(alpha):
    # (5 + n) / 6 to the 60th leaves 32 bits at 22 tokens, and -inf / inf is no number.
    every = len(list(every_sentence(3)))
    found = beam_search(
        TableModel(3), *sources(*IDS), beam=every, max_len=3, length_penalty=alpha, n_best=every
    )
    assert found.scores.isfinite().all()
    if alpha < 100:
        ranked = (
            found.scores.view(len(IDS), every)
            / ((5 + found.lengths.view(len(IDS), every)) / 6.0).double() ** alpha
        )
        assert (ranked[:, :-1] >= ranked[:, 1:]).all()

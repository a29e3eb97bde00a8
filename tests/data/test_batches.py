"""Batches: nothing lost, little padding, the same on every run."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from seqattn.data import (
    Batches,
    CorpusConfig,
    Example,
    TextPair,
    Vocabularies,
    encode_pairs,
    read_split,
)
from seqattn.data import batches as rounding

lengths = st.lists(st.tuples(st.integers(1, 40), st.integers(1, 40)), min_size=1, max_size=120)


def examples_of(lengths):
    return [
        Example(
            [4 + (row + i) % 7 for i in range(s)] + [2], [5 + (row * i) % 9 for i in range(t)] + [2]
        )
        for row, (s, t) in enumerate(lengths)
    ]


@given(lengths, st.integers(1, 300), st.integers(0, 3))
def test_an_epoch_holds_each_example_once_as_it_was(lengths, tokens, epoch):
    examples = examples_of(lengths)
    batches = Batches(examples, tokens=tokens)
    found = list(batches.epoch(epoch))
    assert len(found) == len(batches)
    assert sorted(row for batch in found for row in batch.rows) == list(range(len(examples)))
    for batch in found:
        for i, row in enumerate(batch.rows):
            source, target = examples[row]
            assert batch.lengths[i] == len(source)
            assert batch.source[i, : len(source)].tolist() == source
            assert batch.inputs[i, : len(target)].tolist() == [1, *target[:-1]]
            assert batch.targets[i, : len(target)].tolist() == target
            assert (batch.source[i, len(source) :] == 0).all()
            assert (batch.inputs[i, len(target) :] == 0).all()
            assert (batch.targets[i, len(target) :] == 0).all()


@given(lengths, st.integers(1, 300))
def test_a_batch_holds_no_more_tokens_than_allowed_but_for_eight_rows(lengths, tokens):
    for batch in Batches(examples_of(lengths), tokens=tokens).epoch(0):
        assert batch.targets.numel() <= tokens or len(batch.rows) <= 8
        assert batch.tokens == (batch.targets != 0).sum()


@given(lengths, st.integers(1, 300), st.integers(0, 5))
def test_a_run_can_be_taken_up_at_any_batch(lengths, tokens, start):
    batches = Batches(examples_of(lengths), tokens=tokens, seed=3)
    whole = [batch.rows for batch in batches.epoch(2)]
    again = Batches(examples_of(lengths), tokens=tokens, seed=3)
    start = min(start, len(again))
    assert [batch.rows for batch in again.epoch(2, start)] == whole[start:]


def test_seed_and_epoch_change_the_order_and_nothing_else_does():
    examples = examples_of([(5, 1 + i % 9) for i in range(400)])
    torch.manual_seed(1)
    plan = Batches(examples, tokens=64, seed=1).plan(0)
    torch.manual_seed(2)
    assert Batches(examples, tokens=64, seed=1).plan(0) == plan
    assert Batches(examples, tokens=64, seed=2).plan(0) != plan
    assert Batches(examples, tokens=64, seed=1).plan(1) != plan
    shapes = [
        sorted(tuple(b.targets.shape) for b in Batches(examples, tokens=64, seed=s).epoch(e))
        for s in (1, 2)
        for e in (0, 1)
    ]
    assert all(found == shapes[0] for found in shapes)  # few plans of the matrix library


def test_sentences_of_like_length_stand_together():
    generator = torch.Generator().manual_seed(0)
    drawn = torch.randint(1, 40, (3000,), generator=generator).tolist()
    batches = Batches(examples_of([(n, n) for n in drawn]), tokens=512)
    cells = sum(batch.targets.numel() for batch in batches.epoch(0))
    assert cells < 1.02 * sum(n + 1 for n in drawn)


def test_ids_end_with_the_end_of_the_sentence():
    pairs = [TextPair("the cat", "le chat"), TextPair("a cat sat", "un chat")]
    examples = encode_pairs(pairs, Vocabularies.learn(pairs, ("en", "fr")))
    assert [len(s) for s, _ in examples] == [3, 4]
    assert all(s[-1] == t[-1] == 2 and 2 not in s[:-1] + t[:-1] for s, t in examples)


def test_with_columns_rounded_up_there_are_fewer_shapes(monkeypatch):
    pairs = read_split(CorpusConfig(pairs=2_000), "train")
    examples = encode_pairs(pairs, Vocabularies.learn(pairs, ("en", "fr")))

    def shapes():
        epoch = Batches(examples, tokens=256).epoch(0)
        return {(tuple(batch.source.shape), batch.targets.shape[1]) for batch in epoch}

    rounded = shapes()
    monkeypatch.setattr(rounding, "COLUMNS", 1)
    assert len(rounded) < 0.7 * len(shapes())


def test_moving_a_batch_keeps_everything():
    batch = next(Batches(examples_of([(3, 2)])).epoch(0))
    assert all(torch.equal(a, b) for a, b in zip(batch[:4], batch.to("cpu")[:4]))
    assert {part.device.type for part in batch.to("meta")[:4]} == {"meta"}


@pytest.mark.parametrize(
    ("examples", "tokens", "message"),
    [
        ([], 5, "no examples; expected at least 1"),
        ([Example([2], [2])], 0, "tokens is 0; expected at least 1"),
        ([Example([2], [2])], True, "tokens is True; expected a whole number"),
        ([Example([2], [2])], 16.0, "tokens is 16.0; expected a whole number"),
    ],
)
def test_no_examples_or_no_tokens_are_refused(examples, tokens, message, unchecked):
    with pytest.raises(ValueError, match=message):
        Batches(examples, tokens=tokens)


@pytest.mark.parametrize(
    ("call", "error", "said"),
    [
        (lambda b: b.take(0), TypeError, "rows are 0; expected a list of numbers of examples"),
        (lambda b: b.take([-1]), ValueError, "a row is -1; expected at least 0"),
        (lambda b: b.take([0, 3]), ValueError, "a row is 3; expected below 3"),
        (lambda b: b.take([0.0]), ValueError, "a row is 0.0; expected a whole number"),
        (lambda b: b.epoch(0, 2), ValueError, "start is 2; expected at most 1, all the batches"),
        (lambda b: b.epoch(0, -1), ValueError, "start is -1; expected at least 0"),
    ],
)
def test_rows_and_batches_that_are_not_there_are_refused(call, error, said, unchecked):
    with pytest.raises(error, match=said):
        call(Batches(examples_of([(2, 3)] * 3)))

"""The copyist, and what is one word away."""

import random

import pytest

from seqattn.data import TextPair
from seqattn.evaluation import copy_nearest, one_word_away


def pair(source, target=""):
    return TextPair(source, target)


def test_what_is_one_word_away_is_near():
    train = [pair("the cat sat"), pair("a dog ran off")]
    texts = ["the cat sat", "the dog sat", "the cat ran off", "a cat ran off", "the dog ran"]
    found = one_word_away([pair(text) for text in (*texts, "the cat", "")], train)
    assert found == [True, True, False, True, False, False, False]


def test_the_copyist_takes_the_most_alike_of_the_same_length():
    train = [pair("a cat sat", "1"), pair("a dog ran", "2"), pair("a dog ran off", "3")]
    asked = [pair(text) for text in ("the dog ran", "the dog ran on", "ran dog", "")]
    assert copy_nearest(asked, train) == ["2", "3", "2", "1"]
    with pytest.raises(ValueError, match="no training pairs; expected"):
        copy_nearest(asked, [])


def test_the_copyist_agrees_with_counting_word_by_word():
    drawn = random.Random(0)
    train, asked = (
        [pair(" ".join(drawn.choices("abcde", k=drawn.randint(1, 6))), str(n)) for n in range(size)]
        for size in (60, 40)
    )
    asked += [pair("a b c d e a b c"), pair("x y")]  # longer than all; nothing known

    def alike(one, other):
        return sum(a == b for a, b in zip(one.source.split(), other.source.split()))

    for one, copied in zip(asked, copy_nearest(asked, train), strict=True):
        length = len(one.source.split())
        as_long = [known for known in train if len(known.source.split()) == length] or train
        first = max(as_long, key=lambda known: alike(known, one))
        assert copied == first.target
        near = any(
            len(known.source.split()) == length and alike(known, one) >= length - 1
            for known in train
        )
        assert one_word_away([one], train) == [near]

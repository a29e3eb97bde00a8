"""A model small enough to search exhaustively: its scores depend on all that was written."""

from functools import cache
from itertools import product
from typing import NamedTuple

import numpy as np
import torch

from seqattn.models import Step

EOS, LETTERS = 2, (3, 4)
VOCAB = 5  # pad, bos, eos and two letters
KEYS = 7


class Written(NamedTuple):
    """What was written, as a number in base VOCAB, inside a nested state."""

    code: tuple
    nothing: None = None


@cache
def table(seed, levels, source, code):
    generator = np.random.default_rng([seed, source, code])
    scores = generator.normal(size=VOCAB) * 1.5
    if levels:  # few different values: ties everywhere
        scores = generator.integers(levels, size=VOCAB).astype(float)
    return {"scores": scores, "weights": generator.dirichlet(np.ones(KEYS))}


class TableModel:
    """Random scores for each source and each beginning, drawn anew from its number.

    ``step`` keeps no record: all that it knows comes in the state and in the memory.
    """

    def __init__(self, seed=0, levels=None, attends=True):
        self.seed, self.levels, self.attends = seed, levels, attends
        self.steps = 0

    def rows(self, name, source, code):
        """Scores and weights after one beginning; code 0 is the empty one, before <bos>."""
        return table(self.seed, self.levels, source, code)[name]

    def begin(self, source, lengths):
        self.steps = 0
        state = Written((torch.zeros(len(source), dtype=torch.long),))
        return state, source[:, 0]

    def step(self, tokens, state, memory):
        self.steps += 1
        code = state.code[0] * VOCAB + tokens
        pairs = list(zip(memory.tolist(), code.tolist()))
        logits = torch.tensor(np.array([self.rows("scores", *pair) for pair in pairs]))
        weights = torch.tensor(np.array([self.rows("weights", *pair) for pair in pairs]))
        return Step(logits, weights if self.attends else None, Written((code,)))

    # What the tests compare with: no tensors, no batches.

    def log_probabilities(self, source, sentence):
        """Log-probability of every token after a beginning, <bos> left out."""
        scores = self.rows("scores", source, code_of(sentence))
        return scores - np.log(np.exp(scores).sum())

    def score(self, source, sentence):
        return sum(
            self.log_probabilities(source, sentence[:n])[token] for n, token in enumerate(sentence)
        )

    def looks(self, source, sentence):
        """Weights of each step of a sentence."""
        return [self.rows("weights", source, code_of(sentence[:n])) for n in range(len(sentence))]


def code_of(sentence):
    code = 1  # <bos>
    for token in sentence:
        code = code * VOCAB + token
    return code


def every_sentence(max_len):
    """All that can be written: ended by <eos>, or cut off."""
    for n in range(max_len):
        for letters in product(LETTERS, repeat=n):
            yield (*letters, EOS)
    yield from product(LETTERS, repeat=max_len)


def penalised(score, length, alpha):
    return score / ((5 + length) / 6) ** alpha


def uncovered(model, source, sentence, beta, real):
    """The coverage penalty, summand by summand, over the real source positions."""
    seen = sum(model.looks(source, sentence))[:real]
    return beta * sum(np.log(min(max(total, 1e-4), 1.0)) for total in seen)


def slow_beam_search(model, source, beam, max_len, alpha, n_best, beta=0.0, real=KEYS):
    """Beam search with lists and without early stop: a beam that narrows as sentences end."""
    open_, ended = [((), 0.0)], []
    for n in range(1, max_len + 1):
        longer = [
            ((*sentence, token), score + model.log_probabilities(source, sentence)[token])
            for sentence, score in open_
            for token in (EOS, *LETTERS)
        ]
        longer.sort(key=lambda pair: -pair[1])
        chosen = longer[: beam - len(ended)]
        ended += [pair for pair in chosen if pair[0][-1] == EOS or n == max_len]
        open_ = [pair for pair in chosen if pair[0][-1] != EOS]
    ended.sort(
        key=lambda pair: (
            -penalised(pair[1], len(pair[0]), alpha) - uncovered(model, source, pair[0], beta, real)
        )
    )
    return ended[:n_best]


def sources(*ids):
    """A batch of one-word sources."""
    source = torch.tensor(ids)[:, None]
    return source, torch.ones(len(ids), dtype=torch.long)


def sentences(hypotheses):
    """The tokens as tuples, without padding."""
    return [
        tuple(row[:length])
        for row, length in zip(hypotheses.tokens.tolist(), hypotheses.lengths.tolist())
    ]

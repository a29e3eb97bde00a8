"""Counts of sentences and their draws, against sacrebleu and loops."""

import itertools
import math

import numpy as np
import pytest
import sacrebleu
import torch

from seqattn.data import measured
from seqattn.metrics import (
    bleu_from_counts,
    bootstrap_bleu,
    corpus_bleu,
    paired_bootstrap,
    sentence_counts,
)

WORDS = ["le", "la", "chat", "Le", "dort", "l'eau", "sur", "5,5", "noir.", "?"]


def corpora(seed, sentences=12):
    dice = np.random.default_rng(seed)

    def text():
        return " ".join(dice.choice(WORDS, size=dice.integers(0, 9)))

    return [text() for _ in range(sentences)], [f"{text()} chat" for _ in range(sentences)]


@pytest.mark.parametrize("tokenize", ["13a", "intl", "char", "none"])
@pytest.mark.parametrize("lowercase", [False, True])
def test_summed_counts_give_the_score_of_the_corpus(tokenize, lowercase):
    for seed in range(8):
        options = {"tokenize": tokenize, "lowercase": lowercase}
        hypotheses, references = corpora(seed, 1 + seed)
        counts = sentence_counts(hypotheses, references, **options)
        wanted = corpus_bleu(hypotheses, references, **options).score
        assert bleu_from_counts(counts.sum(0)).item() == pytest.approx(wanted, abs=1e-9)


@pytest.mark.parametrize(
    ("counts", "wanted"),
    [
        ([0, 5, 0, 0, 0, 0, 0, 0, 0, 0], 0.0),
        ([4, 4, 0, 0, 0, 0, 4, 3, 2, 1], 0.0),
        ([3, 3, 3, 2, 1, 0, 3, 2, 1, 0], 0.0),
        ([5, 5, 5, 3, 0, 0, 5, 4, 3, 2], 100 * (3 / 4 / 6 / 8) ** 0.25),
        ([4, 7, 4, 3, 2, 1, 4, 3, 2, 1], 100 * math.exp(1 - 7 / 4)),
        ([8, 7, 7, 6, 5, 4, 8, 7, 6, 5], 100 * (7 / 8 * 6 / 7 * 5 / 6 * 4 / 5) ** 0.25),
    ],
)
def test_bleu_of_counts_by_hand_and_by_sacrebleu(counts, wanted):
    assert bleu_from_counts(torch.tensor(counts)).item() == pytest.approx(wanted)
    theirs = sacrebleu.BLEU.compute_bleu(
        counts[2:6], counts[6:], counts[0], counts[1], smooth_method="exp"
    )
    assert theirs.score == pytest.approx(wanted)


def test_draws_are_scored_as_corpora_of_the_drawn_sentences():
    hypotheses, references = corpora(3)
    counts = sentence_counts(hypotheses, references)
    chosen = torch.randint(12, (7, 12), generator=torch.Generator().manual_seed(5)).tolist()
    wanted = [
        corpus_bleu([hypotheses[i] for i in row], [references[i] for i in row]).score
        for row in chosen
    ]
    assert bootstrap_bleu(counts, draws=7, seed=5).tolist() == pytest.approx(wanted)


def test_the_paired_bootstrap_is_the_loop():
    a, references = corpora(1, 30)
    b, _ = corpora(2, 30)
    b[:20] = references[:20]
    first, second = sentence_counts(a, references), sentence_counts(b, references)
    found = paired_bootstrap(first, second, draws=200, seed=3)
    drawn = [
        (two - one).item()
        for one, two in zip(
            bootstrap_bleu(first, draws=200, seed=3),
            bootstrap_bleu(second, draws=200, seed=3),
            strict=True,
        )
    ]
    d = corpus_bleu(b, references).score - corpus_bleu(a, references).score
    assert found.difference == pytest.approx(d)
    assert (found.low, found.high) == pytest.approx(tuple(np.percentile(drawn, [2.5, 97.5])))
    assert found.p == (1 + sum(abs(x - d) >= abs(d) for x in drawn)) / 201
    other = paired_bootstrap(second, first, draws=200, seed=3)
    assert (other.difference, other.p) == pytest.approx((-d, found.p))


@pytest.mark.slow
def test_p_is_about_twice_that_of_sacrebleu_where_it_is_small():
    from sacrebleu.significance import PairedTest

    stored = measured("seeds")
    texts, references = stored["texts"]["whole"], stored["references"]
    counts = [sentence_counts(written, references) for written in texts]
    small = []
    for i, j in itertools.combinations(range(5), 2):
        p = paired_bootstrap(counts[i], counts[j], draws=2000).p
        if p < 0.3:
            metric = {"BLEU": sacrebleu.BLEU(references=[references])}
            pair = [("a", texts[i]), ("b", texts[j])]
            _, found = PairedTest(pair, metric, None, test_type="bs", n_samples=2000)()
            small.append((p, found["BLEU"][1].p_value))
    assert len(small) > 1
    for ours, theirs in small:
        assert ours == pytest.approx(2 * theirs, abs=0.03)


def test_refusals():
    counts = sentence_counts(["a b"], ["a b"])
    with pytest.raises(TypeError, match="got one string"):
        sentence_counts("a b", ["a b"])
    with pytest.raises(ValueError, match="1 hypotheses and 2 references"):
        sentence_counts(["a"], ["a", "b"])
    with pytest.raises(ValueError, match=r"expected 10 numbers"):
        bleu_from_counts(torch.zeros(3, 9))
    with pytest.raises(ValueError, match="0 draws of 1 sentences"):
        bootstrap_bleu(counts, draws=0)
    with pytest.raises(ValueError, match="same sentences"):
        paired_bootstrap(counts, counts.expand(2, 10))

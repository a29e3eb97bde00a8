"""IBM Model 1 through NLTK: equal to its formulas both ways, and judged as attention is."""

from collections import defaultdict

import pytest

from seqattn import alignment_error_rate
from seqattn.data import TextPair, tokenize, toy_corpus
from seqattn.evaluation import ibm1_error_rates, ibm1_links
from seqattn.metrics.symmetrization import METHODS, symmetrize


def no_word_twice(pairs):
    """NLTK halves the counts of a word that a sentence has twice; the formula does not."""
    sides = [(tokenize(p.source, "en"), tokenize(p.target, "fr")) for p in pairs]
    return [
        pair for pair, (s, t) in zip(pairs, sides) if len({*s}) == len(s) and len({*t}) == len(t)
    ]


@pytest.fixture(scope="module")
def corpus():
    drawn = toy_corpus(400, seed=3)
    return no_word_twice(drawn["train"])[:150], no_word_twice(drawn["test"])[:40]


def em(sentences, iterations):
    """Brown et al. (1993), section 4.1, word by word: t[y][x] is the probability of y, given x."""
    heard = {y for _, ys in sentences for y in ys}
    t = defaultdict(lambda: defaultdict(lambda: 1 / len(heard)))
    for _ in range(iterations):
        counts, totals = defaultdict(lambda: defaultdict(float)), defaultdict(float)
        for xs, ys in sentences:
            for y in ys:
                whole = sum(t[y][x] for x in [None, *xs])
                for x in [None, *xs]:
                    counts[y][x] += t[y][x] / whole
                    totals[x] += t[y][x] / whole
        for y in counts:
            for x in counts[y]:
                t[y][x] = counts[y][x] / totals[x]
    return t


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("iterations", [1, 4])
def test_links_are_those_of_the_formula(corpus, reverse, iterations):
    train, test = corpus

    def read(pairs):
        sides = [(tokenize(p.source, "en"), tokenize(p.target, "fr")) for p in pairs]
        return [(t, s) for s, t in sides] if reverse else sides

    t = em(read(train), iterations)
    found = ibm1_links(train, test, iterations=iterations, reverse=reverse)
    compared = 0
    for (xs, ys), links in zip(read(test), found, strict=True):
        chosen = {j: i for i, j in ({(j, i) for i, j in links} if reverse else links)}
        assert len(chosen) == len(links)  # one for each word that is generated
        for j, y in enumerate(ys):
            if y not in t:
                continue  # a word never met: any link is as good
            shares = [max(t[y][x], 1e-12) for x in [None, *xs]]
            picked = shares[chosen[j] + 1 if j in chosen else 0]
            assert picked == pytest.approx(max(shares), rel=1e-9)
            compared += 1
    assert compared > 200


def test_error_rates_are_of_the_links_on_gold_and_of_the_first_training_pairs(corpus):
    train, test = corpus
    rates = ibm1_error_rates(train, test, iterations=3, most=90)
    assert tuple(rates) == METHODS
    both = [ibm1_links(train[:90], test, iterations=3, reverse=r) for r in (False, True)]
    gold = [pair.links for pair in test]
    for method, rate in rates.items():
        links = [symmetrize(f, b, method) for f, b in zip(*both, strict=True)]
        assert rate == alignment_error_rate(links, gold, gold)
    assert ibm1_error_rates(train, test, iterations=3, most=None) != rates


def test_more_data_and_both_directions_make_fewer_errors(corpus):
    train, test = corpus
    few, many = (ibm1_error_rates(train[:n], test) for n in (20, 150))
    assert many["target"] < few["target"] - 0.02
    assert many["grow-diag"] < min(many["target"], many["source"])


def test_what_cannot_be_trained_or_judged_is_refused(corpus, monkeypatch):
    train, test = corpus
    with pytest.raises(ValueError, match="no sentence pairs to train IBM Model 1 on"):
        ibm1_links([], test)
    with pytest.raises(ValueError, match="1 of 2 test pairs have gold links; expected all"):
        ibm1_error_rates(train, [test[0], TextPair("a cat", "un chat")])
    with pytest.raises(ValueError, match="0 of 0 test pairs"):
        ibm1_error_rates(train, [])
    for options, message in (
        ({"languages": "en"}, "languages are 'en'; expected two, of source and target"),
        ({"iterations": 0}, "iterations is 0; expected at least 1"),
        ({"iterations": 1.5}, "iterations is 1.5; expected a whole number"),
        ({"most": 0}, "most is 0; expected at least 1"),
        ({"most": -1}, "most is -1; expected at least 1"),
    ):
        with pytest.raises(ValueError, match=message):
            ibm1_error_rates(train, test, **options)
    monkeypatch.setitem(__import__("sys").modules, "nltk.translate", None)
    with pytest.raises(ImportError, match=r'IBM Model 1 needs nltk: pip install "seqattn\[nmt\]"'):
        ibm1_links(train, test)

"""Alignment error rate, BLEU and chrF, all at corpus level."""

import math
import sys

import pytest
import sacrebleu
import torch
from hypothesis import given
from hypothesis import strategies as st

from seqattn import alignment_error_rate
from seqattn.metrics import (
    alignment_precision_recall,
    corpus_bleu,
    corpus_chrf,
    roc_area,
    symmetrize,
    tokenized_bleu,
)
from tests import oracles

links = st.sets(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=6)
corpora = st.lists(st.tuples(links, links, links), min_size=1, max_size=4)


@given(corpora)
def test_error_rate_counts_over_the_corpus(corpus):
    predicted, sure, possible = map(list, zip(*corpus, strict=True))
    if any(predicted) or any(sure):
        expected = oracles.alignment_error_rate(predicted, sure, possible)
        assert alignment_error_rate(predicted, sure, possible) == pytest.approx(expected, abs=1e-15)
        assert -1e-15 <= expected <= 1
    else:
        with pytest.raises(ValueError, match="no predicted and no sure link"):
            alignment_error_rate(predicted, sure, possible)


def test_error_rate_by_hand():
    # Och and Ney's definition: 1 - (1 + 2) / (3 + 1).
    assert alignment_error_rate([{(0, 0), (1, 2), (2, 1)}], [{(0, 0)}], [{(1, 2)}]) == 0.25


def test_no_error_where_all_sure_and_only_possible_links_are_predicted():
    sure, possible = [{(0, 0)}], [{(0, 0), (1, 1), (2, 2)}]
    assert alignment_error_rate([{(0, 0)}], sure, possible) == 0
    assert alignment_error_rate([{(0, 0), (1, 1)}], sure, possible) == 0
    assert alignment_error_rate([{(1, 0)}], sure, possible) == 1


@given(corpora)
def test_a_sure_link_is_possible_whether_or_not_the_file_says_so(corpus):
    predicted, sure, possible = map(list, zip(*corpus, strict=True))
    predicted[0] = {(9, 9)}
    union = [s | p for s, p in zip(sure, possible, strict=True)]
    rest = [p - s for s, p in zip(sure, possible, strict=True)]
    rates = {alignment_error_rate(predicted, sure, p) for p in (possible, union, rest)}
    assert len(rates) == 1


def test_links_may_come_as_lists_and_duplicates_count_once():
    as_lists = alignment_error_rate([[(0, 0), (0, 0), (1, 0)]], [[(0, 0), (0, 0)]], [[]])
    assert as_lists == alignment_error_rate([{(0, 0), (1, 0)}], [{(0, 0)}], [set()])


def test_the_corpus_rate_is_not_the_mean_of_sentence_rates():
    predicted = [{(0, 0)}, {(i, i + 1) for i in range(9)}]
    sure = [{(0, 0)}, {(i, i) for i in range(9)}]
    corpus = alignment_error_rate(predicted, sure, sure)
    sentences = [alignment_error_rate([a], [s], [s]) for a, s in zip(predicted, sure, strict=True)]
    assert corpus == pytest.approx(0.9)
    assert sum(sentences) / 2 == pytest.approx(0.5)


def test_precision_and_recall():
    predicted = [{(0, 0), (1, 2), (2, 1)}, {(3, 3)}]
    sure, possible = [{(0, 0), (1, 1)}, {(3, 3)}], [{(1, 2)}, set()]
    quality = alignment_precision_recall(predicted, sure, possible)
    assert quality.precision == 3 / 4  # possible among predicted
    assert quality.recall == 2 / 3  # predicted among sure


def test_precision_of_no_prediction_and_recall_of_no_sure_link_are_undefined():
    assert math.isnan(alignment_precision_recall([set()], [{(0, 0)}], [set()]).precision)
    assert math.isnan(alignment_precision_recall([{(0, 0)}], [set()], [set()]).recall)


@pytest.mark.parametrize("measure", [alignment_error_rate, alignment_precision_recall])
def test_corpora_of_different_length_are_refused(measure):
    with pytest.raises(ValueError, match="2 sentence pairs in predicted, 1 in sure, 3 in possible"):
        measure([set()] * 2, [set()], [set()] * 3)


@pytest.mark.parametrize(
    ("links", "came"),
    [
        ([(0, 0), (1, 1)], "a link is 0"),
        (["0-0 1-1"], "a link is '0'"),
        ([torch.tensor([[0, 0]])], r"a link is tensor\(\[0, 0\]\)"),
        ([{(torch.tensor(0), torch.tensor(0))}], "a link is "),
        ([[(0, 0, 1)]], r"a link is \(0, 0, 1\)"),
        ([[(0, 0.5)]], r"a link is \(0, 0.5\)"),
    ],
    ids=["one sentence", "Pharaoh", "tensor", "of tensors", "three numbers", "no whole number"],
)
@pytest.mark.parametrize("measure", [alignment_error_rate, alignment_precision_recall])
def test_what_are_no_links_is_refused(measure, links, came, unchecked):
    with pytest.raises(TypeError, match=rf"{came}.*; expected a pair \(source, target\) of whole"):
        measure(links, links, links)
    with pytest.raises(TypeError, match=f"{came}"):
        symmetrize(links[0], links[0])


HYPOTHESES = ["The cat sat on the mat .", "a dog runs quickly", "it is RAINING today, again"]
REFERENCES = ["The cat is on the mat .", "A dog is running quickly", "it is raining again today"]


def test_bleu_is_sacrebleus():
    ours = corpus_bleu(HYPOTHESES, REFERENCES)
    theirs = sacrebleu.corpus_bleu(HYPOTHESES, [REFERENCES])
    assert ours.score == theirs.score
    assert 0 < ours.score < 100
    assert "case:mixed|eff:no|tok:13a|smooth:exp" in ours.signature


def test_bleu_options_reach_sacrebleu_and_the_signature():
    ours = corpus_bleu(HYPOTHESES, REFERENCES, lowercase=True, tokenize="char")
    theirs = sacrebleu.corpus_bleu(HYPOTHESES, [REFERENCES], lowercase=True, tokenize="char")
    assert ours.score == theirs.score
    assert "case:lc" in ours.signature
    assert "tok:char" in ours.signature


def test_the_length_ratio_gives_the_brevity_penalty():
    short, longer = ["a b c d", "a b"], ["a b c d e", "a b c"]
    found = corpus_bleu(short, longer)
    assert found.length_ratio == 6 / 8
    # All n-grams occur: nothing but the penalty is left.
    assert found.score == pytest.approx(100 * math.exp(1 - 1 / found.length_ratio))
    assert corpus_bleu(longer, short).length_ratio == 8 / 6
    # Moses cuts "it's" where the tokens of 13a keep it whole.
    texts = ["it's a dog"], ["it's a big dog"]
    assert corpus_bleu(*texts).length_ratio == 3 / 4
    assert tokenized_bleu(*texts, language="en").length_ratio == 4 / 5
    assert corpus_chrf(short, longer).length_ratio is None
    assert corpus_bleu(["a"], [""]).length_ratio is None


def test_chrf_is_sacrebleus():
    ours = corpus_chrf(HYPOTHESES, REFERENCES)
    assert ours.score == sacrebleu.corpus_chrf(HYPOTHESES, [REFERENCES]).score
    assert "nc:6|nw:0" in ours.signature
    plus = corpus_chrf(HYPOTHESES, REFERENCES, lowercase=True, word_order=2)
    theirs = sacrebleu.CHRF(lowercase=True, word_order=2).corpus_score(HYPOTHESES, [REFERENCES])
    assert plus.score == theirs.score
    assert "case:lc" in plus.signature


@pytest.mark.parametrize("metric", [corpus_bleu, corpus_chrf])
def test_identical_text_scores_100(metric):
    assert metric(REFERENCES, REFERENCES).score == pytest.approx(100)


@pytest.mark.parametrize("metric", [corpus_bleu, corpus_chrf])
def test_several_references_per_sentence(metric):
    groups = [[a, b] for a, b in zip(REFERENCES, HYPOTHESES, strict=True)]
    score = metric(HYPOTHESES, groups)
    assert score.score == pytest.approx(100)
    assert "nrefs:2" in score.signature


@pytest.mark.parametrize("metric", [corpus_bleu, corpus_chrf])
@pytest.mark.parametrize(
    ("hypotheses", "references", "error", "message"),
    [
        (["a", "b"], ["a"], ValueError, "2 hypotheses and 1 references; expected as many of each"),
        ([], [], ValueError, "0 hypotheses and 0 references"),
        ("a b", ["a b"], TypeError, "got one string; expected a sequence with one string per"),
        (["a b"], "a b", TypeError, "got one string"),
        (["a", "b"], [[], []], ValueError, "at least one; got from 0 to 0"),
        (["a", "b"], [["a"], ["b", "c"]], ValueError, "same number of references .* 1 to 2"),
        ([["a", "b"]], ["a b"], TypeError, r"a text is \['a', 'b'\]; expected a string"),
        (["a b"], [[["a", "b"]]], TypeError, r"a text is \['a', 'b'\]; expected a string"),
        (["a b c"], [["a", "b"]], TypeError, "every reference is one word, such as 'a', and the"),
        (["a b"], [None], TypeError, "a text is None; expected a string"),
    ],
)
def test_corpora_that_do_not_match_are_refused(
    metric, hypotheses, references, error, message, unchecked
):
    with pytest.raises(error, match=message):
        metric(hypotheses, references)


@pytest.mark.parametrize("metric", [corpus_bleu, corpus_chrf])
def test_a_missing_sacrebleu_is_named_with_the_command_that_installs_it(metric, monkeypatch):
    monkeypatch.setitem(sys.modules, "sacrebleu", None)
    with pytest.raises(ImportError, match=r'pip install "seqattn\[nmt\]"'):
        metric(["a"], ["a"])


@given(st.lists(st.tuples(st.integers(-2, 2), st.booleans()), min_size=2, max_size=9))
def test_the_roc_area_counts_pairs_and_ties_by_half(cases):
    scores, marked = [x / 2 for x, _ in cases], [positive for _, positive in cases]
    hits = [x for x, positive in cases if positive]
    others = [x for x, positive in cases if not positive]
    if hits and others:
        wins = sum((a > b) + (a == b) / 2 for a in hits for b in others)
        assert roc_area(scores, marked) == pytest.approx(wins / (len(hits) * len(others)))
    else:
        with pytest.raises(ValueError, match="expected at least one of each"):
            roc_area(scores, marked)


def test_the_roc_area_refuses_what_it_cannot_rank():
    with pytest.raises(ValueError, match="1 scores are NaN"):
        roc_area([math.nan, 1.0], [True, False])
    with pytest.raises(ValueError, match="1 flags are NaN"):
        roc_area([0.0, 1.0], [math.nan, 0.0])
    with pytest.raises(ValueError, match=r"shape \(2,\) and positive \(1,\)"):
        roc_area([0.0, 1.0], [True])


def test_one_string_is_no_list_of_texts(unchecked):
    with pytest.raises(TypeError, match="is one string; expected a list"):
        tokenized_bleu("a dog", ["a dog"], language="en")
    with pytest.raises(TypeError, match=r"a text is \['a', 'dog'\]; expected a string"):
        tokenized_bleu([["a", "dog"]], ["a dog"], language="en")

"""Scores of several systems: what sacrebleu says, and no difference where there is none."""

import json

import pytest
import sacrebleu
import torch

from seqattn.data import TextPair
from seqattn.evaluation import (
    compare,
    evaluate,
    missing_words,
    plot_comparison,
    summarize_attention,
)
from seqattn.evaluation.evaluate import score_by_length
from seqattn.metrics import corpus_bleu
from seqattn.metrics.bleu import moses_tokens, tokenized_bleu
from seqattn.translator import Translation
from tests.translator.test_translator import PAIRS, make


def of(words, weights=None):
    tokens = [*words.split(), "<eos>"]
    return Translation(words, words, tokens, tokens, weights, 0.0)


class Parrot:
    """Says what it was told to say."""

    lowercase = False

    def __init__(self, texts):
        self.texts = texts
        self.model = torch.nn.Linear(3, 5)

    def translate(self, sentences, beam):
        assert len(sentences) == len(self.texts)
        return [of(text) for text in self.texts]


WORDS = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven"]
REFERENCES = [" ".join(WORDS[i % 5 : 6 + i % 6]) for i in range(40)]
TEST = [TextPair(f"satz {i} " + "x " * (i % 9), text) for i, text in enumerate(REFERENCES)]


@pytest.fixture
def unchecked_types():
    """Let a parrot pass for a translator."""
    import jaxtyping

    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


def test_a_better_system_is_told_from_luck_and_an_equal_one_is_not(unchecked_types):
    good = [text if i % 7 else "one five two" for i, text in enumerate(REFERENCES)]
    bad = [text if i % 2 else "nine nine nine" for i, text in enumerate(REFERENCES)]
    systems = {"good": good, "the same": good, "bad": bad}
    found = compare({name: Parrot(texts) for name, texts in systems.items()}, TEST, samples=200)
    first, same, worse = found.systems
    assert (first.bleu_p, first.chrf_p) == (None, None)
    assert (same.bleu_p, same.chrf_p) == (1.0, 1.0)
    assert worse.bleu_p < 0.02
    for system, texts in zip(found.systems, systems.values(), strict=True):
        assert system.bleu == pytest.approx(sacrebleu.corpus_bleu(texts, [REFERENCES]).score)
        assert system.chrf == pytest.approx(sacrebleu.corpus_chrf(texts, [REFERENCES]).score)
        assert sum(group.sentences for group in system.lengths) == 40
        assert system.weights == 20
    assert "tok:13a" in found.bleu_signature
    assert found.chrf_signature.startswith("nrefs:1|bs:200|seed:")
    json.dumps(found.to_dict())
    table = found.table()
    assert [line.split()[0] for line in table[1:]] == ["good", "the", "bad"]
    assert f"{worse.bleu:.2f}" in table[3]
    header, *rows = found.table_by_length()
    assert header.split() == ["words", "sentences", "good", "the", "same", "bad"]
    assert [row.split()[:4] for row in rows] == [["2", "to", "5", "20"], ["6", "to", "10", "20"]]
    for row, *groups in zip(rows, *(system.lengths for system in found.systems), strict=True):
        assert [float(cell) for cell in row.split()[4:]] == [round(g.bleu, 2) for g in groups]
    assert len(plot_comparison(found).axes) == 2
    log = [{"kind": "valid", "step": 1, "seconds": 60.0, "bleu": 3.0}, {"kind": "train", "step": 2}]
    *_, panel = plot_comparison(found, {"bad": log}).axes
    assert [line.get_xydata().tolist() for line in panel.lines] == [[], [], [[1.0, 3.0]]]


def test_what_cannot_be_compared_is_refused():
    translator = make()
    with pytest.raises(ValueError, match="1 translator"):
        compare({"a": translator}, PAIRS)
    lower = make()
    lower.lowercase = True
    with pytest.raises(ValueError, match="b writes lower case alone"):
        compare({"a": translator, "b": lower}, PAIRS)


def test_scores_by_length_are_those_of_the_sentences_of_that_length():
    texts = [text.replace("two", "too") for text in REFERENCES]
    groups = score_by_length(texts, TEST, corpus_bleu)
    lengths = [len(pair.source.split()) for pair in TEST]
    assert [(g.shortest, g.longest) for g in groups] == [(2, 5), (6, 10)]
    for group in groups:
        rows = [i for i, n in enumerate(lengths) if group.shortest <= n <= group.longest]
        assert group.sentences == len(rows)
        wanted = corpus_bleu([texts[i] for i in rows], [REFERENCES[i] for i in rows]).score
        assert group.bleu == pytest.approx(wanted)


def test_attention_is_summed_up_over_tokens():
    sharp, even = torch.eye(3), torch.full((2, 2), 0.5)
    spread = torch.tensor([[1.0, 0, 0, 0]] * 4)
    found = summarize_attention([of("a b", sharp), of("a", even), of("a b c", spread), of("")])
    assert found.entropy == pytest.approx(2 * 0.693147 / 9, abs=1e-5)
    assert found.relative == pytest.approx(2 / 9)
    assert found.under == pytest.approx(3 / 9)
    assert found.over == pytest.approx(1 / 9)
    assert summarize_attention([of("a b")]) is None


def test_details_are_given_where_asked_for():
    translator = make()
    plain, close = (evaluate(translator, PAIRS, details=wanted) for wanted in (False, True))
    assert "lengths" not in plain.to_dict()
    assert close.attention.entropy > 0
    assert sum(group["sentences"] for group in close.to_dict()["lengths"]) == len(PAIRS)
    assert evaluate(make("fixed"), PAIRS, details=True).attention is None


def test_tokenised_scores_are_those_of_tokens_in_lower_case():
    pytest.importorskip("sacremoses")
    said = ["A man — he's young — sits .", "Zwei Hunde, die rennen!"]
    meant = ["a man - he's old - sits.", "zwei Hunde, die laufen!"]
    tokens = [[text.split() for text in moses_tokens(side, "en")] for side in (said, meant)]
    assert tokens[0][0] == ["a", "man", "-", "he", "'s", "young", "-", "sits", "."]
    found = tokenized_bleu(said, meant, language="en")
    # By hand: matching n-grams of all sentences together; both sides have 15 tokens.
    shares = []
    for n in range(1, 5):
        hits = total = 0
        for a, b in zip(*tokens, strict=True):
            grams = [[tuple(t[i : i + n]) for i in range(len(t) - n + 1)] for t in (a, b)]
            hits += sum(min(grams[0].count(g), grams[1].count(g)) for g in set(grams[0]))
            total += len(grams[0])
        shares.append(hits / total)
    assert len(tokens[0][0] + tokens[0][1]) == len(tokens[1][0] + tokens[1][1])
    product = torch.tensor(shares).prod().item()
    assert found.score == pytest.approx(100 * product**0.25)
    assert "case:lc|tok:moses-en-sacremoses-" in found.signature
    assert "smooth:none" in found.signature


def test_a_model_of_lower_case_reads_lower_case_and_is_judged_by_it():
    translator = make()
    translator.lowercase = True
    loud = [pair._replace(source=pair.source.upper()) for pair in PAIRS]
    shout, whisper = (
        [found.tokens for found in translator.translate([p.source for p in pairs], beam=1)]
        for pairs in (loud, PAIRS)
    )
    assert shout == whisper
    assert [f.score for f in translator.force(loud)] == [f.score for f in translator.force(PAIRS)]
    texts = [found.text for found in translator.translate([p.source for p in PAIRS], beam=1)]
    upper = [TextPair(p.source, text.upper()) for p, text in zip(PAIRS, texts, strict=True)]
    assert evaluate(translator, upper, lowercase=True).exact == 1
    assert evaluate(translator, upper).exact < 1


def test_a_word_is_missing_if_none_of_its_partners_is_said():
    links = frozenset({(0, 0), (1, 1), (2, 2), (2, 3), (4, 4)})
    pair = TextPair("the cat sat down today", "le chat s'est couché", links)
    assert missing_words("le chien est parti", pair) == [False, True, False, False, True]
    with pytest.raises(ValueError, match="has no links"):
        missing_words("le chat", TextPair("the cat", "le chat"))

"""Text in, text and maps out."""

import math
from dataclasses import replace

import pytest
import torch

from seqattn.data import TextPair, Vocabularies, encode_pairs
from seqattn.evaluation import alignment_links, evaluate
from seqattn.evaluation.evaluate import METHOD, THRESHOLD
from seqattn.metrics import corpus_bleu
from seqattn.models import ModelConfig, build_model
from seqattn.translator import Translator
from seqattn.translator.translator import LENGTH_PENALTY

PAIRS = [
    TextPair("the cat sat on the mat", "le chat s'est assis sur le tapis", frozenset({(1, 1)})),
    TextPair("the cat", "le chat", frozenset({(0, 0), (1, 1)})),
    TextPair("a mat", "un tapis", frozenset({(0, 0), (1, 1)})),
    TextPair("is the cat on a mat ?", "est-ce que le chat est sur un tapis ?", frozenset({(1, 2)})),
]


def make(architecture="bahdanau", subwords=0, pairs=PAIRS):
    vocabularies = Vocabularies.learn(pairs, ("en", "fr"), subwords=subwords)
    config = ModelConfig(architecture, d_embed=7, d_hidden=12, dropout=0.4)
    model = build_model(config, *map(len, vocabularies))
    for p in model.parameters():
        torch.nn.init.normal_(p, std=0.5)
    return Translator(model, vocabularies)


SENTENCES = [pair.source for pair in PAIRS]


@pytest.mark.parametrize("beam", [1, 3])
@pytest.mark.parametrize("architecture", ["bahdanau", "luong", "fixed"])
def test_many_sentences_are_translated_as_each_alone(architecture, beam):
    translator = make(architecture)
    together = translator.translate(SENTENCES, beam=beam)
    for sentence, found in zip(SENTENCES, together, strict=True):
        [alone] = translator.translate([sentence], beam=beam)
        assert (found.source, found.text, found.tokens) == (sentence, alone.text, alone.tokens)
        assert found.score == pytest.approx(alone.score, abs=1e-4)
        if architecture == "fixed":
            assert found.weights is None
        else:
            torch.testing.assert_close(found.weights, alone.weights, atol=1e-5, rtol=1e-4)


def test_maps_have_a_row_for_each_token_and_a_column_for_each_source_token():
    for found in make().translate(SENTENCES, beam=1):
        assert found.source_tokens[-1] == "<eos>"
        assert found.weights.shape == (len(found.tokens), len(found.source_tokens))
        torch.testing.assert_close(found.weights.sum(1), torch.ones(len(found.tokens)))


@pytest.mark.parametrize("subwords", [0, 280])
@pytest.mark.parametrize("architecture", ["bahdanau", "fixed"])
def test_blank_sentences_stay_blank_and_in_their_place(architecture, subwords):
    translator = make(architecture, subwords)
    blank, cat, again = translator.translate(["", "the cat", " \t"], beam=2)
    assert (blank.text, again.text, blank.tokens) == ("", "", ["<eos>"])
    assert (blank.source_tokens, blank.score) == (["<eos>"], 0.0)
    assert (blank.weights is None) == (architecture == "fixed")
    assert cat.text == translator.translate(["the cat"], beam=2)[0].text
    assert [len(found) for found in translator.n_best(["", "the cat"], n=2, beam=2)] == [1, 2]
    assert [len(found) for found in translator.sample(["", "the cat"], n=3)] == [1, 3]
    assert translator.translate([]) == []


def test_a_map_holds_no_more_than_itself():
    translator = make()
    for found in (*translator.translate(SENTENCES), *translator.force(PAIRS)):
        assert found.weights.untyped_storage().nbytes() == 4 * found.weights.numel()


def test_learned_positions_end_a_translation_and_do_not_break_it():
    vocabularies = Vocabularies.learn(PAIRS, ("en", "fr"))
    config = ModelConfig("transformer", d_hidden=12, layers=1, positions="learned", max_len=9)
    model = build_model(config, *map(len, vocabularies))
    torch.nn.init.constant_(model.vocabulary.bias, 0.0)
    with torch.no_grad():
        model.vocabulary.bias[2] = -1e4  # never <eos>
    for beam in (1, 3):
        [found] = Translator(model, vocabularies).translate([PAIRS[0].source], beam=beam)
        assert len(found.tokens) == 9


@pytest.mark.parametrize("architecture", ["bahdanau", "luong", "fixed"])
def test_a_forced_translation_scores_as_the_model_does_token_by_token(architecture):
    translator = make(architecture)
    forced = translator.force(PAIRS)
    for pair, found in zip(PAIRS, forced, strict=True):
        assert (found.source, found.text) == pair[:2]
        [(source, target)] = encode_pairs([pair], translator.vocabularies)
        model = translator.model.eval()
        with torch.no_grad():
            state, memory = model.begin(torch.tensor([source]), torch.tensor([len(source)]))
            nats, rows = 0.0, []
            for last, wanted in zip([1, *target], target):
                logits, weights, state = model.step(torch.tensor([last]), state, memory)
                nats += logits.double().log_softmax(-1)[0, wanted].item()
                rows.append(weights)
        assert found.score == pytest.approx(nats, rel=1e-5)
        if architecture == "fixed":
            assert found.weights is None
        else:
            torch.testing.assert_close(found.weights, torch.cat(rows), atol=1e-5, rtol=1e-4)


def test_what_greedy_search_writes_is_forced_to_the_same_score():
    translator = make()
    found = [f for f in translator.translate(SENTENCES, beam=1) if f.tokens[-1] == "<eos>"]
    pairs = [TextPair(f.source, f.text) for f in found]
    for free, forced in zip(found, translator.force(pairs), strict=True):
        if forced.tokens == free.tokens:
            assert forced.score == pytest.approx(free.score, rel=1e-4)


def test_evaluation_sums_over_the_corpus():
    translator = make()
    found = evaluate(translator, PAIRS)
    forced = translator.force(PAIRS)
    nats = -sum(f.score for f in forced) / sum(len(f.tokens) for f in forced)
    assert found.perplexity == pytest.approx(math.exp(nats))
    assert 0 <= found.bleu <= 100
    assert "tok:13a" in found.signature
    for rate, how in ((found.aer, (METHOD, THRESHOLD)), (found.aer_rows, ("target",))):
        links = [alignment_links(f.weights, *how) for f in forced]
        hits = sum(len(a & p.links) for a, p in zip(links, PAIRS))
        sizes = sum(len(a) + len(p.links) for a, p in zip(links, PAIRS))
        assert rate == pytest.approx(1 - 2 * hits / sizes)
    assert found.aer != found.aer_rows


def test_alignment_error_is_left_out_where_it_is_not_defined():
    assert evaluate(make("fixed"), PAIRS).aer is None
    assert evaluate(make(), [*PAIRS, TextPair("a cat", "un chat")]).aer is None
    assert evaluate(make(subwords=280), PAIRS).aer is None  # maps of pieces, links of words


def test_a_perfect_translator_scores_full_marks():
    translator = make()
    texts = [f.text for f in translator.translate(SENTENCES, beam=1)]
    found = evaluate(translator, [TextPair(*pair) for pair in zip(SENTENCES, texts)])
    assert (found.exact, found.bleu) == (1.0, pytest.approx(100))


def test_the_length_penalty_of_an_evaluation_is_that_of_its_beam(unchecked):
    translator = make()
    sources = [pair.source for pair in PAIRS]
    for penalty in (0.0, 5.0):
        texts = [f.text for f in translator.translate(sources, beam=3, length_penalty=penalty)]
        found = evaluate(translator, PAIRS, beam=3, length_penalty=penalty)
        assert found.bleu == corpus_bleu(texts, [pair.target for pair in PAIRS]).score
    usual = evaluate(translator, PAIRS, beam=3)
    assert usual == evaluate(translator, PAIRS, beam=3, length_penalty=LENGTH_PENALTY)
    with pytest.raises(ValueError, match=r"length_penalty=1\.0 with beam=1; expected a beam of 2"):
        evaluate(translator, PAIRS, length_penalty=1.0)
    with pytest.raises(ValueError, match="length_penalty"):
        evaluate(translator, PAIRS, beam=2, length_penalty=-1.0)


def test_evaluating_leaves_the_training_flag_and_the_random_numbers_alone():
    translator = make()
    translator.model.train()
    before = torch.get_rng_state()
    evaluate(translator, PAIRS)
    assert translator.model.training
    assert torch.equal(before, torch.get_rng_state())


def test_wrong_calls_say_what_they_expected(unchecked):
    translator = make("fixed")
    with pytest.raises(TypeError, match="got one string; expected a list"):
        translator.translate("the cat")
    with pytest.raises(TypeError, match="a sentence is None; expected a string"):
        translator.translate(["the cat", None])
    with pytest.raises(ValueError, match="beam is 0; expected at least 1"):
        translator.translate(["the cat"], beam=0)
    for beam in (1, 4):
        with pytest.raises(ValueError, match="length_penalty is -1; expected 0 or more"):
            translator.translate(["the cat"], beam=beam, length_penalty=-1)
    with pytest.raises(ValueError, match=r"coverage_penalty=0\.2 has no effect with beam=1"):
        translator.translate(["the cat"], beam=1, coverage_penalty=0.2)
    with pytest.raises(ValueError, match="no attention: there is no map"):
        translator.translate(["the cat"])[0].plot()
    with pytest.raises(ValueError, match="no sentence pairs"):
        evaluate(translator, [])


@pytest.mark.parametrize("architecture", ["bahdanau", "fixed"])
def test_the_first_of_the_n_best_is_the_translation_and_all_are_different(architecture):
    translator = make(architecture)
    best = translator.translate([*SENTENCES, ""], beam=4)
    every = translator.n_best([*SENTENCES, ""], n=3, beam=4)
    for one, several in zip(best, every, strict=True):
        assert several[0].tokens == one.tokens
        assert len({tuple(found.tokens) for found in several}) == len(several)
    assert [len(several) for several in every] == [3, 3, 3, 3, 1]
    penalties = [((5 + len(f.tokens)) / 6) ** 0.6 for f in every[0]]
    normed = [f.score / penalty for f, penalty in zip(every[0], penalties, strict=True)]
    assert normed == sorted(normed, reverse=True)
    with pytest.raises(ValueError, match="n is 5 and beam is 4; expected 1 <= n <= beam"):
        translator.n_best(SENTENCES, n=5, beam=4)


def test_samples_repeat_with_their_seed_and_are_scored_like_known_translations(unchecked):
    translator = make()
    one, two, other = (translator.sample(SENTENCES, n=3, seed=seed) for seed in (4, 4, 5))
    texts = [[[f.text for f in drawn] for drawn in found] for found in (one, two, other)]
    assert texts[0] == texts[1] != texts[2]
    assert [len(drawn) for drawn in one] == [3, 3, 3, 3]
    [cold] = translator.sample(["the cat"], temperature=1e-4)
    assert cold[0].tokens == translator.translate(["the cat"], beam=1)[0].tokens
    with pytest.raises(ValueError, match="n is 0"):
        translator.sample(SENTENCES, n=0)
    with pytest.raises(ValueError, match=r"n is 1\.5; expected a whole number"):
        translator.sample(SENTENCES, n=1.5)


def test_the_coverage_penalty_reaches_the_search():
    translator = make()
    sentences = [pair.source for pair in PAIRS]
    plain = translator.translate(sentences, beam=3)
    [first, *_] = covered = translator.translate(sentences, beam=3, coverage_penalty=2.0)
    assert [t.text for t in plain] == [
        t.text for t in translator.translate(sentences, beam=3, coverage_penalty=0.0)
    ]
    # With a large factor a map that leaves source words out loses to one that does not.
    assert len(covered) == len(plain)
    assert sum(map(uncovered, covered)) <= sum(map(uncovered, plain)) + 1e-6
    assert first.weights is not None
    with pytest.raises(ValueError, match="coverage_penalty is -1"):
        translator.translate(sentences, beam=3, coverage_penalty=-1)


def uncovered(found):
    return -found.weights.sum(0).clamp(1e-4, 1.0).log().sum().item()


def test_translations_are_compared_as_values():
    translator = make()
    [one], [same] = translator.translate(SENTENCES[:1]), translator.translate(SENTENCES[:1])
    assert one is not same
    assert one == same
    assert one != replace(one, score=one.score - 1)
    assert one != replace(one, weights=one.weights + 0.1)
    assert one != replace(one, weights=one.weights[:, :-1])
    assert one != replace(one, weights=None)
    assert replace(one, weights=None) == replace(one, weights=None)
    assert one != one.text
    assert [one] == [same]
    with pytest.raises(TypeError, match="unhashable"):
        hash(one)

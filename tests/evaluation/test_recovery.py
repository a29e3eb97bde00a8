"""One wrong word, and what follows it; the tree of a search through a translator."""

import math

import pytest
import torch

from seqattn.data import TextPair
from seqattn.decoding import TableModel, beam_search
from seqattn.evaluation import beam_tree, recovery
from seqattn.specials import BOS, EOS, PAD, UNK
from seqattn.translator import Translator

PAIRS = [
    TextPair("the cat sat on the mat", "le chat s'est assis sur le tapis"),
    TextPair("the thief loses it", "le voleur le perd"),
    TextPair("i never answer an engineer", "je ne réponds jamais à un ingénieur"),
]


@pytest.fixture(scope="module")
def toy():
    return Translator.load("toy")


@pytest.mark.parametrize("reads", ["true", "own"])
def test_a_model_goes_on_as_in_a_loop_over_single_sentences(toy, reads):
    found = recovery(toy, PAIRS, at=0.4, reads=reads, steps=4)
    source, target = toy.vocabularies
    for row, pair in enumerate(PAIRS):
        wanted = [*target.encode(pair.target), EOS]
        place = int(0.4 * (len(wanted) - 1))
        assert found.replaced[row] == wanted[place] != found.by[row]
        assert found.by[row] > UNK
        ids = torch.tensor([[*source.encode(pair.source), EOS]])
        for put, expected in ((wanted[place], found.clean), (int(found.by[row]), found.wrong)):
            read, said = [BOS, *wanted[:place], put], []
            state, memory = toy.model.begin(ids, torch.tensor([ids.shape[1]]))
            for token in read:
                logits, _, state = toy.model.step(torch.tensor([token]), state, memory)
            for after in range(place + 1, place + 5):
                word = int(logits[0].index_fill(0, torch.tensor([PAD, BOS]), -torch.inf).argmax())
                said.append(word)
                following = word if reads == "own" else (wanted + [PAD] * 9)[after]
                if following in (EOS, PAD):
                    break
                logits, _, state = toy.model.step(torch.tensor([following]), state, memory)
            assert expected[row, : len(said)].tolist() == said
    padded = [*wanted, *[PAD] * 9][place + 1 : place + 5]
    assert found.truth[2].tolist() == padded


def test_shares_and_losses_count_real_words_alone(toy):
    found = recovery(toy, PAIRS, by="likeliest", steps=9)
    real = found.truth != PAD
    clean, wrong = found.right()
    assert not real[:, -1].any()
    assert clean[:1].item() == 1
    assert clean[-1].isnan()
    lost = ((found.clean == found.truth) & real).sum() - ((found.wrong == found.truth) & real).sum()
    assert found.lost() == pytest.approx(lost.item() / 3)
    assert (found.by != found.replaced).all()
    assert (found.by > UNK).all()
    assert wrong.shape == (9,)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"at": 1.0}, "at is 1.0; expected 0 or more, and below 1"),
        ({"by": "any"}, "by is 'any'; expected 'random' or 'likeliest'"),
        ({"reads": "both"}, "reads is 'both'; expected 'own' or 'true'"),
        ({"steps": 0}, "steps is 0; expected at least 1"),
        ({"pairs": []}, "no pairs"),
        ({"pairs": [TextPair("a cat", " ")]}, "pair 0 has a blank translation"),
    ],
)
def test_what_cannot_be_tried_is_refused(toy, options, message):
    pairs = options.pop("pairs", PAIRS)
    with pytest.raises(ValueError, match=message):
        recovery(toy, pairs, **options)


def test_a_tree_finds_what_the_search_finds_in_the_model(toy):
    for pair in PAIRS[1:]:
        model = TableModel(beam_tree(toy, pair.source, widest=4))
        for beam in (2, 3, 4):
            for alpha in (0.0, 0.6, 2.0):
                [expected] = toy.translate([pair.source], beam=beam, length_penalty=alpha)
                found = beam_search(model, *model.source, beam=beam, length_penalty=alpha)
                assert model.read(found)[0].split() == expected.tokens[:-1]
                assert found.scores.item() == pytest.approx(expected.score, abs=1e-4)


def test_a_tree_of_nothing_is_refused(toy):
    with pytest.raises(ValueError, match="the sentence is blank"):
        beam_tree(toy, " ")
    with pytest.raises(ValueError, match="widest is 0; expected at least 1"):
        beam_tree(toy, "a cat", widest=0)
    with pytest.raises(ValueError, match="max_len is 0; expected at least 1"):
        beam_tree(toy, "a cat", max_len=0)


def test_a_tree_leaves_a_model_in_training_as_it_was(toy):
    toy.model.train()
    try:
        beam_tree(toy, "a cat", widest=1)
        assert toy.model.training
    finally:
        toy.model.eval()


def test_probabilities_of_a_tree_are_those_of_the_known_translation(toy):
    pair = PAIRS[2]
    table, model_p = beam_tree(toy, pair.source), toy.force([pair])[0]
    words, total = model_p.tokens, 0.0
    for t, word in enumerate(words):
        total += math.log(table[" ".join(words[:t])][word])
    assert total == pytest.approx(model_p.score, abs=1e-4)

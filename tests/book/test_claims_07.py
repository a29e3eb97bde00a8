"""Proofs and properties that chapters/claims/07_training.yml and its formulas name."""

import math

import pytest
import torch
from torch import nn

from seqattn.attention import padding_mask
from seqattn.data import DETOUR, TREE, TextPair
from seqattn.decoding import TableModel, beam_search, coverage_penalty, length_penalty, sample
from seqattn.training import cross_entropy
from seqattn.training.schedules import exponential_decay, inverse_sigmoid_decay, linear_decay
from seqattn.translator import Translator


def sentences(table, words=()):
    """List every sentence of a table with its probability and its number of tokens."""
    for word, p in table.get(" ".join(words), {"<eos>": 1.0}).items():
        if word == "<eos>":
            yield p, len(words) + 1, " ".join(words)
        else:
            for q, number, rest in sentences(table, (*words, word)):
                yield p * q, number, rest


@pytest.mark.parametrize("table", [TREE, DETOUR], ids=["tree", "detour"])
def test_the_score_of_a_beam_search_is_the_formula(table):
    model = TableModel(table)
    for alpha in (0.0, 0.39, 0.40, 0.6, 1.5):
        best = max(sentences(table), key=lambda one: math.log(one[0]) / ((5 + one[1]) / 6) ** alpha)
        found = beam_search(model, *model.source, beam=40, length_penalty=alpha)
        assert model.read(found) == [best[2]]
        assert found.scores.item() == pytest.approx(math.log(best[0]))


def test_one_place_more_loses_the_most_probable_sentence():
    model = TableModel(DETOUR)
    everything = sorted(sentences(DETOUR), reverse=True)
    assert sum(p for p, *_ in everything) == pytest.approx(1)
    found = {
        beam: model.read(beam_search(model, *model.source, beam=beam, length_penalty=0.0))[0]
        for beam in (2, 3, 4)
    }
    best = everything[0][2]
    assert found == {2: best, 3: "une petite maison", 4: best}


def test_the_numbers_by_hand():
    chances = {words: p for p, _, words in sentences(TREE)}
    on_paper = {
        "le chat": (0.132, -2.025),
        "un chat": (0.187, -1.676),
        "un chat dort": (0.173, -1.756),
    }
    for words, (p, log_p) in on_paper.items():
        assert chances[words] == pytest.approx(p, abs=0.0005)
        assert math.log(chances[words]) == pytest.approx(log_p, abs=0.0005)
    short, long = math.log(chances["un chat"]), math.log(chances["un chat dort"])
    assert short / (8 / 6) ** 0.6 == pytest.approx(-1.410, abs=0.0005)
    assert long / (9 / 6) ** 0.6 == pytest.approx(-1.376, abs=0.0005)
    assert math.log(long / short) / math.log(9 / 8) == pytest.approx(0.396, abs=0.0005)
    second = [0.4 * 0.9, 0.6 * 0.4, 0.6 * 0.35, 0.6 * 0.2]
    assert second == pytest.approx([0.36, 0.24, 0.21, 0.12])


def test_length_penalties():
    n = torch.tensor([1, 4, 9])
    torch.testing.assert_close(length_penalty(n, 0.6), ((5 + n) / 6) ** 0.6)
    assert (length_penalty(n, 0.0) == 1).all()


def test_the_coverage_penalty_is_the_formula():
    torch.manual_seed(0)
    weights = torch.rand(4, 5, dtype=torch.float64).softmax(-1)
    expected = 0.7 * sum(math.log(min(float(column.sum()), 1)) for column in weights.T)
    found = coverage_penalty(weights.sum(0), 0.7, padding_mask(torch.tensor([5]), 5)[0])
    assert found.item() == pytest.approx(expected)
    assert coverage_penalty(torch.tensor([1.0, 2.5]), 0.7) == 0


def test_force_tells_a_search_error_from_a_model_error():
    translator = Translator.load("toy")
    wanted = TextPair("i never answer an engineer", "je ne réponds jamais à un ingénieur")
    [found] = translator.translate([wanted.source])
    [forced] = translator.force([wanted])
    [again] = translator.force([TextPair(wanted.source, found.text)])
    assert found.text != wanted.target
    assert found.score > forced.score
    assert again.score == pytest.approx(found.score, abs=1e-3)


def test_samples_follow_the_tempered_probabilities():
    model = TableModel(TREE)
    source, lengths = model.source
    rows = torch.zeros(4000, dtype=torch.long)
    drawn = sample(
        model,
        source[rows],
        lengths[rows],
        temperature=2.0,
        generator=torch.Generator().manual_seed(0),
    )
    share = (drawn.tokens[:, 0] == model.words.index("le")).double().mean()
    expected = 0.6**0.5 / (0.6**0.5 + 0.4**0.5)
    assert share.item() == pytest.approx(expected, abs=4 * (0.25 / 4000) ** 0.5)


def test_the_losses_are_the_formulas():
    torch.manual_seed(0)
    logits, targets = torch.randn(2, 3, 7).double(), torch.tensor([[4, 5, 2], [6, 2, 0]])
    for eps in (0.0, 0.1):
        total = 0.0
        for row, wanted in zip(logits, targets.tolist(), strict=True):
            for z, y in zip(row.log_softmax(-1), wanted, strict=True):
                if y != 0:
                    total -= float((1 - eps) * z[y] + eps / 7 * z.sum())
        loss = cross_entropy(logits, targets, smoothing=eps)
        assert loss.mean.item() == pytest.approx(total / 5)


def test_the_floor_of_a_smoothed_loss_is_the_entropy_of_its_label():
    size, eps = 1631, 0.1
    label = torch.full((size,), eps / size, dtype=torch.float64)
    label[3] += 1 - eps
    floor = float(torch.special.entr(label).sum())
    target = torch.tensor([[3]])
    at_the_label = cross_entropy(label.log()[None, None], target, smoothing=eps).mean
    assert at_the_label.item() == pytest.approx(floor)
    assert floor == pytest.approx(1.064, abs=0.0005)
    torch.manual_seed(0)
    for _ in range(20):
        other = (label.log() + torch.randn(size).double()).log_softmax(-1)
        assert cross_entropy(other[None, None], target, smoothing=eps).mean > floor


def test_clipping_keeps_the_direction():
    layer = nn.Linear(3, 2)
    layer(torch.full((4, 3), 50.0)).square().sum().backward()
    gradients = [p.grad.clone() for p in layer.parameters()]
    norm = torch.sqrt(sum(g.square().sum() for g in gradients))
    nn.utils.clip_grad_norm_(layer.parameters(), 1.0)
    for p, g in zip(layer.parameters(), gradients, strict=True):
        torch.testing.assert_close(p.grad, g * (1.0 / norm), rtol=1e-4, atol=1e-6)


def test_schedules_are_the_formulas():
    for i in (1, 50, 400):
        assert linear_decay(i, 0.004, floor=0.3) == max(0.3, 1 - 0.004 * i)
        assert exponential_decay(i, 0.99) == 0.99**i
        assert inverse_sigmoid_decay(i, 40) == pytest.approx(40 / (40 + math.exp(i / 40)))

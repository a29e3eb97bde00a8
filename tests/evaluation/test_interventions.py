"""Other weights and other words: held against loops in NumPy."""

import numpy as np
import pytest
import torch

from seqattn.attention import CoverageAttention
from seqattn.evaluation.interventions import (
    erased,
    forged,
    gradient_times_input,
    hard,
    integrated_gradients,
    occlusion,
    replace_weights,
    shuffled,
    uniform,
    without_another,
    without_largest,
)
from seqattn.metrics import jensen_shannon, weight_distance
from seqattn.models import SentenceClassifier
from seqattn.translator import Translator


@pytest.fixture
def rows():
    """Weights (3, 2, 7) with a mask whose pads stand anywhere; one sentence has one word."""
    generator = torch.Generator().manual_seed(0)
    mask = torch.rand(3, 7, generator=generator) < 0.6
    mask[2] = torch.arange(7) == 4
    scores = torch.randn(3, 2, 7, generator=generator, dtype=torch.float64)
    return scores.masked_fill(~mask[:, None], -torch.inf).softmax(-1), mask


def test_shuffling_moves_real_weights_alone(rows):
    weights, mask = rows
    dice = torch.Generator().manual_seed(1)
    seen = torch.stack([shuffled(weights, mask, generator=dice) for _ in range(300)])
    assert (seen[..., ~mask.any(0)] == 0).all()
    for b, t in np.ndindex(3, 2):
        own = weights[b, t, mask[b]].sort().values
        assert torch.equal(seen[:, b, t][:, mask[b]].sort(-1).values, own.expand(300, -1))
    # Each weight comes to each place equally often.
    mean = seen.mean(0)
    torch.testing.assert_close(mean, uniform(weights, mask), atol=0.08, rtol=0)
    assert not torch.equal(seen[0, 0, 0].argsort(), seen[0, 0, 1].argsort())  # rows by themselves


def test_changes_by_loops(rows):
    weights, mask = rows
    flat, one, without = (f(weights, mask) for f in (uniform, hard, without_largest))
    for b, t in np.ndindex(3, 2):
        row, real = weights[b, t].numpy(), mask[b].numpy()
        top = row.argmax()
        np.testing.assert_allclose(flat[b, t], real / real.sum())
        np.testing.assert_array_equal(one[b, t], np.arange(7) == top)
        rest = np.where(np.arange(7) == top, 0, row)
        np.testing.assert_allclose(without[b, t], rest / (rest.sum() or 1))
    assert (without[2] == 0).all()  # of one word nothing is left


def test_another_is_never_the_largest_and_never_a_pad(rows):
    weights, mask = rows
    dice = torch.Generator().manual_seed(2)
    gone = set()
    for _ in range(100):
        left = without_another(weights, mask, generator=dice)
        torch.testing.assert_close(left.sum(-1), torch.ones(3, 2, dtype=torch.float64))
        gone |= {tuple(place) for place in ((weights > 0) & (left == 0)).nonzero().tolist()}
    others = mask[:, None] & (hard(weights, mask) == 0)
    assert gone == {tuple(place) for place in others.nonzero().tolist()}
    assert torch.equal(without_another(weights, mask)[2], weights[2])


def test_erasing_what_is_all():
    assert erased(torch.tensor([[1.0, 0.0]]), torch.tensor([[True, False]])).tolist() == [[0, 0]]


@pytest.mark.parametrize("encoder", ["gru", "words"])
def test_replaced_weights_make_the_context(encoder):
    torch.manual_seed(0)
    model = SentenceClassifier(13, d=6, encoder=encoder).double()
    source, lengths = torch.tensor([[5, 6, 7, 3], [8, 9, 0, 0]]), torch.tensor([4, 2])
    before = model(source, lengths)
    with replace_weights(model, uniform):
        logits, weights = model(source, lengths)
    states = model.states(model.embedding(source), lengths)
    means = torch.stack([states[0].mean(0), states[1, :2].mean(0)])
    torch.testing.assert_close(logits, model.readout(means))
    assert weights.tolist() == [[0.25] * 4, [0.5, 0.5, 0, 0]]
    assert torch.equal(model(source, lengths).logits, before.logits)


def test_a_translator_with_its_own_weights_put_back_is_itself():
    translator = Translator.load("toy")
    text = "the cat sat on the mat"
    with replace_weights(translator.model, lambda w, m: w):
        same = translator.translate([text])[0].text
    assert same == translator.translate([text])[0].text
    with replace_weights(translator.model, uniform):
        assert translator.translate([text])[0].text != same


def test_a_change_within_a_change_gets_what_the_outer_one_gives_and_leaves_it_in_force():
    torch.manual_seed(0)
    model = SentenceClassifier(13, d=6)
    source, lengths, met = torch.tensor([[5, 6, 7]]), torch.tensor([3]), []
    with replace_weights(model, uniform):
        with replace_weights(model, lambda w, m: met.append(w) or w.flip(-1)):
            model(source, lengths)
        assert model(source, lengths).weights.tolist() == [[pytest.approx(1 / 3)] * 3]
    assert met[0].tolist() == [[pytest.approx(1 / 3)] * 3]
    assert "look" not in vars(model.attention)


def test_what_cannot_be_replaced():
    with (
        pytest.raises(ValueError, match="Linear has no attention"),
        replace_weights(torch.nn.Linear(2, 3), uniform),
    ):
        pass
    with (
        pytest.raises(ValueError, match="CoverageAttention does more than one plain look"),
        replace_weights(torch.nn.ModuleList([CoverageAttention(3, 4, 5)]), uniform),
    ):
        pass
    model = SentenceClassifier(13, d=6)
    with (
        pytest.raises(ValueError, match=r"weights have shape \(1, 1\); expected .* \(1, 2\)"),
        replace_weights(model, lambda w, m: w[:, :1]),
    ):
        model(torch.tensor([[4, 5]]), torch.tensor([2]))
    assert "look" not in vars(model.attention)  # undone after an error, too


def test_forged_weights_keep_the_answer_and_differ():
    states = torch.tensor([[[4.0, 0.0], [4.0, 0.0], [0.0, 0.0]], [[4.0, 0.0], [0.0, 4.0], [0, 0]]])
    mask = torch.tensor([[True, True, False], [True, True, False]])

    def answer(weights):
        return (weights.unsqueeze(1) @ states).squeeze(1).softmax(-1)

    alpha = torch.tensor([[0.9, 0.1, 0.0], [0.5, 0.5, 0.0]])
    found = forged(answer, alpha, mask, generator=torch.Generator().manual_seed(0))
    assert (found.moved <= 0.05).all()
    assert (found.weights[:, 2] == 0).all()
    torch.testing.assert_close(found.moved, weight_distance(answer(found.weights), answer(alpha)))
    torch.testing.assert_close(found.distance, jensen_shannon(alpha, found.weights))
    # Two states that say the same: anything goes. Two that disagree: next to nothing.
    assert found.distance[0] > 0.3
    assert found.distance[1] < 0.01
    with pytest.raises(ValueError, match="allowed is 0"):
        forged(answer, alpha, mask, allowed=0)


def test_occlusion_by_loops():
    torch.manual_seed(0)
    model = SentenceClassifier(13, d=6).double()
    source, lengths = torch.tensor([[5, 6, 7, 3], [8, 9, 0, 0], [4, 0, 0, 0]]), [4, 2, 1]

    def answer(ids, lengths):
        return model(ids, lengths).logits[:, 1]

    found = occlusion(answer, source, torch.tensor(lengths))
    filled = occlusion(answer, source, torch.tensor(lengths), fill=3)
    for b, n in enumerate(lengths):
        words = source[b, :n].tolist()
        whole = answer(torch.tensor([words]), torch.tensor([n])).item()
        for i in range(n):
            put = [*words[:i], 3, *words[i + 1 :]]
            other = answer(torch.tensor([put]), torch.tensor([n])).item()
            assert filled[b, i].item() == pytest.approx(whole - other)
            if n > 1:
                rest = [*words[:i], *words[i + 1 :]]
                other = answer(torch.tensor([rest]), torch.tensor([n - 1])).item()
                assert found[b, i].item() == pytest.approx(whole - other)
    assert found[2, 0].isnan()
    assert (found[1:, 2:] == 0).all()
    assert (filled[1:, 2:] == 0).all()


def test_gradients_by_differences():
    torch.manual_seed(0)
    model = SentenceClassifier(13, d=6).double()
    lengths = torch.tensor([4, 2])
    vectors = model.embedding(torch.tensor([[5, 6, 7, 3], [8, 9, 0, 0]])).detach()

    def answer(x):
        return model.classify(x, lengths).logits[:, 1]

    found, h = gradient_times_input(answer, vectors), 1e-6
    for b, i in np.ndindex(2, 4):
        longer = vectors.clone()
        longer[b, i] *= 1 + h
        with torch.no_grad():
            slope = (answer(longer) - answer(vectors))[b] / h
        torch.testing.assert_close(found[b, i], slope, atol=1e-5, rtol=1e-4)
    parts = integrated_gradients(answer, vectors, steps=200)
    with torch.no_grad():
        gained = answer(vectors) - answer(torch.zeros_like(vectors))
    torch.testing.assert_close(parts.sum(1), gained, atol=1e-4, rtol=0)
    with pytest.raises(ValueError, match="steps is 0"):
        integrated_gradients(answer, vectors, steps=0)

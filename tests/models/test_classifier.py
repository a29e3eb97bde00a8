"""The sentence classifier: by loops, padded, and answer by answer of its states."""

import numpy as np
import pytest
import torch

from seqattn.attention import padding_mask
from seqattn.models import SentenceClassifier
from tests.hostile import every_rubbish, other_words, spoil_embeddings

SOURCE, LENGTHS = torch.tensor([[5, 6, 7, 3, 4], [8, 9, 0, 0, 0]]), torch.tensor([5, 2])


@pytest.mark.parametrize("encoder", ["gru", "words"])
def test_by_loops(encoder):
    torch.manual_seed(0)
    model = SentenceClassifier(11, classes=3, d=4, encoder=encoder).double()
    logits, weights = model(SOURCE, LENGTHS)
    score = model.attention.score
    W_q, W_k, v, q = (x.detach().numpy() for x in (score.W_q, score.W_k, score.v, model.query))
    W_o, b = (x.detach().numpy() for x in (model.readout.weight, model.readout.bias))
    for row, n in enumerate(LENGTHS):
        # Alone, without padding.
        one = model.embedding(SOURCE[row : row + 1, :n])
        states = model.states(one, LENGTHS[row : row + 1])[0].detach().numpy()
        e = np.array([v @ np.tanh(W_q @ q + W_k @ h) for h in states])
        alpha = np.exp(e) / np.exp(e).sum()
        np.testing.assert_allclose(weights[row, :n].detach(), alpha)
        assert not weights[row, n:].any()
        # The answer is the mean of the answers that the single states would give.
        answers = states @ W_o.T + b
        np.testing.assert_allclose(logits[row].detach(), alpha @ answers)


@every_rubbish
@pytest.mark.parametrize("encoder", ["gru", "words"])
def test_what_stands_at_padding_reaches_nothing(encoder, rubbish):
    torch.manual_seed(0)
    model, real = SentenceClassifier(11, d=4, encoder=encoder), padding_mask(LENGTHS, 5)
    expected = model(SOURCE, LENGTHS)
    expected[0].sum().backward()
    clean = {name: weights.grad for name, weights in model.named_parameters()}
    model.zero_grad()
    with spoil_embeddings(model.embedding, SOURCE, real, rubbish):
        found = model(other_words(SOURCE, real, 11), LENGTHS)
    assert all(map(torch.equal, found, expected))
    found[0].sum().backward()
    for name, weights in model.named_parameters():
        assert torch.equal(weights.grad, clean[name]), name


def test_a_state_is_its_word_or_has_read_the_others():
    torch.manual_seed(0)
    other = SOURCE.clone()
    other[0, 0] = 10
    for encoder, moved in (("words", [0]), ("gru", [0, 1, 2, 3, 4])):
        model = SentenceClassifier(11, d=4, encoder=encoder)
        a, b = (model.states(model.embedding(ids), LENGTHS)[0] for ids in (SOURCE, other))
        assert (a != b).any(-1).nonzero()[:, 0].tolist() == moved


def test_refused():
    with pytest.raises(ValueError, match="encoder is 'lstm'; expected 'gru' or 'words'"):
        SentenceClassifier(11, encoder="lstm")
    with pytest.raises(ValueError, match="d is 5; expected an even number"):
        SentenceClassifier(11, d=5)
    with pytest.raises(ValueError, match="d is 0; expected at least 1"):
        SentenceClassifier(11, d=0)
    with pytest.raises(ValueError, match="classes is 0; expected at least 1"):
        SentenceClassifier(11, classes=0)

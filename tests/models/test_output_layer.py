"""A fresh model that knows how frequent words are."""

import pytest
import torch

from seqattn.models import ModelConfig, build_model, guess_frequencies, tie_matrices

ARCHITECTURES = ("bahdanau", "luong", "fixed", "transformer")
TARGETS = [[4, 5, 5, 2], [5, 2], [6, 5, 2]]


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_the_first_guess_is_the_frequency_of_each_token(architecture):
    model = build_model(ModelConfig(d_embed=8, d_hidden=8).changed(architecture=architecture), 9, 8)
    guess_frequencies(model.vocabulary, TARGETS)
    with torch.no_grad():
        model.vocabulary.weight.zero_()
        source, lengths = torch.tensor([[7, 2]]), torch.tensor([2])
        found = model.eval()(source, lengths, torch.tensor([[1, 4]])).logits.softmax(-1)
    counts = torch.tensor([0, 0, 3, 0, 1, 4, 1, 0]) + 1.0
    torch.testing.assert_close(found, (counts / counts.sum()).expand(1, 2, -1))


def test_only_the_bias_changes():
    model = build_model(ModelConfig(d_embed=8, d_hidden=8), 9, 8)
    before = {name: p.clone() for name, p in model.named_parameters()}
    guess_frequencies(model.vocabulary, TARGETS)
    changed = [name for name, p in model.named_parameters() if not torch.equal(p, before[name])]
    assert changed == ["decoder.vocabulary.bias"]


def test_matrices_of_other_sizes_are_not_tied():
    source, target = torch.nn.Embedding(7, 4), torch.nn.Embedding(7, 4)
    with pytest.raises(
        ValueError, match="as many logits as the target has tokens; they are 9 and 7"
    ):
        tie_matrices("output", source, target, torch.nn.Linear(4, 9))
    with pytest.raises(ValueError, match="embeddings of one size; they are 5 and 4"):
        tie_matrices("all", torch.nn.Embedding(7, 5), target, torch.nn.Linear(4, 7))


def test_a_token_beyond_the_vocabulary_is_refused_unless_it_is_copied():
    layer = torch.nn.Linear(4, 6)
    with pytest.raises(ValueError, match="token 6 is in the targets; expected below 6"):
        guess_frequencies(layer, [[4, 6, 2]])
    guess_frequencies(layer, [[4, 6, 2]], size=6)  # a word copied from the source
    assert layer.bias.exp().sum().item() == pytest.approx(1.0, abs=1e-6)

"""Reading sentences, packed or step by step, against one sentence after the other."""

import pytest
import torch
from torch import nn

from seqattn.attention import padding_mask
from seqattn.models.encoder import read_sentences
from seqattn.models.rnn import make_rnn, run_steps
from tests.hostile import RUBBISH, spoil

BATCH, POSITIONS, D_INPUT, D = 4, 6, 3, 5
LENGTHS = {
    "ragged": torch.tensor([2, 6, 1, 4]),
    "full": torch.tensor([6, 6, 6, 6]),
    "padded further": torch.tensor([2, 5, 1, 4]),
}


def read_as_pytorch(rnn, inputs, lengths):
    """One sentence after the other: nothing to pad, nothing to pack."""
    states = inputs.new_zeros(BATCH, POSITIONS, D * (2 if rnn.bidirectional else 1))
    finals = []
    for row, length in enumerate(lengths.tolist()):
        seen, final = rnn(inputs[row : row + 1, :length])
        states[row, :length] = seen[0]
        finals.append(final[0] if isinstance(final, tuple) else final)
    return states, torch.cat(finals, 1)


@pytest.mark.parametrize("lengths", LENGTHS.values(), ids=LENGTHS)
@pytest.mark.parametrize("bidirectional", [False, True], ids=["one way", "both ways"])
@pytest.mark.parametrize("layers", [1, 3])
@pytest.mark.parametrize("kind", [nn.GRU, nn.LSTM])
def test_both_ways_are_pytorchs_layers(kind, layers, bidirectional, lengths):
    rnn = kind(D_INPUT, D, layers, batch_first=True, bidirectional=bidirectional).double()
    inputs = torch.randn(BATCH, POSITIONS, D_INPUT, dtype=torch.float64, requires_grad=True)
    mask = padding_mask(lengths, POSITIONS)
    given = [inputs, *rnn.parameters()]
    results = []
    for found in (
        read_sentences(rnn, inputs, lengths, mask),
        run_steps(rnn, inputs, mask=mask),
        read_as_pytorch(rnn, inputs, lengths),
    ):
        total = found[0].sin().sum() + (found[1] * torch.arange(D)).sum()
        results.append((*found, *torch.autograd.grad(total, given)))
    for packed, stepped, theirs in zip(*results):
        torch.testing.assert_close(packed, theirs, rtol=1e-10, atol=1e-12)
        torch.testing.assert_close(stepped, theirs, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("kind", ["gru", "lstm"])
def test_steps_begin_where_they_are_told(kind):
    rnn = make_rnn(kind, D_INPUT, D, 2)
    inputs, first = torch.randn(BATCH, POSITIONS, D_INPUT), torch.randn(2, 2, BATCH, D)
    hidden = tuple(first) if kind == "lstm" else first[0]
    states, final = run_steps(rnn, inputs, hidden)
    expected, last = rnn(inputs, hidden)
    torch.testing.assert_close(states, expected)
    torch.testing.assert_close(final, last[0] if kind == "lstm" else last)


@pytest.mark.parametrize("way", ["packed", "step by step"])
def test_what_stands_at_padding_reaches_nothing(way):
    rnn = make_rnn("lstm", D_INPUT, D, 2, bidirectional=True)
    lengths, mask = LENGTHS["ragged"], padding_mask(LENGTHS["ragged"], POSITIONS)
    inputs, found = torch.randn(BATCH, POSITIONS, D_INPUT), []
    for pad in (0.0, *RUBBISH.values()):
        given = spoil(inputs, mask, pad).requires_grad_()
        if way == "packed":
            states, final = read_sentences(rnn, given, lengths, mask)
        else:
            states, final = run_steps(rnn, given, mask=mask)
        total = states.square().sum() + final.sum()
        found.append((states, final, *torch.autograd.grad(total, [given, *rnn.parameters()])))
    for spoilt in found[1:]:
        for one, other in zip(found[0], spoilt):
            assert torch.equal(one, other)


def test_layers_drop_features_between_them_in_training_alone():
    rnn = nn.GRU(D_INPUT, D, 2, batch_first=True, dropout=0.5)
    inputs, lengths = torch.randn(BATCH, POSITIONS, D_INPUT), LENGTHS["full"]
    mask = padding_mask(lengths, POSITIONS)

    def states():
        return read_sentences(rnn, inputs, lengths, mask).states

    rnn.eval()
    torch.testing.assert_close(states(), states())
    rnn.train()
    assert not torch.equal(states(), states())

"""Bridge and readouts: the formulas."""

import numpy as np
import pytest
import torch

from seqattn.models.decoder import Bridge
from seqattn.models.readouts import (
    LinearReadout,
    MaxoutReadout,
    Readout,
    TanhReadout,
    make_readout,
)

BATCH, STEPS, D_HIDDEN, D_CONTEXT, D_EMBED, D_FEATURES = 3, 5, 7, 11, 13, 2


def parts(*lead):
    return [torch.randn(*lead, d).double() for d in (D_HIDDEN, D_CONTEXT, D_EMBED)]


def test_tanh_is_luongs_attentional_vector():
    readout = TanhReadout(D_HIDDEN, D_CONTEXT, D_FEATURES).double()
    s, c, e = parts(BATCH)
    W_c = readout.W_c.weight.detach().numpy()
    for row, found in enumerate(readout(s, c, e)):
        expected = np.tanh(W_c @ np.concatenate([c[row], s[row]]))
        torch.testing.assert_close(found, torch.as_tensor(expected))


def test_maxout_keeps_the_larger_of_each_pair():
    readout = MaxoutReadout(D_HIDDEN, D_CONTEXT, D_EMBED, D_FEATURES).double()
    s, c, e = parts(BATCH)
    W, b = readout.W.weight.detach().numpy(), readout.W.bias.detach().numpy()
    U_o, C_o, V_o = np.split(W, [D_HIDDEN, D_HIDDEN + D_CONTEXT], 1)
    for row, found in enumerate(readout(s, c, e)):
        t = U_o @ s[row].numpy() + C_o @ c[row].numpy() + V_o @ e[row].numpy() + b
        expected = [max(t[j], t[j + D_FEATURES]) for j in range(D_FEATURES)]
        torch.testing.assert_close(found, torch.as_tensor(expected))


def test_linear_joins_its_inputs_as_they_are():
    s, c, e = parts(BATCH)
    readout = LinearReadout(D_HIDDEN, D_CONTEXT, D_EMBED)
    assert readout.d_features == D_HIDDEN + D_CONTEXT + D_EMBED
    assert torch.equal(readout(s, c, e), torch.cat([s, c, e], -1))


@pytest.mark.parametrize("name", ["linear", "tanh", "maxout"])
def test_one_step_is_a_row_of_all_steps(name):
    readout = make_readout(name, D_HIDDEN, D_CONTEXT, D_EMBED).double()
    s, c, e = parts(BATCH, STEPS)
    every = readout(s, c, e)
    assert every.shape == (BATCH, STEPS, readout.d_features)
    torch.testing.assert_close(readout(s[:, 2], c[:, 2], e[:, 2]), every[:, 2])


@pytest.mark.parametrize("name", ["linear", "tanh", "maxout"])
def test_a_decoder_without_a_context_has_a_readout(name):
    readout = make_readout(name, D_HIDDEN, 0, D_EMBED).double()
    s, _, e = parts(BATCH)
    assert readout(s, None, e).shape == (BATCH, readout.d_features)


def test_sizes_are_those_of_the_papers_by_default():
    assert make_readout("tanh", 1000, 2000, 620).d_features == 1000
    assert make_readout("maxout", 1000, 2000, 620).d_features == 500
    assert make_readout("maxout", 1000, 2000, 620, 31).d_features == 31


def test_impossible_readouts_are_refused():
    with pytest.raises(ValueError, match="readout is 'deep'; expected 'linear', 'tanh' or"):
        make_readout("deep", D_HIDDEN, D_CONTEXT, D_EMBED)
    with pytest.raises(ValueError, match="d_readout=3 does not suit readout='linear'"):
        make_readout("linear", D_HIDDEN, D_CONTEXT, D_EMBED, 3)
    for name in ("tanh", "maxout"):
        with pytest.raises(ValueError, match="d_readout is 0; expected at least 1"):
            make_readout(name, D_HIDDEN, D_CONTEXT, D_EMBED, 0)


def test_the_bridge_squashes_states_and_leaves_cells_unbounded():
    bridge = Bridge(D_CONTEXT, D_HIDDEN, cells=True).double()
    summary = 10 * torch.randn(BATCH, 1, D_CONTEXT).double()
    hidden = bridge(summary)
    for found, layer, squash in [
        (hidden.outputs[0], bridge.outputs[0], np.tanh),
        (hidden.cells[0], bridge.cells[0], lambda x: x),
    ]:
        W, b = layer.weight.detach().numpy(), layer.bias.detach().numpy()
        for row in range(BATCH):
            expected = squash(W @ summary[row, 0].numpy() + b)
            torch.testing.assert_close(found[row], torch.as_tensor(expected))


@pytest.mark.parametrize(
    ("encoder_layers", "decoder_layers", "read"),
    [(1, 1, [0]), (2, 2, [0, 1]), (3, 2, [1, 2]), (1, 3, [0, 0, 0]), (2, 3, [0, 0, 1])],
)
def test_layers_face_each_other_from_the_top(encoder_layers, decoder_layers, read):
    bridge = Bridge(D_CONTEXT, D_HIDDEN, decoder_layers)
    summary = torch.randn(BATCH, encoder_layers, D_CONTEXT, requires_grad=True)
    for layer, state in enumerate(bridge(summary).outputs):
        (gradient,) = torch.autograd.grad(state.sum(), summary, retain_graph=True)
        assert gradient.abs().sum((0, 2)).nonzero().flatten().tolist() == [read[layer]]


def test_a_readout_of_ones_own_must_say_what_it_does():
    with pytest.raises(NotImplementedError, match="Readout must define forward"):
        Readout()(*parts(BATCH))

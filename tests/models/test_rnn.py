"""Recurrent units step by step: the formulas, and PyTorch's own modules."""

from types import SimpleNamespace

import pytest
import torch
from torch import nn

from seqattn.models import rnn as rnn_module
from seqattn.models.rnn import (
    Hidden,
    gru_step,
    initialise,
    lstm_step,
    make_rnn,
    rnn_step,
    run_rnn,
)
from tests.models import oracles

BATCH, D_INPUT, D = 3, 5, 7


def close(a, b):
    torch.testing.assert_close(torch.as_tensor(a), b, atol=1e-12, rtol=0)


def a_cell(gates):
    shapes = [(gates * D, D_INPUT), (gates * D, D), (gates * D,), (gates * D,)]
    return [torch.randn(shape, dtype=torch.float64) for shape in shapes]


def test_a_gru_step_is_its_formula():
    W_i, W_h, b_i, b_h = a_cell(3)
    x, h = torch.randn(BATCH, D_INPUT).double(), torch.randn(BATCH, D).double()
    stepped = gru_step(x @ W_i.T + b_i, h, W_h, b_h)
    arrays = [p.numpy() for p in (W_i, W_h, b_i, b_h)]
    for row in range(BATCH):
        close(oracles.gru(x[row].numpy(), h[row].numpy(), *arrays), stepped[row])


def test_an_lstm_step_is_its_formula():
    W_i, W_h, b_i, b_h = a_cell(4)
    x, h, c = (torch.randn(BATCH, d).double() for d in (D_INPUT, D, D))
    stepped = lstm_step(x @ W_i.T + b_i, h, c, W_h, b_h)
    arrays = [p.numpy() for p in (W_i, W_h, b_i, b_h)]
    for row in range(BATCH):
        expected = oracles.lstm(x[row].numpy(), h[row].numpy(), c[row].numpy(), *arrays)
        close(expected[0], stepped[0][row])
        close(expected[1], stepped[1][row])


@pytest.mark.parametrize("cell", ["gru", "lstm"])
@pytest.mark.parametrize("layers", [1, 2, 3])
def test_steps_run_the_module_whose_weights_they_use(cell, layers):
    rnn = make_rnn(cell, D_INPUT, D, layers).double()
    x = torch.randn(BATCH, 11, D_INPUT).double()
    zeros = tuple(torch.zeros(BATCH, D).double() for _ in range(layers))
    hidden = Hidden(zeros, zeros if cell == "lstm" else None)
    expected, _ = rnn(x)
    for t in range(11):
        hidden = rnn_step(rnn, x[:, t], hidden)
        close(expected[:, t], hidden.outputs[-1])
    assert len(hidden.outputs) == layers


def test_dropout_between_layers_is_drawn_in_training_only():
    rnn = make_rnn("gru", D_INPUT, D, 2, dropout=0.5)
    zeros = (torch.zeros(BATCH, D),) * 2
    x = torch.randn(BATCH, D_INPUT)
    runs = [rnn_step(rnn, x, Hidden(zeros, None)).outputs for _ in range(2)]
    assert torch.equal(runs[0][0], runs[1][0])
    assert not torch.equal(runs[0][1], runs[1][1])
    rnn.eval()
    runs = [rnn_step(rnn, x, Hidden(zeros, None)).outputs for _ in range(2)]
    assert torch.equal(runs[0][1], runs[1][1])


def test_an_unknown_cell_is_refused():
    with pytest.raises(ValueError, match="cell is 'elman'; expected 'gru' or 'lstm'"):
        make_rnn("elman", D_INPUT, D, 1)


@pytest.mark.parametrize(("cell", "gates"), [("gru", 3), ("lstm", 4)])
def test_recurrent_matrices_start_orthogonal(cell, gates):
    rnn = make_rnn(cell, D_INPUT, D, 2, bidirectional=True)
    initialise(rnn)
    for name, p in rnn.named_parameters():
        if name.startswith("weight_hh"):
            for W in p.detach().reshape(gates, D, D):
                torch.testing.assert_close(W @ W.T, torch.eye(D))


def test_an_lstm_starts_by_remembering():
    rnn = make_rnn("lstm", D_INPUT, D, 1)
    initialise(rnn)
    bias = (rnn.bias_ih_l0 + rnn.bias_hh_l0).reshape(4, D)
    assert torch.equal(bias[1], torch.ones(D))
    assert torch.equal(bias[[0, 2, 3]], torch.zeros(3, D))


def test_padding_keeps_its_zero_embedding():
    embedding = nn.Embedding(7, 5, padding_idx=0)
    initialise(embedding)
    assert torch.equal(embedding.weight[0], torch.zeros(5))
    assert bool((embedding.weight[1:] != 0).all())


def test_an_embedding_without_padding_starts_whole():
    embedding = nn.Embedding(9, 4)
    initialise(embedding)
    assert embedding.weight.any(1).all()
    assert embedding.weight.std() < 0.2


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("cell", ["gru", "lstm"])
def test_where_cudnn_would_run_layers_get_the_type_of_their_weights(cell, dtype, monkeypatch):
    rnn = make_rnn(cell, D_INPUT, D, 2).to(dtype)
    x, first = torch.randn(BATCH, 5, D_INPUT), torch.randn(2, BATCH, D)
    given = first if cell == "gru" else (first, first)
    exact = first.to(dtype) if cell == "gru" else (first.to(dtype),) * 2
    expected, _ = rnn(x.to(dtype), exact)
    on_gpu = SimpleNamespace(is_cuda=True, dtype=dtype)
    monkeypatch.setattr(rnn_module, "weight", lambda *asked: on_gpu)
    found, _ = run_rnn(rnn, x, given)
    assert found.dtype == dtype
    close(found.double(), expected.double())

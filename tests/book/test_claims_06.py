"""Proofs and properties that chapters/claims/06_decoder.yml and its formulas name."""

import ast
from pathlib import Path

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from benchmarks import decoders
from seqattn.data import TINY, Batches
from seqattn.data.batches import Example
from seqattn.evaluation import which_steps_move
from seqattn.models import ModelConfig, build_model
from seqattn.specials import BOS, EOS
from seqattn.training import TrainingConfig
from seqattn.training.step import update

SOURCE, LENGTHS = torch.tensor([[5, 6, 7, 8, 2]]), torch.tensor([5])


def model_of(architecture, **options):
    torch.manual_seed(0)
    sizes = {"d_embed": 5, "d_hidden": 6, "d_encoder": 7}
    return build_model(ModelConfig(architecture, **sizes, **options), 11, 13).double().eval()


def test_the_numbers_by_hand():
    h, s_0 = TINY.h, TINY.s
    table = {
        "le": ([0.493, 0.507], [0.464, 0.367, 0.169], [0.422, 0.100], [0.438, 0.257, 0.305]),
        "un": ([-0.254, 0.851], [0.211, 0.722, 0.067], [-0.336, 0.664], [0.215, 0.691, 0.094]),
    }
    vectors = {"le": [0.2, -0.4], "un": [-0.6, 0.3]}
    first = (h @ s_0).softmax(0)
    for word, on_paper in table.items():
        e_y = torch.tensor(vectors[word], dtype=torch.float64)
        s_b = torch.tanh(0.5 * s_0 + 0.5 * first @ h + e_y)
        s_l = torch.tanh(0.5 * s_0 + e_y)
        found = (s_b, (h @ s_b).softmax(0), s_l, (h @ s_l).softmax(0))
        for x, numbers in zip(found, on_paper, strict=True):
            assert x.tolist() == pytest.approx(numbers, abs=0.00051)
    assert first.tolist() == pytest.approx([0.407, 0.522, 0.071], abs=0.00051)


@pytest.mark.parametrize(
    ("architecture", "options"),
    [("bahdanau", {}), ("luong", {}), ("luong", {"input_feeding": False})],
)
@pytest.mark.parametrize("score", ["additive", "dot", "general"])
@pytest.mark.parametrize("readout", ["linear", "tanh", "maxout"])
def test_ten_lines_are_the_packages_step_in_every_design(architecture, options, score, readout):
    sizes = {"d_embed": 5, "d_hidden": 6, "d_encoder": 3}
    torch.manual_seed(0)
    config = ModelConfig(architecture, score=score, readout=readout, **sizes, **options)
    model = build_model(config, 11, 13).double().eval()
    part, rnn = model.decoder, model.decoder.rnn
    cell = nn.GRUCell(rnn.input_size, rnn.hidden_size).double()
    cell.load_state_dict({k.removesuffix("_l0"): v for k, v in rnn.state_dict().items()})
    state, memory = model.begin(SOURCE, LENGTHS)
    s, fed = state.hidden.outputs[-1], torch.zeros(1, part.readout.d_features).double()
    before, feeding = architecture == "bahdanau", options.get("input_feeding", True)
    for y in torch.tensor([[1], [4], [5]]):
        word, extra = part.embedding(y), []
        if before:
            context, weights = part.attention(s, memory)
        if feeding:
            extra = [context if before else fed]
        s = cell(torch.cat([word, *extra], -1), s)
        if not before:
            context, weights = part.attention(s, memory)
        fed = part.readout(s, context, word)
        step = model.step(y, state, memory)
        torch.testing.assert_close((part.vocabulary(fed), weights), (step.logits, step.weights))
        state = step.state


def test_readouts_are_their_formulas():
    s, c, word = (torch.randn(1, d, dtype=torch.float64) for d in (6, 14, 5))
    tanh, maxout = model_of("luong").decoder.readout, model_of("bahdanau").decoder.readout
    expected = torch.tanh(tanh.W_c.weight @ torch.cat([c[0], s[0]]))
    torch.testing.assert_close(tanh(s, c, word)[0], expected)
    U_o, C_o, V_o = maxout.W.weight.split((6, 14, 5), 1)
    u = U_o @ s[0] + V_o @ word[0] + C_o @ c[0] + maxout.W.bias
    expected = torch.stack([max(u[j], u[j + 3]) for j in range(3)])
    torch.testing.assert_close(maxout(s, c, word)[0], expected)


def test_the_gradient_behind_a_tanh_is_that_of_the_formula():
    torch.manual_seed(0)
    x, W_c, W_o = (torch.randn(*n, dtype=torch.float64) for n in ((9,), (4, 9), (7, 4)))
    W_c.requires_grad_()
    features = torch.tanh(W_c @ x)
    p = (W_o @ features).softmax(0)
    F.cross_entropy(W_o @ features, torch.tensor(3)).backward()
    wrong = p - F.one_hot(torch.tensor(3), 7)
    back = (1 - features**2) * (W_o.T @ wrong)
    torch.testing.assert_close(W_c.grad, back[:, None] * x)


def test_at_the_start_the_mean_error_points_the_same_way_for_every_sentence():
    # Uniform p, so that the mean of p - y is what the frequencies lack; with their logarithms as
    # bias it is zero.
    words = torch.tensor([0, 0, 0, 0, 1, 1, 2, 3])
    f = torch.bincount(words).double() / len(words)
    one_hot = F.one_hot(words).double()
    uniform = torch.full((4,), 0.25, dtype=torch.float64)
    assert ((uniform - one_hot).mean(0) - (uniform - f)).abs().max() < 1e-12
    assert (f.log().softmax(0) - one_hot).mean(0).abs().max() < 1e-12


@pytest.mark.parametrize("cell", ["gru", "lstm"])
def test_the_first_state_is_that_of_the_formula(cell):
    model = model_of("luong", cell=cell, layers=2)
    encoded = model.encoder(SOURCE, LENGTHS)
    _, hidden = model.encoder.rnn(model.encoder.embedding(SOURCE))
    final = hidden[0] if cell == "lstm" else hidden
    summary = torch.stack([torch.cat([*final[i : i + 2]], -1) for i in (0, 2)], 1)
    torch.testing.assert_close(encoded.summary, summary)
    start = model.decoder.bridge(encoded.summary)
    assert len(start.outputs) == 2
    assert all(x.abs().max() < 1 for x in start.outputs)
    assert (start.cells is None) == (cell == "gru")
    far = model.decoder.bridge(1e3 * encoded.summary)
    assert all(x.abs().max() <= 1 for x in far.outputs)
    assert cell == "gru" or max(x.abs().max() for x in far.cells) > 1  # a cell has no bounds


def test_what_is_read_is_one_word_behind_what_is_said():
    pairs = [Example([5, 6, EOS], [7, 8, 9, EOS]), Example([5, EOS], [4, EOS])]
    batch = Batches(pairs).take([0, 1])
    assert batch.inputs.tolist() == [[BOS, 7, 8, 9], [BOS, 4, 0, 0]]
    assert batch.targets.tolist() == [[7, 8, 9, EOS], [4, EOS, 0, 0]]


def test_the_loss_is_the_mean_over_real_tokens():
    model = model_of("luong").float()
    batches = Batches([Example([5, 6, EOS], [7, 8, 9, EOS]), Example([5, EOS], [4, EOS])])
    batch = batches.take([0, 1])
    logits, _ = model(batch.source, batch.lengths, batch.inputs)
    each = -logits.log_softmax(-1).gather(-1, batch.targets[..., None])[..., 0]
    expected = sum(each[0, t] for t in range(4)) + sum(each[1, t] for t in range(2))
    optimizer = torch.optim.SGD(model.parameters(), 0.0)
    loss, _ = update(model, optimizer, batch, lr=0.0, smoothing=0.0, clip=1.0, teacher_forcing=1.0)
    assert loss.mean.item() == pytest.approx(expected.item() / 6, rel=1e-5)


@pytest.mark.slow
def test_without_the_shift_the_loss_vanishes_and_nothing_is_learned():
    # Targets are thrown with dice: there is nothing to learn but to copy what one is told.
    losses = {}
    for shifted in (True, False):
        torch.manual_seed(0)
        model = build_model(ModelConfig("luong", d_embed=16, d_hidden=16, dropout=0.0), 11, 11)
        optimizer = torch.optim.Adam(model.parameters(), 0.02)
        for _ in range(150):
            words = torch.randint(4, 11, (32, 4))
            said = F.pad(words, (0, 1), value=EOS)
            read = F.pad(words, (1, 0), value=BOS) if shifted else said
            source = F.pad(torch.randint(4, 11, (32, 4)), (0, 1), value=EOS)
            logits, _ = model(source, torch.full((32,), 5), read)
            loss = F.cross_entropy(logits.flatten(0, 1), said.flatten())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        losses[shifted] = loss.item()
    assert losses[False] < 0.05
    assert losses[True] > 1.0


def test_the_values_probe_takes_a_decoder_that_keeps_its_context_out_for_luongs():
    designs = {cell: decoders.build(decoders.Cell(*cell), 11, 13) for cell in decoders.DESIGNS}
    moved = {
        cell: which_steps_move(model, [5, 6, 7, 8, 2], [1, 4, 5, 6, 7, 8], "values")
        for cell, model in designs.items()
    }
    assert moved["before", False] == moved["after", False]
    assert moved["after", False].states == ()
    assert moved["after", False].logits == (1, 2, 3, 4, 5, 6)
    others = [moved[cell] for cell in (("after", False), ("before", True), ("after", True))]
    assert len(set(others)) == 3


LATER = ["training_choices", "local", "copying", "choosing", "heads", "self_attention", "positions"]


@pytest.mark.parametrize("name", [*LATER, "transformer", "seeds"])
def test_trainings_of_later_chapters_begin_at_the_frequencies(name):
    tree = ast.parse(Path(decoders.__file__).with_name(f"{name}.py").read_text(encoding="utf-8"))
    calls = [
        n for n in ast.walk(tree) if isinstance(n, ast.Call) and getattr(n.func, "id", "") == "fit"
    ]
    assert calls
    for call in calls:
        told = {word.arg: word.value for word in call.keywords}
        assert ast.literal_eval(told["guess"]) is True


def test_the_trainer_begins_at_the_frequencies_unless_told_otherwise():
    assert TrainingConfig(steps=1).guess

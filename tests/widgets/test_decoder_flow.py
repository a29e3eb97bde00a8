"""What the figure of boxes and arrows says of a decoder is what real decoders do."""

import pytest
import torch

import benchmarks.decoders
import seqattn.models.decoder
from benchmarks.decoders import Cell, build
from seqattn.evaluation import which_steps_move
from seqattn.widgets import DecoderFlow
from seqattn.widgets.decoder_flow import BOXES, STEPS

SOURCE, INPUTS = torch.tensor([[5, 6, 7, 8, 2]]), [1, 4, 5]
DESIGNS = [
    (order, fed, readout)
    for order in ("before", "after")
    for fed in (False, True)
    for readout in ("linear", "tanh", "maxout")
] + [("after", False, "state alone"), ("after", True, "state alone")]


def decoder_of(order, fed, readout):
    torch.manual_seed(0)
    alone = readout == "state alone"
    cell = Cell(order, fed, "tanh" if alone else readout, ignores=alone)
    return build(cell, 11, 13).double().eval()


@torch.no_grad()
def run(model, box=None, at=None):
    """Take three steps, one box of one of them changed; give what each box held at each step."""
    decoder, seen = model.decoder, {name: [] for name in BOXES}
    now = [0]

    def is_changed(name):
        return box == name and at == now[0]

    def update(*given, rnn_step=seqattn.models.decoder.rnn_step):
        hidden = rnn_step(*given)
        if is_changed("s"):
            hidden = hidden._replace(outputs=tuple(x + 0.3 for x in hidden.outputs))
        seen["s"].append(hidden.outputs[-1])
        return hidden

    def look(query, memory, past, look=decoder.attention.look):
        context, weights, past = look(query, memory, past)
        if is_changed("alpha"):
            weights = weights.roll(1, -1) * 0.5
            context = torch.einsum("bk,bkd->bd", weights, memory.values)
        if is_changed("c"):
            context = context + 0.3
        seen["alpha"].append(weights)
        seen["c"].append(context)
        return context, weights, past

    def noting(name):
        def hook(part, args, output):
            output = output + 0.3 * torch.arange(output.shape[-1]) if is_changed(name) else output
            seen[name].append(output)
            return output

        return hook

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(decoder.attention, "look", look, raising=False)
        for module in (seqattn.models.decoder, benchmarks.decoders):
            patch.setattr(module, "rnn_step", update)
        hooks = [
            decoder.readout.register_forward_hook(noting("f")),
            decoder.vocabulary.register_forward_hook(noting("p")),
        ]
        state, memory = model.begin(SOURCE, torch.tensor([5]))
        for now[0], token in enumerate(INPUTS, start=1):
            seen["y"].append(torch.tensor([token + 3 if is_changed("y") else token]))
            state = model.step(seen["y"][-1], state, memory).state
    for hook in hooks:
        hook.remove()
    return seen


@pytest.mark.parametrize(("order", "fed", "readout"), DESIGNS)
def test_what_arrows_reach_is_what_moves_in_a_real_decoder(order, fed, readout):
    model = decoder_of(order, fed, readout)
    before = run(model)
    assert all(len(before[name]) == STEPS for name in BOXES)
    for what in BOXES:
        for step in range(1, STEPS + 1):
            after = run(model, what, step)
            moved = {
                name: [
                    t
                    for t in range(1, STEPS + 1)
                    if (name, t) != (what, step)
                    and (before[name][t - 1] - after[name][t - 1]).abs().max() > 1e-9
                ]
                for name in BOXES
            }
            figure = DecoderFlow(order, fed, readout, what, step)
            count = sum(map(len, moved.values()))
            assert figure.numbers() == {**moved, "boxes_that_move": count}, (what, step)


@pytest.mark.parametrize(("order", "fed", "readout"), DESIGNS)
def test_the_probes_see_what_the_figure_says(order, fed, readout):
    model = decoder_of(order, fed, readout)
    token = which_steps_move(model, SOURCE[0].tolist(), INPUTS, "token", at=2)
    moved = DecoderFlow(order, fed, readout, "y", 2).numbers()
    assert token == tuple(tuple(moved[name]) for name in ("s", "alpha", "p"))

    values = which_steps_move(model, SOURCE[0].tolist(), INPUTS, "values")
    reached = {name: set() for name in BOXES}
    for step in range(1, STEPS + 1):  # the values enter every context
        figure = DecoderFlow(order, fed, readout, "c", step).numbers()
        for name in BOXES:
            reached[name].update(figure[name])
    assert values == tuple(tuple(sorted(reached[name])) for name in ("s", "alpha", "p"))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"order": "luong"}, "order is 'luong'; expected one of 'before', 'after'"),
        ({"readout": "relu"}, "readout is 'relu'; expected one of 'tanh'"),
        ({"what": "h"}, "what is 'h'; expected one of 'y', 's'"),
        ({"step": 4}, "step is 4; expected one of 1, 2, 3"),
    ],
)
def test_errors_say_what_came_and_what_was_expected(given, message):
    with pytest.raises(ValueError, match=message):
        DecoderFlow(**given)

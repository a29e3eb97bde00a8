"""Gradients put off until after the loop, against automatic differentiation as it is."""

import gc
import weakref
from contextlib import nullcontext

import pytest
import torch
from torch.nn import functional as F

from seqattn.models import decoders, late
from seqattn.models.late import late_gradients
from tests.models.families import batch, every_kind

B, S, D, STEPS = 3, 4, 5, 6


def operands():
    torch.manual_seed(0)
    shapes = {"W": (D, D), "b": (D,), "keys": (B, S, D), "values": (B, S, D), "first": (B, D)}
    return {
        name: torch.randn(shape, dtype=torch.float64, requires_grad=True)
        for name, shape in shapes.items()
    }


def run(given, context):
    """A loop with each kind of product: a layer, a dot score, a weighted sum, a bilinear form."""
    x, seen = given["first"], []
    with context:
        for _ in range(STEPS):
            query = F.linear(x, given["W"], given["b"]) @ given["W"]
            weights = (given["keys"] @ query.unsqueeze(-1)).squeeze(-1).softmax(-1)
            x = torch.tanh((weights.unsqueeze(1) @ given["values"]).squeeze(1) + query)
            seen.append(x)
    return torch.stack(seen, 1).square().sum()


def gradients(total, given, **options):
    return dict(zip(given, torch.autograd.grad(total, list(given.values()), **options)))


@pytest.mark.parametrize(
    "frozen", ["", "W", "b", "keys", "values", "first", "W b first", "W b first keys"]
)
def test_gradients_are_those_of_the_plain_loop(frozen):
    given = operands()
    for name in frozen.split():
        given[name].requires_grad_(False)
    plain, late = run(given, nullcontext()), run(given, late_gradients())
    assert torch.equal(plain, late)
    learning = {name: value for name, value in given.items() if value.requires_grad}
    expected, found = gradients(plain, learning), gradients(late, learning)
    for name in learning:
        torch.testing.assert_close(found[name], expected[name], rtol=1e-12, atol=1e-12)


def test_an_operand_gets_its_gradient_in_one_product_for_all_steps():
    given = operands()
    total = run(given, late_gradients())
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        gradients(total, given)
    products = [event for event in profile.events() if event.name in ("aten::mm", "aten::bmm")]
    # Each of four operands (W as a layer, W as a form, keys, values) passes something back at each
    # step, and has one product of its own.
    assert len(products) == 4 * STEPS + 4


def test_a_graph_that_is_kept_gives_the_same_again():
    given = operands()
    total = run(given, late_gradients())
    first = gradients(total, given, retain_graph=True)
    second = gradients(total, given)
    for name in given:
        assert torch.equal(first[name], second[name])


def test_a_pass_that_needs_only_some_gradients_leaves_nothing_behind():
    given = operands()
    total = run(given, late_gradients())
    [alone] = torch.autograd.grad(total, [given["first"]], retain_graph=True)
    whole = gradients(total, given)
    expected = gradients(run(given, nullcontext()), given)
    torch.testing.assert_close(alone, expected["first"], rtol=1e-12, atol=1e-12)
    for name in given:
        torch.testing.assert_close(whole[name], expected[name], rtol=1e-12, atol=1e-12)


def test_nothing_outlives_the_pass(monkeypatch):
    # Without the collector of cycles, which comes late, and rarely where memory is on a GPU.
    born = []
    begin = late._Shared.__init__

    def watched(shared, *operands):
        begin(shared, *operands)
        born.append(weakref.ref(shared))

    monkeypatch.setattr(late._Shared, "__init__", watched)
    gc.collect()
    gc.disable()
    try:
        given = operands()
        run(given, late_gradients()).backward()
        assert born
        assert not [shared for shared in born if shared() is not None]
        run(given, late_gradients())  # and a pass that nobody goes back
        assert not [shared for shared in born if shared() is not None]
    finally:
        gc.enable()


def test_in_half_precision_sums_are_rounded_once():
    torch.manual_seed(0)
    W = torch.randn(8, 16, requires_grad=True)
    xs = torch.randn(64, 2, 16)
    found = []
    for context in (nullcontext(), late_gradients()):
        with torch.autocast("cpu", torch.bfloat16), context:
            total = sum(F.linear(x, W).float().sum() for x in xs)
        found.append(torch.autograd.grad(total, [W])[0])
    exact = xs.bfloat16().double().sum((0, 1)).expand(8, 16)
    plain, late = ((g.double() - exact).abs().mean() for g in found)
    assert found[1].dtype == torch.float32
    assert late < plain


def test_without_gradients_nothing_is_put_off():
    with torch.no_grad():
        assert isinstance(late_gradients(), nullcontext)


def test_sizes_that_do_not_fit_are_refused_as_ever():
    W = torch.randn(4, 3, requires_grad=True)
    with late_gradients(), pytest.raises(RuntimeError, match="shapes"):
        F.linear(torch.randn(2, 5), W)


def test_second_derivatives_are_refused():
    W = torch.randn(4, 3, requires_grad=True)
    with late_gradients():
        total = F.linear(torch.randn(2, 3), W).square().sum()
    [g] = torch.autograd.grad(total, [W], create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        g.sum().backward()


@every_kind
def test_every_decoder_learns_the_same(family, monkeypatch):
    model, given = family.build(), batch()
    found = []
    for context in (late_gradients, nullcontext):
        monkeypatch.setattr(decoders, "late_gradients", context)
        logits, _ = model(*given)
        found.append(torch.autograd.grad(logits.square().mean(), list(model.parameters())))
    for ours, plain in zip(*found):
        torch.testing.assert_close(ours, plain, rtol=1e-9, atol=1e-12)

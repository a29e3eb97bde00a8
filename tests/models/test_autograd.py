"""Whole models under automatic differentiation: what PyTorch promises of any program holds."""

import pytest
import torch

from tests.models.families import PLAIN, SPECIAL, batch, each, every_kind

CHANGED = "modified (by an inplace operation|inplace)"


def total(model, given, weights=None):
    """A number that all logits move."""
    if weights is None:
        return model(*given).logits.square().mean()
    return torch.func.functional_call(model, weights, given).logits.square().mean()


# A hard choice has no derivative: what it passes back is an estimate by design.
@each([family for family in PLAIN + SPECIAL if "hard" not in family.name])
def test_second_derivatives(family):
    model, given = family.build(), batch()
    weights = [p for p in model.parameters() if p.requires_grad]
    first = torch.autograd.grad(total(model, given), weights, create_graph=True)
    direction = [torch.randn_like(p) for p in weights]
    along = sum((g * d).sum() for g, d in zip(first, direction))
    second = torch.autograd.grad(along, weights, materialize_grads=True)

    step, moved = 1e-5, []
    for sign in (1, -1):
        with torch.no_grad():
            for p, d in zip(weights, direction):
                p += sign * step * d
        moved.append(torch.autograd.grad(total(model, given), weights))
        with torch.no_grad():
            for p, d in zip(weights, direction):
                p -= sign * step * d
    for exact, ahead, behind in zip(second, *moved):
        torch.testing.assert_close(exact, (ahead - behind) / (2 * step), rtol=1e-4, atol=1e-5)


@every_kind
def test_gradients_as_a_transform_of_functions(family):
    model, given = family.build(), batch()
    weights = dict(model.named_parameters())
    found = torch.func.grad(lambda weights: total(model, given, weights))(weights)
    plain = torch.autograd.grad(total(model, given), list(weights.values()))
    for ours, expected in zip(found.values(), plain, strict=True):
        torch.testing.assert_close(ours, expected, rtol=1e-10, atol=1e-12)


@every_kind
def test_weights_changed_between_forward_and_backward_are_an_error(family):
    model, given = family.build(), batch()
    embeddings = {"encoder.embedding.weight", "decoder.embedding.weight"}  # looked up, not read
    matrices = [
        name for name, p in model.named_parameters() if p.dim() > 1 and name not in embeddings
    ]
    assert matrices
    for name in matrices:
        loss = total(model, given)
        with torch.no_grad():
            model.get_parameter(name).mul_(2)
        with pytest.raises(RuntimeError, match=CHANGED):
            loss.backward()
        with torch.no_grad():
            model.get_parameter(name).div_(2)


@each([family for family in PLAIN + SPECIAL if family.attention])
def test_states_changed_between_forward_and_backward_are_an_error(family):
    model, (source, lengths, inputs) = family.build(), batch()
    encoded = model.encoder(source, lengths)
    logits, _ = model.decoder(inputs, encoded)
    with torch.no_grad():
        encoded.states.mul_(2)
        encoded.summary.mul_(2)
    with pytest.raises(RuntimeError, match=CHANGED):
        logits.sum().backward()

"""Two changes that tell decoders apart: another token, and other values under the same keys."""

import pytest
import torch

from seqattn.evaluation import which_steps_move
from seqattn.models import ModelConfig, build_model

SOURCE, INPUTS = [5, 6, 7, 8, 2], [1, 4, 5, 6, 7, 8]
FROM_4, ALL, NONE = (4, 5, 6), (1, 2, 3, 4, 5, 6), ()
DESIGNS = {
    "bahdanau": ({}, (FROM_4, (5, 6), FROM_4), (ALL, (2, 3, 4, 5, 6), ALL)),
    "luong, no feeding": ({"input_feeding": False}, (FROM_4, FROM_4, FROM_4), (NONE, NONE, ALL)),
    "luong": ({}, (FROM_4, FROM_4, FROM_4), ((2, 3, 4, 5, 6), (2, 3, 4, 5, 6), ALL)),
}


def model_of(name, **options):
    torch.manual_seed(0)
    return build_model(ModelConfig(name.split(",")[0], d_embed=5, d_hidden=6, **options), 11, 13)


@pytest.mark.parametrize("score", ["additive", "dot", "general"])
@pytest.mark.parametrize(("cell", "layers"), [("gru", 1), ("lstm", 1), ("gru", 2)])
@pytest.mark.parametrize("name", DESIGNS)
def test_designs_are_told_apart_whatever_their_score_and_unit(name, score, cell, layers):
    options, token, values = DESIGNS[name]
    model = model_of(name, score=score, cell=cell, layers=layers, dropout=0.5, **options)
    before = {key: x.clone() for key, x in model.state_dict().items()}
    assert which_steps_move(model, SOURCE, INPUTS, "token") == token
    assert which_steps_move(model, SOURCE, INPUTS, "values") == values
    assert model.training
    for key, x in model.state_dict().items():
        assert torch.equal(x, before[key])


def test_the_step_can_be_chosen():
    moved = which_steps_move(model_of("bahdanau"), SOURCE, INPUTS, "token", at=6)
    assert moved == ((6,), (), (6,))


@pytest.mark.parametrize(
    ("name", "change", "at", "message"),
    [
        ("luong", "keys", 4, "change is 'keys'; expected 'token' or 'values'"),
        ("luong", "token", 7, "at is 7; expected a step from 1 to 6"),
        ("luong", "token", 0, "at is 0; expected a step from 1 to 6"),
        ("fixed", "values", 4, "the model has no attention"),
    ],
)
def test_bad_input_is_named(name, change, at, message):
    with pytest.raises(ValueError, match=message):
        which_steps_move(model_of(name), SOURCE, INPUTS, change, at=at)

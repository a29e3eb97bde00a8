"""Schedules and settings: their shapes, their limits, and what they refuse."""

import json
import math
from dataclasses import asdict
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqattn.cli.train_options import apply_settings
from seqattn.models import ModelConfig
from seqattn.training import TrainingConfig
from seqattn.training.config import check_together
from seqattn.training.schedules import LEARNING_RATES, SAMPLING


@pytest.mark.parametrize("name", LEARNING_RATES)
def test_learning_rates_rise_linearly_to_their_peak(name):
    rates = [LEARNING_RATES[name](step, 7, 0.0) for step in range(1, 8)]
    assert rates == pytest.approx([i / 7 for i in range(1, 8)])


@pytest.mark.parametrize("name", LEARNING_RATES)
@given(step=st.integers(1, 10**6), steps=st.integers(0, 1000), done=st.floats(0, 2))
def test_learning_rates_stay_between_nothing_and_the_peak(name, step, steps, done):
    assert 0 <= LEARNING_RATES[name](step, steps, done) <= 1


def test_cosine_ends_at_nothing_and_is_half_way_in_the_middle():
    config = TrainingConfig(steps=100, lr=0.3, warmup=10)
    assert config.learning_rate(51, 0.5) == pytest.approx(0.15)
    assert config.learning_rate(101, 1.0) == pytest.approx(0.0, abs=1e-12)


def test_inverse_square_root_is_that_of_vaswani_up_to_its_constant():
    config = TrainingConfig(steps=9, lr=1.0, warmup=4000, schedule="inverse_square_root")
    for step in (1, 1999, 4000, 4001, 100_003):
        formula = min(step**-0.5, step * 4000**-1.5)
        assert config.learning_rate(step, 0) == pytest.approx(formula * math.sqrt(4000))


@pytest.mark.parametrize(
    ("name", "constant"), [("linear", 0.01), ("exponential", 0.9), ("inverse_sigmoid", 13)]
)
def test_share_of_true_inputs_falls_from_one_to_nothing(name, constant):
    config = TrainingConfig(steps=1, sampling=name, sampling_constant=constant)
    shares = [config.teacher_forcing(step) for step in range(1, 400)]
    assert shares[0] > 0.8
    assert shares[-1] < 1e-8
    assert all(0 <= b <= a <= 1 for a, b in pairwise(shares))
    assert set(SAMPLING) == {"linear", "exponential", "inverse_sigmoid"}


def test_the_first_budget_that_is_used_up_ends_the_run():
    config = TrainingConfig(steps=100, epochs=10, minutes=1)
    assert config.budget_used(50, 1, 3) == 0.5
    assert config.budget_used(50, 1, 45) == 0.75
    assert config.budget_used(50, 11, 45) >= 1


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({}, "no budget"),
        ({"steps": 0}, "steps is 0; expected a whole number of at least 1, or None"),
        ({"steps": -1}, "steps is -1; expected a whole number of at least 1"),
        ({"minutes": 1, "lr": 0.0}, "lr is 0.0; expected a number above 0"),
        ({"minutes": 1, "lr": float("nan")}, "lr is nan; expected a number above 0"),
        ({"epochs": float("nan")}, "epochs is nan; expected a number above 0"),
        ({"epochs": float("inf")}, "epochs is inf; expected a number above 0"),
        (
            {"steps": 1, "weight_decay": float("inf")},
            "weight_decay is inf; expected a number, 0 or more",
        ),
        ({"steps": 1, "first_look": 0}, "first_look is 0; expected a whole number"),
        ({"minutes": 1, "smoothing": 1.0}, "smoothing is 1.0; expected a number from 0 to below 1"),
        ({"minutes": 1, "batch_tokens": 0}, "batch_tokens is 0"),
        ({"steps": 1, "batch_tokens": 0.5}, "batch_tokens is 0.5; expected a whole number"),
        ({"steps": 1, "accumulate": 1.5}, "accumulate is 1.5; expected a whole number of at least"),
        ({"steps": True}, "steps is True; expected a whole number"),
        ({"steps": 1, "lr": "1e-3"}, "lr is '1e-3'; expected a number above 0"),
        ({"steps": 1, "bf16": 1}, "bf16 is 1; expected True or False"),
        ({"steps": 1, "schedule": "cosin"}, "schedule is 'cosin'; expected 'cosine', 'inverse_squ"),
        (
            {"steps": 1, "sampling_constant": 0.9},
            "sampling_constant=0.9 has no effect with sampling=None; it is for sampling='linear'",
        ),
        ({"steps": 1, "average": 1}, "average is 1; expected 0, or 2 or more"),
        ({"minutes": 1, "sampling": "linear"}, "sampling_constant is None"),
        ({"minutes": 1, "sampling": "linear", "sampling_constant": 2.0}, "between 0 and 1"),
        ({"minutes": 1, "sampling": "inverse_sigmoid", "sampling_constant": 0.5}, "1 or more"),
    ],
)
def test_settings_that_make_no_sense_are_refused(values, message, unchecked):
    with pytest.raises(ValueError, match=message):
        TrainingConfig(**values)


def test_settings_go_through_json():
    config = TrainingConfig(minutes=2.5, patience=3, sampling="exponential", sampling_constant=0.9)
    assert TrainingConfig(**json.loads(json.dumps(asdict(config)))) == config


def test_set_changes_the_field_of_either_dataclass():
    texts = ["d_hidden=64", "lr=1e-3", "score=dot", "bidirectional=false", "patience=none"]
    model, training = apply_settings(texts, ModelConfig(), TrainingConfig(steps=1, patience=2))
    assert (model.d_hidden, model.score, model.bidirectional) == (64, "dot", False)
    assert (training.lr, training.patience, training.steps) == (1e-3, None, 1)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("d_hiden=64", "NAME is one of architecture, "),
        ("d_hidden", "expected NAME=VALUE"),
        ("d_hidden=6.5", "--set d_hidden=6.5: expected a whole number of at least 1"),
        ("d_hidden=none", "--set d_hidden=none: expected a whole number of at least 1"),
        ("d_attn=big", "--set d_attn=big: expected a whole number of at least 1, or None"),
        ("cell=rnn", "--set cell=rnn: expected 'gru' or 'lstm'"),
        ("bidirectional=1", "expected True or False"),
        ("d_hidden=true", "--set d_hidden=true: expected a whole number"),
        ("lr=nan", "--set lr=nan: expected a number above 0"),
        ("accumulate=1.5", "--set accumulate=1.5: expected a whole number of at least 1"),
        ("architecture=foo", "--set architecture=foo: expected 'bahdanau', 'luong', "),
        ("rank=3", "rank=3 has no effect with score='additive'; it is for score='reduced_rank'"),
        ("coverage_penalty=0.1", "coverage_penalty is called doubly_stochastic_penalty now"),
    ],
)
def test_set_says_what_it_expected(text, message):
    with pytest.raises(ValueError, match=message):
        apply_settings([text], ModelConfig(), TrainingConfig(steps=1))


def test_what_a_preset_says_is_not_in_the_way_of_another_architecture():
    before = ModelConfig(d_embed=64, cell="lstm", readout="tanh", d_hidden=96)
    [model] = apply_settings(["architecture=transformer"], before)
    assert model == ModelConfig("transformer", d_hidden=96)
    with pytest.raises(ValueError, match="cell='lstm' has no effect with architecture='transfo"):
        apply_settings(["architecture=transformer", "cell=lstm"], before)


def test_a_renamed_setting_is_refused_with_its_new_name(unchecked):
    with pytest.raises(TypeError, match="coverage_penalty is called doubly_stochastic_penalty now"):
        TrainingConfig(steps=1, coverage_penalty=0.1)
    stored = asdict(TrainingConfig(steps=1, doubly_stochastic_penalty=0.1))
    stored["coverage_penalty"] = stored.pop("doubly_stochastic_penalty")
    assert TrainingConfig.from_stored(stored).doubly_stochastic_penalty == 0.1
    assert TrainingConfig.from_stored({"steps": 1, "average": 1}) == TrainingConfig(steps=1)


def test_what_an_earlier_version_let_through_still_loads():
    stored = asdict(ModelConfig("fixed", d_embed=7)) | {"attention": "coverage", "rank": 3}
    assert ModelConfig.from_stored(stored) == ModelConfig("fixed", d_embed=7)


@pytest.mark.parametrize(
    ("model", "training", "message"),
    [
        (ModelConfig("fixed"), {"coverage_loss": 0.1}, "coverage_loss is 0.1, and the model has a"),
        (ModelConfig("fixed"), {"doubly_stochastic_penalty": 1.0}, "architecture='fixed'; it is f"),
        (ModelConfig(copy=True), {"smoothing": 0.1}, "smoothing is 0.1, and the model has copy=Tr"),
    ],
)
def test_options_that_the_model_has_no_use_for_are_refused(model, training, message):
    with pytest.raises(ValueError, match=message):
        check_together(model, TrainingConfig(steps=1, **{"smoothing": 0.0, **training}))


def test_numbers_of_numpy_become_those_of_python(unchecked):
    config = ModelConfig(dropout=np.float32(0.25), d_hidden=np.int64(8))
    again = ModelConfig(**json.loads(json.dumps(asdict(config))))
    assert config == again == ModelConfig(dropout=0.25, d_hidden=8)
    with pytest.raises(ValueError, match=r"d_hidden is 1\.5; expected a whole number"):
        ModelConfig(d_hidden=np.float64(1.5))

"""The live figures under test: a new one is tested by adding it to this list."""

import pytest
import torch

from seqattn import widgets

FIGURES = {
    "AdditiveSteps": widgets.AdditiveSteps,
    "DecoderFlow": widgets.DecoderFlow,
    "FixedVersusDynamic": widgets.FixedVersusDynamic,
    "KernelSmoother": widgets.KernelSmoother,
    "LinearRegime": widgets.LinearRegime,
    "MapThroughTraining": lambda: widgets.MapThroughTraining(
        {
            update: torch.softmax(update / 40 * torch.eye(8, 7, dtype=torch.float64), -1)
            for update in (0, 50, 100, 200)
        },
        source=["the", "black", "cat", "slept", "there", ".", "<eos>"],
        target=["le", "chat", "noir", "dormait", "là-bas", "hier", ".", "<eos>"],
        row=1,
    ),
    "Recency": widgets.Recency,
    "ScoreGeometry": lambda: widgets.ScoreGeometry(score="general", stretch=1.5),
    "SoftLookup": widgets.SoftLookup,
    "SoftmaxTemperature": lambda: widgets.SoftmaxTemperature(mask=[True, True, False, True, True]),
    "Unrolled": lambda: widgets.Unrolled(orders=["none", "bahdanau", "luong", "luong, no feeding"]),
    "TurnedQuestion": lambda: widgets.TurnedQuestion(turn=60, asking=2),
    "WeightedSum": widgets.WeightedSum,
}


def agrees(shown, expected):
    """Assert that two trees of numbers have the same keys and differ by at most 1e-6."""
    assert type(shown) is type(expected) or {type(shown), type(expected)} == {int, float}
    if isinstance(expected, dict):
        assert list(shown) == list(expected)
        for name, value in expected.items():
            agrees(shown[name], value)
    elif isinstance(expected, list):
        assert len(shown) == len(expected)
        for one, other in zip(shown, expected, strict=True):
            agrees(one, other)
    elif isinstance(expected, float):
        assert shown == pytest.approx(expected, abs=1e-6, rel=1e-6)
    else:
        assert shown == expected

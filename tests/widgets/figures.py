"""The live figures under test: a new one is tested by adding it to this list."""

import pytest

from seqattn import widgets

FIGURES = {
    "AdditiveSteps": widgets.AdditiveSteps,
    "BarsBySlider": lambda: widgets.BarsBySlider(
        {"a": [0.3, -1.1, 2.0], "b": [1.0, 0.0], "c": [5.0]}, slider_label="row"
    ),
    "FixedVersusDynamic": widgets.FixedVersusDynamic,
    "KernelSmoother": widgets.KernelSmoother,
    "LinearRegime": widgets.LinearRegime,
    "Recency": widgets.Recency,
    "ScoreGeometry": lambda: widgets.ScoreGeometry(score="general", stretch=1.5),
    "SoftLookup": widgets.SoftLookup,
    "SoftmaxTemperature": lambda: widgets.SoftmaxTemperature(mask=[True, True, False, True, True]),
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

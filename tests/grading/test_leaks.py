"""What comes back from the sandbox: nonsense is refused, and nothing carries a hidden case out."""

import json
import re

import numpy as np
import pytest

from seqattn.grading.compare import visible_shape
from seqattn.grading.sandbox import wire
from seqattn.grading.sandbox.host import frames
from tests.grading.conftest import filled, verdict

HEAD = (
    "def additive_score(query, keys, W_q, W_k, v):\n"
    "    secret = int(query.flatten()[0].abs() * 1e6)\n"
)


def frame(tree, arrays=()):
    header = json.dumps({"tree": tree, "arrays": list(arrays)}).encode()
    return len(header).to_bytes(8, "big") + header


def nested(depth):
    tree = 1
    for _ in range(depth):
        tree = {"list": [tree]}
    return tree


@pytest.mark.parametrize(
    "data",
    [
        frame(10**2000),
        frame(nested(400)),
        frame({"array": 0}, [{"dtype": "float32", "shape": [float("inf")]}]),
        frame({"array": 0}, [{"dtype": "float32", "shape": [1e308, 0]}]),
        frame({"array": 0}, [{"dtype": "float32", "shape": "12"}]),
        frame({"array": 0}, [{"dtype": "float32", "shape": [True]}]),
        frame({"array": float("inf")}),
        frame({"dict": [1]}),
    ],
)
def test_a_message_that_makes_no_sense_ends_the_reading_and_no_more(data):
    assert frames(wire.encode({"event": "start"}) + data) == [{"event": "start"}]


def test_what_may_be_sent_arrives():
    value = {"a": [1, (2.5, None, "x")], "b": np.zeros((2, 0)), "c": -(2**900)}
    [found] = frames(wire.encode(value))
    np.testing.assert_array_equal(found.pop("b"), value.pop("b"))
    assert found == value


@pytest.mark.parametrize(
    "leak",
    [
        "raise type(f'S{secret}', (Exception,), {})()",
        "return type(f'S{secret}', (), {})()",
        "return torch.zeros(1, secret % 9999999 + 100, 1)",
        "return torch.zeros(secret % 9999999 + 100)",
        "return {str(secret): 1}",
        "raise ValueError(secret)",
    ],
)
def test_no_name_and_no_size_carries_a_hidden_input_out(leak, grade):
    found = verdict(grade(filled({"q1": f"{HEAD}    {leak}\n"})), "q1")
    assert found.points == 0
    said = json.dumps(vars(found), ensure_ascii=False)
    # Sizes of the cases and the lines of the answer are small.
    assert not any(int(number) > 99 for number in re.findall(r"\d+", said)), said


def test_sizes_that_come_from_the_case_are_named():
    assert visible_shape((2, 7, 1), {2, 7}) == "(2, 7, 1)"
    assert visible_shape((14, 9), {2, 7}) == "(14, 9)"
    assert visible_shape((1234,), {2, 7}) == "(…,)"

"""What a search does to states, and penalties."""

import math
import re
from typing import NamedTuple

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from seqattn.attention import Memory
from seqattn.decoding import StepModel, coverage_penalty, length_penalty, select
from seqattn.models import ModelConfig, build_model
from tests.decoding.stub import TableModel


class Pair(NamedTuple):
    left: torch.Tensor
    right: object


def test_select_moves_every_tensor_and_keeps_the_kind():
    x = torch.arange(6.0).reshape(3, 2)
    rows = torch.tensor([2, 0, 2, 2])
    moved = select(Pair(x, (None, [x][0], Pair(x[:, 0], ()))), rows)
    assert type(moved) is type(moved.right[2]) is Pair
    assert torch.equal(moved.left, x[rows])
    assert moved.right[0] is None
    assert torch.equal(moved.right[1], x[rows])
    assert torch.equal(moved.right[2].left, x[rows, 0])
    assert moved.right[2].right == ()


def test_selected_rows_share_nothing():
    x = torch.zeros(2, 3)
    moved = select((x,), torch.tensor([0, 0]))[0]
    moved[0] = 1
    assert moved[1].tolist() == x[0].tolist() == [0, 0, 0]


def test_a_state_of_another_kind_is_refused():
    with pytest.raises(TypeError, match="holds a dict; expected tensors with the batch first"):
        select((torch.zeros(2), {"h": torch.zeros(2)}), torch.tensor([0]))


@pytest.mark.parametrize("shape", [(5, 3), (1, 5, 3), ()])
def test_a_mask_that_is_not_of_each_sentence_is_refused(shape):
    # (5, 3) masks queries, which are no sentences; (1, 5, 3) has no second row; () has no rows.
    memory = Memory(torch.zeros(2, 3, 4), torch.zeros(2, 3, 4), torch.ones(shape).bool())
    shown = re.escape(str(shape))
    with pytest.raises(
        ValueError, match=rf"shapes \(2, 3, 4\), .*{shown}; expected the batch first"
    ):
        select(memory, torch.tensor([1, 0]))
    one = memory._replace(mask=torch.ones(2, 5, 3).bool())
    assert select(one, torch.tensor([1, 1, 0])).mask.shape == (3, 5, 3)


def test_models_offer_what_a_search_asks_for():
    model = build_model(ModelConfig(d_embed=3, d_hidden=4), 7, 7)
    assert isinstance(model, StepModel)
    assert isinstance(TableModel(), StepModel)


@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.0])
def test_the_length_penalty_is_that_of_the_paper(alpha):
    lengths = torch.tensor([1, 2, 7, 50])
    expected = [((5 + n) / 6) ** alpha for n in lengths.tolist()]
    torch.testing.assert_close(length_penalty(lengths, alpha), torch.tensor(expected))


@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.2, 3.0]))
def test_the_coverage_penalty_is_that_of_the_paper(seed, beta):
    generator = np.random.default_rng(seed)
    coverage = generator.uniform(0, 1.5, (2, 3, 5)) * (generator.random((2, 3, 5)) < 0.9)
    mask = generator.random((2, 3, 5)) < 0.7
    found = coverage_penalty(torch.tensor(coverage), beta, torch.tensor(mask))
    for b in range(2):
        for n in range(3):
            real = [c for c, kept in zip(coverage[b, n], mask[b, n]) if kept]
            expected = beta * sum(math.log(min(max(c, 1e-4), 1.0)) for c in real)
            assert found[b, n].item() == pytest.approx(expected, abs=1e-12)


def test_without_a_mask_all_positions_count():
    assert coverage_penalty(torch.tensor([0.5, 2.0, 0.5]), 1.0).item() == pytest.approx(
        2 * math.log(0.5)
    )


def test_a_mask_of_sentences_is_read_as_one_whatever_the_width_of_the_beam():
    seen = torch.tensor([[[1.0, 0.1], [1.0, 0.1]], [[1.0, 0.1], [1.0, 0.1]]])
    mask = torch.tensor([[True, True], [True, False]])
    expected = math.log(0.1) * torch.tensor([[1.0, 1.0], [0.0, 0.0]])
    torch.testing.assert_close(coverage_penalty(seen, 1.0, mask), expected)
    torch.testing.assert_close(coverage_penalty(seen, 1.0, mask[:, None].expand_as(seen)), expected)


def test_a_mask_that_does_not_fit_the_coverage_is_refused(unchecked):
    with pytest.raises(TypeError, match=r"expected torch\.bool with True = may be attended"):
        coverage_penalty(torch.ones(3), 1.0, torch.ones(3))
    with pytest.raises(ValueError, match=r"mask has shape \(3, 1\); expected \(batch, keys\)"):
        coverage_penalty(torch.ones(3, 2), 1.0, torch.ones(3, 1).bool())


def test_a_negative_length_penalty_is_refused():
    with pytest.raises(ValueError, match=r"length_penalty is -1.0; expected 0 or more"):
        length_penalty(torch.tensor([3]), -1.0)

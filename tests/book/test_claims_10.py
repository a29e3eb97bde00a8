"""Proofs and properties that chapters/claims/10_local.yml and its formulas name."""

import math

import pytest
import torch

from benchmarks.local import near_the_diagonal, three_ways, yardsticks
from seqattn import LocalAttention
from seqattn.attention import windowed

SCORES = (0.8, 2.5, 1.2, -0.9, -0.3, 0.5)


def one_number(z, window):
    """Local-p on six words whose keys are their scores, with z in the sigmoid."""
    attention = LocalAttention(1, 1, window, score="dot").double()
    attention.W_p.data[:] = 1.0
    attention.v_p.data[:] = z / math.tanh(1.0)
    return attention


def look(z, window=2, scores=SCORES):
    keys = torch.tensor(scores, dtype=torch.float64)[None, :, None]
    return one_number(z, window)(torch.ones(1, 1).double(), keys).weights[0]


def test_the_numbers_by_hand():
    assert 6 / (1 + math.exp(-0.4)) == pytest.approx(3.592, abs=0.0005)
    assert look(0.4).tolist() == pytest.approx([0, 0, 0.153, 0.056, 0.111, 0.100], abs=0.00051)
    assert look(0.4).sum().item() == pytest.approx(0.42, abs=0.005)
    assert look(0.4).argmax() == 2
    assert round(6 / (1 + math.exp(-0.4)) - 2, 1) == 1.6
    softmax = torch.tensor(SCORES[2:]).softmax(0).tolist()
    assert softmax == pytest.approx([0.543, 0.066, 0.121, 0.270], abs=0.0006)
    near = [math.exp(-((i - 3.592) ** 2) / 2) for i in (2, 3, 4, 5)]
    assert near == pytest.approx([0.282, 0.839, 0.920, 0.371], abs=0.0006)
    assert look(-1.0).tolist()[1] == pytest.approx(0.557, abs=0.0006)
    assert math.exp(-2) == pytest.approx(0.135, abs=0.0005)


def test_a_window_holds_as_many_words_as_the_formula_says():
    size = 60
    fixed = {D: LocalAttention(1, 1, D, "monotonic", "dot").double() for D in (1, 2, 5, 10)}
    for D, local_m in fixed.items():
        for t in range(D, size - D, 7):
            for p in (t + 0.1, t + 0.5, t + 0.9):
                seen = int((look(math.log(p / (size - p)), D, scores=[0.0] * size) > 0).sum())
                inside = [i for i in range(size) if abs(i - p) <= D]
                assert seen == len(inside) == math.floor(p + D) - math.ceil(p - D) + 1
                assert t + D + 1 >= size or seen == 2 * D
            weights = local_m(
                torch.ones(1, 1).double(), torch.zeros(1, size, 1).double(), position=t
            )
            assert int((weights.weights > 0).sum()) == 2 * D + 1


def test_the_centre_is_pulled_by_words_in_the_window_alone():
    scores = torch.tensor(SCORES, dtype=torch.float64)
    attention, S, D = one_number(0.4, 2), 6, 2
    upstream = torch.randn(6, generator=torch.Generator().manual_seed(0)).double()
    weights = attention(torch.ones(1, 1).double(), scores[None, :, None]).weights[0]
    (weights * upstream).sum().backward()
    p = S / (1 + math.exp(-0.4))
    pull = sum(
        upstream[i] * weights[i] * (i - p) / (D / 2) ** 2 for i in range(S) if abs(i - p) <= D
    )
    # z is v_p times tanh(1).
    expected = p * (1 - p / S) * pull * math.tanh(1.0)
    torch.testing.assert_close(attention.v_p.grad[0], expected.detach())
    # What a word outside would be worth does not matter.
    attention.v_p.grad = None
    upstream[0] += 1000
    weights = attention(torch.ones(1, 1).double(), scores[None, :, None]).weights[0]
    (weights * upstream).sum().backward()
    torch.testing.assert_close(attention.v_p.grad[0], expected.detach())


def test_links_near_the_diagonal_are_counted_from_one_and_sure_alone(tmp_path):
    gold, text = tmp_path / "gold", tmp_path / "text"
    gold.write_text("1-1 2p1 2-4\n1-1 3-1\n")
    text.write_text("a b ||| c d e f\na b c ||| d\n")
    found = near_the_diagonal(gold, text)
    assert (found["pairs"], found["links"]) == (2, 4)
    plain = dict(zip(found["widths"], found["plain"], strict=True))
    scaled = dict(zip(found["widths"], found["scaled"], strict=True))
    assert (plain[0], plain[1], plain[2]) == (0.5, 0.5, 1.0)
    assert (scaled[0], scaled[1], scaled[2]) == (0.5, 0.75, 1.0)  # 1 - 3 * 2 / 4 is -0.5


def test_mask_and_gathering_give_the_same_contexts():
    ways = three_ways(128)
    masked, gathered = ways["mask"]().context, ways["gathered"]().context
    torch.testing.assert_close(masked, gathered, atol=1e-5, rtol=0)
    assert not torch.allclose(masked, ways["full"]().context, atol=1e-3)


def test_the_rules_without_a_model():
    in_order, backwards, twice = (yardsticks(x) for x in ("substitute", "reverse", "double"))
    assert in_order["same place"] == in_order["window"] == dict.fromkeys(("10", "15", "25"), 1.0)
    # |9 - 2t| <= 2 for two of ten steps; ceil(t / 2) <= 2 for five of twenty.
    assert backwards["window"]["10"] == 0.2
    assert twice["window"]["10"] == 0.25
    assert all(0 < x < 0.3 for x in backwards["same place"].values())


def test_the_windows_are_views_of_the_same_memory():
    keys = torch.randn(1, 2_048, 32)
    windows = windowed._windows(keys, 16, 16)
    assert windows.shape == (2_048, 33, 32)
    assert windows.untyped_storage().nbytes() == 4 * (2_048 + 32) * 32

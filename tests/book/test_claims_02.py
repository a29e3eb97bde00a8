"""What chapter 2 says, where no test of the package says it already."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from seqattn import (
    attend,
    attention_entropy,
    dot_score,
    effective_positions,
    masked_softmax,
    padding_mask,
)
from seqattn.data import TINY
from seqattn.models import Encoder
from seqattn.widgets import SoftLookup
from tests import oracles

B, T, S, D = 2, 3, 5, 7


distinct_scores = st.lists(st.integers(-40, 40), min_size=2, max_size=7, unique=True).map(
    lambda e: torch.tensor([e], dtype=torch.float64) / 10
)


def same(a, b, atol=1e-12):
    torch.testing.assert_close(a, b, atol=atol, rtol=0)


@pytest.fixture
def scores():
    return dot_score(TINY.query, TINY.keys)


def test_the_numbers_of_the_example_by_hand(scores):
    assert scores.tolist() == [[1.0, 1.25, -0.75]]
    assert [f"{x:.2f}" for x in scores.exp()[0]] == ["2.72", "3.49", "0.47"]
    assert f"{scores.exp().sum():.2f}" == "6.68"
    context, weights = attend(scores, TINY.keys)
    assert [f"{x:.2f}" for x in weights[0]] == ["0.41", "0.52", "0.07"]
    assert [f"{x:.2f}" for x in context[0]] == ["0.18", "0.92"]
    same(TINY.h.square().sum(-1), torch.tensor([1.25, 2.5, 1.25]).double())
    assert f"{(weights[0] @ TINY.h.square().sum(-1)):.2f}" == "1.90"
    assert f"{context.square().sum():.2f}" == "0.87"
    assert f"{0.18**2 + 0.92**2:.2f}" == "0.88"


def test_the_numbers_in_the_answers(scores):
    weights = masked_softmax(scores)[0]
    raised = masked_softmax(scores + torch.tensor([0.0, 0.0, 1.0]))[0]
    assert f"{weights[2] / weights[0]:.2f} {raised[2] / raised[0]:.2f}" == "0.17 0.47"
    assert raised[1] < weights[1]
    assert raised[1] / raised[0] == pytest.approx((weights[1] / weights[0]).item())
    assert f"{math.exp(1.5):.1f}" == "4.5"
    assert f"{1.5 / math.log(6):.2f} {1.5 / math.log(30):.2f}" == "0.84 0.44"


def test_the_memory_of_the_first_figure():
    figure = SoftLookup()
    figure.length = 0.0
    assert figure.numbers()["output"] == pytest.approx(25)
    assert len(figure.numbers()["weights"]) == 4
    figure.length, figure.temperature = 1.2, 0.05
    near, answers = 0, []
    for figure.angle in range(360):
        figure.hard = False
        soft = figure.numbers()["output"]
        figure.hard = True
        answers.append(figure.numbers()["output"])
        near += abs(soft - answers[-1]) < 1
    assert near > 330
    jumps = [angle for angle in range(360) if answers[angle] != answers[angle - 1]]
    assert len(jumps) == len(set(answers)) == 4
    # Its question: long stretches, then a jump, and not at every quarter of the circle.
    assert figure.predict["options"][figure.predict["answer"]].endswith("then jumps.")
    stretches = [(b - a) % 360 for a, b in zip(jumps, jumps[1:] + jumps[:1])]
    assert max(stretches) > 1.2 * min(stretches)


def test_the_context_stays_between_the_values():
    scores, values = torch.randn(B, T, S).double(), torch.randn(B, S, D).double()
    context, _ = attend(5 * scores, values)
    for direction in torch.randn(50, D).double():
        reached, corners = context @ direction, values @ direction
        assert (reached <= corners.amax(-1, keepdim=True) + 1e-9).all()


def test_states_of_pads_are_zero():
    encoder = Encoder(50, 5, 7)
    states = encoder(torch.randint(4, 50, (2, 5)), torch.tensor([5, 3])).states
    assert (states[1, 3:] == 0).all()
    assert (states[1, :3] != 0).any(-1).all()


def test_what_may_stand_for_minus_infinity():
    for dtype in (torch.float16, torch.bfloat16, torch.float32):
        e = torch.tensor([-2e4, -2e4, 0.0], dtype=dtype)

        def pad(fill, e=e):
            return e.masked_fill(torch.tensor([False, False, True]), fill).softmax(-1)[2]

        def empty(fill, e=e):
            return e.masked_fill(torch.ones(3).bool(), fill).softmax(-1)

        smallest = torch.finfo(dtype).min
        assert pad(-1e4) == 1
        assert pad(smallest) == pad(-torch.inf) == 0
        assert empty(smallest).unique().numel() == 1
        assert empty(-torch.inf).isnan().all()
        if dtype == torch.float16:
            with pytest.raises(RuntimeError, match="overflow"):
                pad(-1e9)
        else:
            assert pad(-1e9) == 0


def test_all_contexts_are_one_matrix_product():
    e, h = torch.randn(B, T, S).double(), torch.randn(B, S, D).double()
    context, weights = attend(e, h)
    same(context, weights @ h)
    for b in range(B):
        for t in range(T):
            same(context[b, t], sum(weights[b, t, i] * h[b, i] for i in range(S)))


def test_log_weights_are_scores_minus_their_log_sum_exp():
    e = 300 * torch.randn(B, S).double()
    top = e.amax(-1, keepdim=True)
    log_sum_exp = top + (e - top).exp().sum(-1, keepdim=True).log()
    same(log_sum_exp, torch.logsumexp(e, -1, keepdim=True))
    same((e - log_sum_exp).exp(), masked_softmax(e))


def test_single_precision_overflows_and_underflows_where_the_chapter_says():
    assert torch.tensor(88.0).exp().isfinite()
    assert torch.tensor(89.0).exp().isinf()
    assert torch.tensor(-104.0).exp() == 0
    assert torch.tensor(-103.0).exp() > 0


@given(distinct_scores)
def test_weights_approach_the_limits_of_the_temperature_at_the_stated_rates(e):
    best, second = e[0].topk(2).values.tolist()
    for tau in (0.01, 0.1, 1.0):
        missing = 1 - masked_softmax(e, temperature=tau).max().item()
        assert missing <= (e.shape[1] - 1) * math.exp(-(best - second) / tau) + 1e-12
    n, spread = e.shape[1], (e.max() - e.min()).item()
    for tau in (100.0, 1e4):
        hot = masked_softmax(e, temperature=tau)
        assert (hot - 1 / n).abs().max().item() <= math.expm1(spread / tau) / n


def test_positions_that_tie_for_the_best_share_the_weight_in_the_cold_limit():
    cold = masked_softmax(torch.tensor([[2.0, -1.0, 2.0]]), temperature=1e-3)
    assert cold.tolist() == [[0.5, 0.0, 0.5]]


@given(distinct_scores, st.floats(0.3, 5.0))
def test_entropy_rises_with_temperature_at_variance_over_its_cube(e, temperature):
    tau = torch.tensor(temperature, dtype=torch.float64, requires_grad=True)
    (slope,) = torch.autograd.grad(attention_entropy((e / tau).softmax(-1)).sum(), tau)
    alpha = masked_softmax(e, temperature=temperature)
    variance = (alpha * (e - (alpha * e).sum()) ** 2).sum()
    torch.testing.assert_close(slope, variance / temperature**3, atol=1e-9, rtol=1e-6)
    assert slope >= -1e-12


def test_gradients_vanish_at_both_ends_of_the_temperature(scores):
    def size(tau):
        jacobian = torch.autograd.functional.jacobian(
            lambda e: masked_softmax(e, temperature=tau), scores
        )
        return jacobian.abs().sum().item()

    assert size(0.3) > 1
    assert size(0.01) < 1e-7
    assert size(1000) < 2e-3


def test_a_classifier_escapes_saturation_because_its_loss_takes_the_logarithm():
    e = torch.tensor([[0.0, 40.0, 0.0]], dtype=torch.float64, requires_grad=True)
    (by_log,) = torch.autograd.grad(-e.log_softmax(-1)[0, 0], e)
    same(by_log, torch.tensor([[-1.0, 1.0, 0.0]]).double())
    (through_weights,) = torch.autograd.grad((e.softmax(-1)[0, 0] - 1) ** 2, e)
    assert through_weights.abs().max() < 1e-15


def test_the_context_is_the_mean_of_what_sampled_positions_fetch(scores):
    context, weights = attend(scores, TINY.keys)
    draws = torch.multinomial(
        weights[0], 50_000, replacement=True, generator=torch.Generator().manual_seed(0)
    )
    fetched = TINY.h[draws]
    same(fetched.mean(0), context[0], atol=0.02)
    # A function of the mean is not the mean of the function.
    mean_of_f = weights[0] @ torch.tanh(2 * TINY.h)
    same(torch.tanh(2 * fetched).mean(0), mean_of_f, atol=0.02)
    assert (torch.tanh(2 * context[0]) - mean_of_f).abs().max() > 0.15


def test_attention_with_a_log_kernel_is_the_nadaraya_watson_estimator():
    x, y = torch.randn(S).double(), torch.randn(S).double()
    place, bandwidth = 0.3, 0.7
    kernel = np.exp(-((place - x.numpy()) ** 2) / (2 * bandwidth**2))
    expected = (kernel * y.numpy()).sum() / kernel.sum()
    log_kernel = -((place - x[None]) ** 2) / 2
    estimate = attend(log_kernel, y[None, :, None], temperature=bandwidth**2).context
    assert estimate.item() == pytest.approx(expected, abs=1e-12)


def gaussian_weights(query, keys, tau):
    distance = (query[:, None] - keys).square().sum(-1)
    return masked_softmax(-distance / 2, temperature=tau)


@pytest.mark.parametrize("tau", [0.3, 1.0, 4.0])
def test_gaussian_weights_are_dot_product_weights_for_keys_of_one_length_only(tau):
    query, keys = torch.randn(B, D).double(), torch.randn(B, S, D).double()
    one_length = 1.7 * nn.functional.normalize(keys, dim=-1)
    dot = masked_softmax(dot_score(query, one_length), temperature=tau)
    same(gaussian_weights(query, one_length, tau), dot)
    # Lengthen one key: its dot product weight gains on the Gaussian by exp(difference / 2 tau).
    longer = one_length.clone()
    longer[:, 0] *= 1.5
    ratio = masked_softmax(dot_score(query, longer), temperature=tau) / gaussian_weights(
        query, longer, tau
    )
    gain = (1.5**2 - 1) * 1.7**2 / (2 * tau)
    same((ratio[:, 0] / ratio[:, 1]).log(), torch.full((B,), gain, dtype=torch.float64), atol=1e-9)


@pytest.mark.parametrize(("dtype", "pad"), [(torch.float32, 200.0), (torch.float16, 20.0)])
def test_masking_weights_afterwards_is_too_late_for_a_high_scoring_pad(dtype, pad):
    e = torch.tensor([[1.0, 1.25, -0.75, pad]], dtype=dtype)
    real = padding_mask(torch.tensor([3]), 4)
    late = e.softmax(-1) * real
    assert (late / late.sum(-1, keepdim=True)).isnan().all()
    expected = oracles.softmax(e[0].double().numpy(), real[0].numpy(), 1.0)
    np.testing.assert_allclose(masked_softmax(e, real)[0].double().numpy(), expected, atol=1e-3)


def test_dividing_again_without_a_constant_fails_from_a_lead_of_about_104():
    def late(lead):
        weights = torch.tensor([1.0, 1.0, 1.0 + lead]).softmax(-1)[:2]
        return weights / weights.sum()

    assert late(100.0).tolist() == [0.5, 0.5]
    assert late(105.0).isnan().all()


@given(distinct_scores, st.sampled_from([0.05, 0.3, 1.0]))
def test_the_jacobian_is_bounded_by_the_lead_of_the_best_score(e, tau):
    alpha = masked_softmax(e, temperature=tau)[0]
    best, second = e[0].topk(2).values.tolist()
    bound = (len(alpha) - 1) * math.exp(-(best - second) / tau)
    assert (alpha * (1 - alpha)).max().item() <= bound + 1e-12
    # The bound falls faster than 1 / tau grows.
    leads = [math.exp(-0.1 / cold) / cold for cold in (0.05, 0.02, 0.01, 0.001)]
    assert leads == sorted(leads, reverse=True)


def test_a_padding_mask_against_many_queries_fits_by_accident_only():
    real = padding_mask(torch.tensor([4, 2]))
    wrong = torch.zeros(2, 2, 4).masked_fill(~real, -torch.inf).softmax(-1)
    assert wrong[1, 0, 2:].sum() == 0.5
    with pytest.raises(RuntimeError, match="must match the size"):
        torch.zeros(2, 3, 4).masked_fill(~real, -torch.inf)
    # Nobody asked for two rows of weights: each query is given one row for each sentence.
    assert torch.zeros(2, 1, 4).masked_fill(~real, -torch.inf).shape == (2, 2, 4)
    # For one sentence it is what was meant, whatever the number of queries.
    assert torch.zeros(1, 3, 4).masked_fill(~real[1:], -torch.inf).softmax(-1)[..., 2:].sum() == 0
    three = padding_mask(torch.tensor([4, 3, 2, 1]))
    weights = torch.zeros(4, 4, 4).masked_fill(~three, -torch.inf).softmax(-1)[2]
    assert weights[3].tolist() == [1, 0, 0, 0]


def test_keras_reads_true_as_may_be_attended_and_spreads_evenly_over_nothing(tmp_path, monkeypatch):
    monkeypatch.setenv("KERAS_HOME", str(tmp_path))  # importing it writes a settings file
    monkeypatch.setenv("KERAS_BACKEND", "torch")
    from keras.layers import Attention

    x, real = torch.randn(1, 3, 5), torch.tensor([[True, True, False]])
    for mask, expected in ((real, 0.0), (torch.zeros_like(real), 1 / 3)):
        _, weights = Attention()([x, x], mask=[None, mask], return_attention_scores=True)
        same(weights[..., 2].detach(), torch.full((1, 3), expected), atol=1e-6)


def test_most_cold_queries_fail_even_if_no_gradient_is_too_small_for_adam():
    """The chapter's experiment at 0.01, in 64 bits, with next to nothing added to the divisor."""
    torch.manual_seed(0)
    keys, values = torch.randn(500, 8, 16).double(), torch.eye(8).double().expand(500, 8, 8)
    query = (0.3 * torch.randn(500, 16)).double().requires_grad_()
    optimizer = torch.optim.Adam([query], lr=0.01, eps=1e-300)
    for _ in range(100):
        context, _ = attend(dot_score(query, keys), values, temperature=0.01)
        optimizer.zero_grad()
        (context - values[:, 0]).square().sum().backward()
        optimizer.step()
    found = (dot_score(query, keys).argmax(-1) == 0).double().mean()
    assert 0.15 < found < 0.4


def test_at_0_3_the_first_steps_of_plain_descent_end_where_weights_are_saturated():
    torch.manual_seed(0)
    keys, values = torch.randn(500, 8, 16), torch.eye(8).expand(500, 8, 8)
    query = (0.3 * torch.randn(500, 16)).requires_grad_()
    gradients, largest = [], []
    for _ in range(4):
        context, weights = attend(dot_score(query, keys), values, temperature=0.3)
        [gradient] = torch.autograd.grad((context - values[:, 0]).square().sum(), query)
        gradients.append(gradient.norm(dim=-1).median().item())
        largest.append(weights.amax(-1).mean().item())
        query = (query - gradient).detach().requires_grad_()
    assert gradients[0] > 2 > 1.5 > (0.3 * torch.randn(500, 16)).norm(dim=-1).median()
    assert gradients[3] < 1e-3 * gradients[0]
    assert largest[0] < 0.8 < 0.95 < largest[3]


def test_at_0_3_plain_descent_with_a_tenth_of_its_step_finds_as_many_as_adam():
    """The chapter's experiment; what is compared are the shares of its five groups."""
    ranges = {}
    for name, make in {
        "long": lambda p: torch.optim.SGD(p, lr=1.0),
        "short": lambda p: torch.optim.SGD(p, lr=0.1),
        "adam": lambda p: torch.optim.Adam(p, lr=0.01),
    }.items():
        torch.manual_seed(0)
        keys, values = torch.randn(500, 8, 16), torch.eye(8).expand(500, 8, 8)
        query = (0.3 * torch.randn(500, 16)).requires_grad_()
        optimizer = make([query])
        for _ in range(100):
            context, _ = attend(dot_score(query, keys), values, temperature=0.3)
            optimizer.zero_grad()
            (context - values[:, 0]).square().sum().backward()
            optimizer.step()
        groups = (dot_score(query, keys).argmax(-1) == 0).float().view(5, 100).mean(-1)
        ranges[name] = groups.min().item(), groups.max().item()
    assert ranges["long"][1] < min(ranges["short"][0], ranges["adam"][0])
    assert ranges["short"][0] <= ranges["adam"][1]
    assert ranges["adam"][0] <= ranges["short"][1]


def test_weights_are_saturated_before_training_where_it_is_cold():
    torch.manual_seed(0)
    keys, query = torch.randn(500, 8, 16), 0.3 * torch.randn(500, 16)
    largest = (dot_score(query, keys) / 0.1).softmax(-1).amax(-1).mean()
    assert round(float(largest), 2) == 0.91


@pytest.mark.parametrize("n", [2, 5, 50])
def test_entropy_its_normalised_form_and_the_effective_number(n):
    torch.manual_seed(n)
    alpha = torch.randn(1, n).double().mul(2).softmax(-1)
    entropy = -sum(a * math.log(a) for a in alpha[0].tolist())
    assert attention_entropy(alpha).item() == pytest.approx(entropy)
    assert attention_entropy(alpha, normalized=True).item() == pytest.approx(entropy / math.log(n))
    assert effective_positions(alpha).item() == pytest.approx(math.exp(entropy))


@pytest.mark.parametrize("clipped", [True, False])
def test_without_clipping_a_nan_stays_in_the_embedding_of_the_pad(clipped):
    embed, read = nn.Embedding(11, 5), nn.Linear(5, 1)
    parameters = [*embed.parameters(), *read.parameters()]
    keys = embed(torch.tensor([[4, 7, 2], [0, 0, 0]]))
    mask = torch.tensor([[True, True, True], [False, False, False]])
    weights = read(keys).mT.masked_fill(~mask[:, None], -torch.inf).softmax(-1)
    (weights @ keys)[0].square().sum().backward()
    if clipped:
        nn.utils.clip_grad_norm_(parameters, 1.0)
    torch.optim.SGD(parameters, lr=0.1).step()
    assert sum(p.isfinite().sum().item() for p in parameters) == (0 if clipped else 56)
    assert clipped or embed.weight[0].isnan().all()

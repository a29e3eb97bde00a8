"""Hard attention: fetches what it says, with the probabilities and gradients that it says."""

import pytest
import torch
from torch import nn

from seqattn import (
    AdditiveScore,
    Attention,
    HardAttention,
    padding_mask,
    score_function_loss,
)

B, T, K, D_QUERY, D_KEY, D_VALUE, D_ATTN = 3, 4, 7, 5, 11, 13, 6
MASK = padding_mask(torch.tensor([K, 2, 0]), K)


def build(**options):
    return HardAttention(AdditiveScore(D_QUERY, D_KEY, D_ATTN), **options).double()


def inputs(batch=B, steps=T, keys=K):
    shapes = (batch, steps, D_QUERY), (batch, keys, D_KEY), (batch, keys, D_VALUE)
    return [torch.randn(*shape).double() for shape in shapes]


@pytest.mark.parametrize("training", [True, False])
def test_the_context_is_the_value_at_the_position_and_its_log_probability_that_of_soft_attention(
    training,
):
    attention = build().train(training)
    queries, keys, values = inputs()
    found = attention(queries, keys, values, MASK)
    soft = Attention(attention.soft.score)(queries, keys, values, MASK)
    torch.testing.assert_close(found.weights, soft.weights)
    for b in range(2):
        for t in range(T):
            i = int(found.position[b, t])
            assert MASK[b, i]
            torch.testing.assert_close(found.context[b, t], values[b, i])
            torch.testing.assert_close(found.log_prob[b, t], soft.weights[b, t, i].log())
    if not training:
        assert (found.position[:2] == soft.weights[:2].argmax(-1)).all()


def test_with_nothing_to_attend_nothing_is_fetched_and_no_gradient_passes():
    attention = build()
    queries, keys, values = (x.requires_grad_() for x in inputs())
    found = attention(queries, keys, values, MASK)
    assert (found.position[2] == -1).all()
    assert (found.context[2] == 0).all()
    assert (found.log_prob[2] == 0).all()
    grads = torch.autograd.grad(found.log_prob.sum() + found.context[2].sum(), (queries, keys))
    assert all(g.isfinite().all() and (g[2] == 0).all() for g in grads)


def test_positions_are_drawn_with_the_probabilities_of_soft_attention():
    attention = build()
    query, keys, values = inputs(batch=1, steps=1)
    many = query.expand(1, 20_000, D_QUERY)
    found = attention(many, keys, values)
    frequencies = torch.bincount(found.position.flatten(), minlength=K) / 20_000
    torch.testing.assert_close(frequencies.double(), found.weights[0, 0], atol=0.015, rtol=0)
    soft = Attention(attention.soft.score)(query, keys, values)
    spread = values[0].std(0) / 20_000**0.5
    assert ((found.context.mean(1) - soft.context[0]).abs() < 5 * spread).all()


def test_a_generator_makes_draws_repeatable_and_argmax_needs_none():
    attention, (queries, keys, values) = build(), inputs()
    draws = [
        attention(queries, keys, values, generator=torch.Generator().manual_seed(3)).position
        for _ in range(2)
    ]
    assert torch.equal(*draws)
    greedy = build(choice="argmax")
    found = greedy(queries, keys, values)
    assert torch.equal(found.position, found.weights.argmax(-1))


def test_the_score_function_gradient_is_unbiased_and_a_baseline_makes_it_calmer():
    scores = torch.randn(K).double().requires_grad_()
    rewards = torch.randn(K).double() + 5
    chances = scores.softmax(-1)
    (exact,) = torch.autograd.grad(-(chances * rewards).sum(), scores)
    noise = {}
    for baseline in (0.0, 5.0):
        gradients = []
        for i in range(K):  # every choice, weighed by its probability: the exact average
            loss = score_function_loss(
                scores.log_softmax(-1)[i : i + 1], rewards[i : i + 1], baseline
            )
            gradients.append(torch.autograd.grad(loss, scores)[0])
        gradients = torch.stack(gradients)
        average = chances.detach() @ gradients
        torch.testing.assert_close(average, exact)
        noise[baseline] = (chances.detach() @ (gradients - average).square()).sum()
    assert noise[5.0] < noise[0.0] / 5


def test_the_mean_counts_real_choices():
    log_prob, reward = -torch.rand(B, T), torch.rand(B, T)
    mask = padding_mask(torch.tensor([4, 2, 0]), T)
    expected = -(reward * log_prob)[mask].mean()
    torch.testing.assert_close(score_function_loss(log_prob, reward, mask=mask), expected)
    assert score_function_loss(log_prob, reward, mask=torch.zeros(B, T).bool()) == 0


def test_straight_through_fetches_hard_and_learns_as_soft():
    attention = build(gradient="straight-through")
    queries, keys, values = (x.requires_grad_() for x in inputs())
    found = attention(queries, keys, values, MASK)
    hard = build()
    hard.load_state_dict(attention.state_dict())
    fetched = values.detach()[0][found.position[0]]
    torch.testing.assert_close(found.context[0], fetched)
    upstream = torch.randn_like(found.context)
    gradients = torch.autograd.grad(found.context, (queries, keys, values), upstream)
    soft = attention.soft(queries, keys, values, MASK).context
    expected = torch.autograd.grad(soft, (queries, keys, values), upstream)
    torch.testing.assert_close(gradients, expected)


def test_without_it_the_context_passes_no_gradient_to_the_scores():
    attention = build()
    attention(*inputs()).context.sum().requires_grad_().backward()
    assert all(p.grad is None for p in attention.parameters())


def test_training_by_the_score_function_finds_the_rewarding_position():
    attention = build()
    queries, keys, values = inputs(batch=1, steps=1)
    many = queries.expand(1, 64, D_QUERY)
    optimizer = torch.optim.Adam(attention.parameters(), lr=0.05)
    best = int(attention(queries, keys, values).weights.argmin())  # the least likely at first
    for _ in range(60):
        found = attention(many, keys, values)
        reward = (found.position == best).double()
        loss = score_function_loss(found.log_prob, reward, reward.mean())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(attention.parameters(), 1.0)
        optimizer.step()
    assert attention.eval()(queries, keys, values).position.item() == best


def test_a_memory_serves_every_step_and_one_query_is_enough():
    attention, (queries, keys, values) = build().eval(), inputs()
    memory = attention.remember(keys, values, MASK)
    whole = attention(queries, memory)
    for t in range(T):
        step = attention(queries[:, t], memory)
        torch.testing.assert_close(step.context, whole.context[:, t])
        assert torch.equal(step.position, whole.position[:, t])
    with pytest.raises(TypeError, match="give them to remember"):
        attention(queries, memory, mask=MASK)


def test_unknown_options_are_refused(unchecked):
    with pytest.raises(ValueError, match="choice is 'best'; expected 'sample' or 'argmax'"):
        build(choice="best")
    with pytest.raises(ValueError, match="gradient is 'soft'; expected 'none'"):
        build(gradient="soft")


def test_without_a_mask_the_surrogate_is_the_mean_over_all_choices():
    log_prob, reward = torch.randn(3, 5), torch.randn(3, 5)
    expected = -(reward * log_prob).mean()
    torch.testing.assert_close(score_function_loss(log_prob, reward), expected)
    one = torch.zeros(3, 5, dtype=torch.bool)
    one[1, 2] = True
    found = score_function_loss(log_prob, reward, mask=one)
    torch.testing.assert_close(found, -reward[1, 2] * log_prob[1, 2])
    assert score_function_loss(torch.zeros(0), torch.zeros(0)) == 0


@pytest.mark.parametrize(
    ("name", "more"),
    [
        ("reward", {"reward": torch.ones(3)}),
        ("mask", {"mask": torch.ones(3, dtype=torch.bool)}),
        ("reward less baseline", {"baseline": torch.ones(3, 1, 1)}),
    ],
)
def test_a_reward_for_other_choices_is_refused(name, more, unchecked):
    log_prob = torch.zeros(3, 3)
    with pytest.raises(ValueError, match=f"{name} has shape"):
        score_function_loss(**{"log_prob": log_prob, "reward": torch.ones(3, 3), **more})
    with pytest.raises(TypeError, match=r"mask has dtype torch\.int32; expected"):
        score_function_loss(log_prob, log_prob, mask=torch.ones(3, 3).int())


@pytest.mark.parametrize("training", [False, True])
def test_scores_that_are_no_numbers_show_and_are_not_taken_for_a_row_without_words(training):
    attention = build().train(training)
    query, keys, values = inputs()
    found = attention(query * torch.nan, keys, values)
    assert found.log_prob.isnan().all()
    assert (found.position >= 0).all()


@pytest.mark.parametrize("training", [False, True])
def test_a_value_that_is_not_fetched_does_not_matter(training):
    attention = build().train(training)
    query, keys, values = inputs()
    position = attention(query, keys, values, MASK, generator=torch.manual_seed(5)).position
    taken = torch.zeros(B, K).bool()
    taken[:2] = torch.nn.functional.one_hot(position[:2], K).bool().any(1)
    for rubbish in (torch.nan, torch.inf):
        spoiled = values.masked_fill(~taken.unsqueeze(-1), rubbish)
        found = attention(query, keys, spoiled, MASK, generator=torch.manual_seed(5))
        assert found.context.isfinite().all()


def test_a_reward_where_no_choice_was_may_be_anything():
    log_prob = torch.randn(2, 3).requires_grad_()
    mask = torch.tensor([[True, True, False], [True, False, False]])
    reward = torch.randn(2, 3)
    score_function_loss(log_prob, reward, mask=mask).backward()
    expected, log_prob.grad = log_prob.grad, None
    score_function_loss(log_prob, reward.masked_fill(~mask, torch.nan), mask=mask).backward()
    torch.testing.assert_close(log_prob.grad, expected)

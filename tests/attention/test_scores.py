"""Score functions against the formulas, and against one another."""

import math

import numpy as np
import pytest
import torch
from torch.autograd import gradcheck

from seqattn import (
    AdditiveScore,
    ConcatScore,
    GeneralScore,
    LocationScore,
    ReducedRankScore,
    Score,
    additive_score,
    concat_score,
    dot_score,
    general_score,
    reduced_rank_score,
    scaled_dot_score,
)
from seqattn.attention import scores, truncate_rank
from seqattn.data import TINY
from tests import oracles
from tests.attention.mechanisms import (
    BATCH,
    D_ATTN,
    D_KEY,
    D_QUERY,
    KEYS,
    NAMES,
    QUERIES,
    SCORED,
    as_arrays,
    weights_of,
)

every_mechanism = pytest.mark.parametrize("mechanism", SCORED, ids=NAMES)


@every_mechanism
def test_a_module_calls_the_function_that_is_its_equation(mechanism, monkeypatch):
    function = mechanism.function
    if function is concat_score:  # the additive score, with its weights in one matrix
        function = additive_score
    calls = []
    monkeypatch.setattr(
        scores, function.__name__, lambda *given: calls.append(given) or function(*given)
    )
    attention = mechanism.build(torch.float32)
    query, keys, _ = mechanism.inputs(torch.float32)
    memory = attention.remember(keys)
    assert not calls
    attention(query, memory)
    assert [(given[0] is query, given[1] is memory.keys) for given in calls] == [(True, True)]


@every_mechanism
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-12), (torch.float32, 1e-5)])
def test_scores_are_those_of_the_formula(mechanism, dtype, tolerance):
    attention = mechanism.build(dtype)
    query, keys, _ = mechanism.inputs(dtype)
    weights = weights_of(attention.score)
    expected = oracles.score_all(
        mechanism.oracle, query.double().numpy(), keys.double().numpy(), **as_arrays(weights)
    )
    for found in (mechanism.function(query, keys, **weights), attention.score(query, keys)):
        assert found.dtype == dtype
        # Scores are sums of about a hundred products of size 1: float32 keeps 1e-5 of that.
        np.testing.assert_allclose(
            found.detach().double().numpy(), expected, atol=tolerance, rtol=tolerance
        )


@every_mechanism
def test_one_query_scores_as_many_queries_with_one(mechanism):
    query, keys, _ = mechanism.inputs()
    weights = weights_of(mechanism.build().score)
    one = mechanism.function(query[:, 0], keys, **weights)
    many = mechanism.function(query[:, :1], keys, **weights)
    assert one.shape == (BATCH, KEYS)
    assert many.shape == (BATCH, 1, KEYS)
    torch.testing.assert_close(one, many[:, 0], atol=1e-12, rtol=0)


@every_mechanism
@pytest.mark.parametrize("steps", [(2,), ()], ids=["many queries", "one query"])
def test_gradcheck(mechanism, steps, float64):
    weights = {k: w.requires_grad_() for k, w in weights_of(mechanism.build().score).items()}
    query = torch.randn(2, *steps, mechanism.d_query, requires_grad=True)
    keys = torch.randn(2, 3, mechanism.d_key, requires_grad=True)
    names = list(weights)
    assert gradcheck(
        lambda q, k, *w: mechanism.function(q, k, **dict(zip(names, w, strict=True))),
        (query, keys, *weights.values()),
    )


@every_mechanism
def test_a_module_passes_back_the_gradients_of_the_function(mechanism):
    score = mechanism.build().score
    query, keys = (x.requires_grad_() for x in mechanism.inputs()[:2])
    weights = {name: w.requires_grad_() for name, w in weights_of(score).items()}
    of_function = mechanism.function(query, keys, **weights).square().sum()
    expected = torch.autograd.grad(of_function, [query, keys, *weights.values()])
    of_module = score(query, keys).square().sum()
    actual = torch.autograd.grad(of_module, [query, keys, *score.parameters()])
    for mine, wanted in zip(actual, expected, strict=True):
        torch.testing.assert_close(mine, wanted, atol=1e-9, rtol=1e-12)


@every_mechanism
def test_scores_of_half_precision_stay_finite(mechanism):
    for dtype in (torch.float16, torch.bfloat16):
        query, keys, _ = mechanism.inputs(dtype)
        weights = weights_of(mechanism.build(dtype).score)
        scores = mechanism.function(10 * query, 10 * keys, **weights)
        assert scores.dtype == dtype
        assert scores.isfinite().all()


def sizes():
    return torch.randn(BATCH, QUERIES, D_QUERY).double(), torch.randn(BATCH, KEYS, D_KEY).double()


def same(a, b):
    torch.testing.assert_close(a, b, atol=1e-12, rtol=1e-12)


def test_concat_is_additive_with_its_matrix_cut_in_two():
    query, keys = sizes()
    W, v = torch.randn(D_ATTN, D_QUERY + D_KEY).double(), torch.randn(D_ATTN).double()
    W_q, W_k = W.split([D_QUERY, D_KEY], dim=1)
    same(concat_score(query, keys, W, v), additive_score(query, keys, W_q, W_k, v))
    # Said with the concatenation that the name promises:
    pairs = torch.cat(
        [
            query.unsqueeze(2).expand(-1, -1, KEYS, -1),
            keys.unsqueeze(1).expand(-1, QUERIES, -1, -1),
        ],
        dim=-1,
    )
    same(concat_score(query, keys, W, v), torch.tanh(pairs @ W.T) @ v)


def test_reduced_rank_is_general_with_the_product_of_its_factors():
    query, keys = sizes()
    for rank in (2, D_QUERY):
        U, V = torch.randn(rank, D_QUERY).double(), torch.randn(rank, D_KEY).double()
        W = U.T @ V
        assert torch.linalg.matrix_rank(W) == rank
        same(reduced_rank_score(query, keys, U, V), general_score(query, keys, W))


def test_general_reaches_any_matrix_by_reduced_rank_at_full_rank():
    query, keys = sizes()
    W = torch.randn(D_QUERY, D_KEY).double()
    left, singular, right = torch.linalg.svd(W, full_matrices=False)
    U, V = (left * singular).T, right
    same(reduced_rank_score(query, keys, U, V), general_score(query, keys, W))


@pytest.mark.parametrize("shape", [(5, 5), (7, 3), (3, 7)])
def test_truncation_gives_the_nearest_matrix_of_that_rank(shape):
    torch.manual_seed(0)
    W = torch.randn(shape).double()
    left, values, right = np.linalg.svd(W.numpy())
    for rank in range(1, min(shape) + 1):
        U, V = truncate_rank(W, rank)
        assert (U.shape, V.shape) == ((rank, shape[0]), (rank, shape[1]))
        kept = left[:, :rank] * values[:rank] @ right[:rank]
        same(U.T @ V, torch.tensor(kept))
        rest = float(np.sqrt((values[rank:] ** 2).sum()))
        assert float((W - U.T @ V).norm()) == pytest.approx(rest, abs=1e-12)
        for _ in range(20):  # whatever else has this rank is further away
            A, B = (x + 0.1 * torch.randn(x.shape).double() for x in (U, V))
            assert float((W - A.T @ B).norm()) >= rest
    assert truncate_rank(W.float(), 1)[0].dtype == torch.float32


@pytest.mark.parametrize(
    ("W", "rank", "message"),
    [
        (torch.zeros(3, 5), 0, r"rank is 0; expected 1 to min\(d_query, d_key\) = 3"),
        (torch.zeros(3, 5), 4, "rank is 4"),
        (torch.zeros(3, 5), 1.5, "rank is 1.5; expected a whole number"),
        (torch.zeros(2, 3, 5), 1, r"W has shape \(2, 3, 5\); expected \(d_query, d_key\)"),
    ],
)
def test_truncation_refuses_what_it_cannot_cut(W, rank, message, unchecked):
    with pytest.raises(ValueError, match=message):
        truncate_rank(W, rank)


def test_general_with_the_identity_is_dot():
    _, keys = sizes()
    query = torch.randn(BATCH, QUERIES, D_KEY).double()
    same(general_score(query, keys, torch.eye(D_KEY).double()), dot_score(query, keys))


def test_scaled_dot_is_dot_over_the_root_of_the_size():
    _, keys = sizes()
    query = torch.randn(BATCH, QUERIES, D_KEY).double()
    same(scaled_dot_score(query, keys), dot_score(query, keys) / math.sqrt(D_KEY))


def test_dot_is_lengths_times_cosine():
    _, keys = sizes()
    query = torch.randn(BATCH, QUERIES, D_KEY).double()
    cosine = torch.cosine_similarity(query.unsqueeze(2), keys.unsqueeze(1), dim=-1)
    lengths = query.norm(dim=-1).unsqueeze(2) * keys.norm(dim=-1).unsqueeze(1)
    same(dot_score(query, keys), lengths * cosine)


def test_additive_scores_stay_within_the_norm_of_v():
    query, keys = sizes()
    W_q, W_k = torch.randn(D_ATTN, D_QUERY).double(), torch.randn(D_ATTN, D_KEY).double()
    v = torch.randn(D_ATTN).double()
    scores = additive_score(100 * query, 100 * keys, W_q, W_k, v)
    assert (scores.abs() <= v.abs().sum() + 1e-12).all()


def additive_inputs(queries=QUERIES):
    shapes = (
        (BATCH, queries, D_QUERY),
        (BATCH, KEYS, D_KEY),
        (D_ATTN, D_QUERY),
        (D_ATTN, D_KEY),
        (D_ATTN,),
    )
    return [torch.randn(shape, dtype=torch.float64, requires_grad=True) for shape in shapes]


@pytest.mark.parametrize("at_once", [0.5, 1, 2, QUERIES - 1])
def test_scores_in_blocks_are_the_scores_and_have_their_gradients(monkeypatch, at_once):
    given = additive_inputs()
    whole = additive_score(*given)
    expected = torch.autograd.grad(whole.square().sum(), given)
    monkeypatch.setattr(scores, "MOST_AT_ONCE", int(at_once * BATCH * KEYS * D_ATTN))
    in_blocks = additive_score(*given)
    torch.testing.assert_close(in_blocks, whole, atol=1e-12, rtol=0)
    found = torch.autograd.grad(in_blocks.square().sum(), given)
    torch.testing.assert_close(found, expected, atol=1e-11, rtol=0)


def largest_saved(queries):
    """Numbers in the largest tensor that is kept for the gradient of additive scores."""
    sizes = []
    given = additive_inputs(queries)
    with torch.autograd.graph.saved_tensors_hooks(lambda x: sizes.append(x.numel()) or x, _same):
        additive_score(*given)
    return max(sizes)


def _same(x):
    return x


def test_what_is_kept_for_the_gradient_does_not_grow_with_both_lengths(monkeypatch):
    limit = 2 * BATCH * KEYS * D_ATTN
    monkeypatch.setattr(scores, "MOST_AT_ONCE", limit)
    assert largest_saved(2) == limit  # all at once is kept as it is
    assert largest_saved(10) < 10 * BATCH * D_ATTN * KEYS / 2
    assert largest_saved(100) <= 100 * BATCH * D_ATTN  # no more than the projected queries


def test_the_tiny_example_gives_the_formulas_scores():
    t = TINY
    cases = {
        additive_score: (oracles.additive, {"W_q": t.W_q, "W_k": t.W_k, "v": t.v}),
        dot_score: (oracles.dot, {}),
        scaled_dot_score: (oracles.scaled_dot, {}),
        general_score: (oracles.general, {"W": t.W}),
        concat_score: (oracles.concat, {"W": t.W_c, "v": t.v}),
        reduced_rank_score: (oracles.reduced_rank, {"U": t.U, "V": t.V}),
    }
    for function, (oracle, weights) in cases.items():
        expected = [oracle(t.s.numpy(), h, **as_arrays(weights)) for h in t.h.numpy()]
        assert function(t.query, t.keys, **weights)[0].tolist() == pytest.approx(
            expected, abs=1e-15
        )


@every_mechanism
@pytest.mark.parametrize(
    ("query", "keys"),
    [
        ((2, "d_query"), (3, 7, "d_key")),
        ((2, 5, "d_query"), (3, 7, "d_key")),
        ((3, "d_query"), (3, "d_key")),
        (("d_query",), (3, 7, "d_key")),
        ((3, 2, 5, "d_query"), (3, 7, "d_key")),
        ((3, "d_query"), (3, 2, 7, "d_key")),
    ],
    ids=str,
)
def test_queries_and_keys_that_are_not_one_batch_of_each_are_refused(
    mechanism, query, keys, unchecked
):
    attention = mechanism.build(torch.float32)
    query, keys = (
        torch.zeros([getattr(mechanism, n) if isinstance(n, str) else n for n in shape])
        for shape in (query, keys)
    )
    message = r"query has shape .* and keys, or what .* have shape .*; expected \(batch, \[queries,"
    with pytest.raises(ValueError, match=message):
        mechanism.function(query, keys, **weights_of(attention.score))
    with pytest.raises(ValueError, match=message):
        attention.score(query, keys)


@every_mechanism
@pytest.mark.parametrize("wrong", ["query", "keys"])
def test_sizes_that_do_not_fit_the_weights_are_refused(mechanism, wrong, unchecked):
    attention = mechanism.build(torch.float32)
    query = torch.zeros(3, mechanism.d_query + (wrong == "query"))
    keys = torch.zeros(3, 7, mechanism.d_key + (wrong == "keys"))
    came = rf"\b{(query if wrong == 'query' else keys).shape[-1]}\b"
    with pytest.raises(ValueError, match=came):
        mechanism.function(query, keys, **weights_of(attention.score))
    with pytest.raises(ValueError, match=came):
        attention.score(query, keys)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda q, k: dot_score(q, k), "query has size 11 and keys have size 13; a dot product"),
        (
            lambda q, k: general_score(q, k, torch.zeros(13, 11)),
            r"W has shape \(13, 11\); expected \(d_query, d_key\) = \(11, 13\)",
        ),
        (
            lambda q, k: concat_score(q, k, torch.zeros(19, 23), torch.zeros(19)),
            r"W has shape \(19, 23\); expected \(d_attn, d_query \+ d_key\), with 11 \+ 13 columns",
        ),
        (
            lambda q, k: additive_score(
                q, k, torch.zeros(19, 13), torch.zeros(19, 13), torch.zeros(19)
            ),
            r"query of size 11 cannot meet W_q of shape \(19, 13\), which takes size 13",
        ),
        (
            lambda q, k: reduced_rank_score(q, k, torch.zeros(2, 11), torch.zeros(2, 11)),
            r"keys of size 13 cannot meet V of shape \(2, 11\), which takes size 11",
        ),
        (
            lambda q, k: additive_score(
                q, k, torch.zeros(11), torch.zeros(19, 13), torch.zeros(19)
            ),
            r"W_q has shape \(11,\); expected two axes, what comes out and what goes in",
        ),
    ],
)
def test_a_size_error_says_what_came_and_what_was_expected(call, message, unchecked):
    for query in (torch.zeros(3, 11), torch.zeros(3, 5, 11)):
        with pytest.raises(ValueError, match=message):
            call(query, torch.zeros(3, 7, 13))


@pytest.mark.parametrize("b", [(), (1,), (17,), (3, 19)], ids=str)
def test_a_bias_that_is_not_one_for_each_feature_is_refused(b, unchecked):
    given = [torch.zeros(n) for n in ((3, 11), (3, 7, 13), (19, 11), (19, 13), (19,), b)]
    with pytest.raises(ValueError, match=r"b has shape .*; expected \(d_attn,\) = \(19,\)"):
        additive_score(*given)


def test_a_vector_of_two_axes_is_refused(unchecked):
    given = [torch.zeros(n) for n in ((3, 11), (3, 7, 13), (19, 11), (19, 13), (19, 1))]
    with pytest.raises(ValueError, match=r"v has shape \(19, 1\); expected \(d_attn,\)"):
        additive_score(*given)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: AdditiveScore(2, 3, 0), "d_attn is 0; expected at least 1"),
        (lambda: AdditiveScore(2, -3, 5), "d_key is -3; expected at least 1"),
        (lambda: GeneralScore(2.0, 3), "d_query is 2.0; expected a whole number"),
        (lambda: ConcatScore(2, 3, 0), "d_attn is 0; expected at least 1"),
        (lambda: ReducedRankScore(2, 3, 0), "rank is 0; expected at least 1"),
        (lambda: LocationScore(2, 0), "max_len is 0; expected at least 1"),
    ],
)
def test_sizes_of_nothing_are_refused(make, message, unchecked):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("sizes", [(1, 19, 19), (19, 1, 19), (19, 19, 1), (19, 17, 19)], ids=str)
def test_a_comparison_space_of_three_sizes_is_refused(sizes, unchecked):
    in_q, in_k, in_v = sizes
    with pytest.raises(
        ValueError, match=f"W_q gives {in_q} features, W_k {in_k} and v weighs {in_v}"
    ):
        additive_score(
            torch.zeros(3, 11),
            torch.zeros(3, 7, 13),
            torch.zeros(in_q, 11),
            torch.zeros(in_k, 13),
            torch.zeros(in_v),
        )


def test_the_additive_score_has_no_bias_unless_asked_for():
    assert AdditiveScore(2, 3, 5).b is None
    assert AdditiveScore(2, 3, 5, bias=True).b.shape == (5,)


def test_the_signatures_are_shape_checked_in_tests(checked):
    with pytest.raises(TypeError, match="dot_score"):
        dot_score(torch.zeros(2, 3), torch.zeros(5, 7, 3))


def test_a_score_must_say_how_it_compares():
    class Nameless(Score):
        pass

    with pytest.raises(NotImplementedError, match=r"Nameless must define compare"):
        Nameless()(torch.zeros(3, 11), torch.zeros(3, 7, 11))


@pytest.mark.parametrize("name", ["query", "keys"])
def test_whole_numbers_are_refused_by_name(name, unchecked):
    given = {"query": torch.zeros(3, 5), "keys": torch.zeros(3, 7, 5)}
    given[name] = given[name].long()
    with pytest.raises(TypeError, match=rf"{name}: dtype torch\.int64; .*: {name}\.float\(\)"):
        dot_score(**given)

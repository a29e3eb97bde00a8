"""Proofs and properties that chapters/claims/03_additive.yml and the formulas of chapter 3 name."""

import re

import nbformat
import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from benchmarks import additive
from seqattn import BahdanauAttention, additive_score
from seqattn.data import TINY, measured, tokenize
from seqattn.metrics import alignment_error_rate
from seqattn.widgets import LinearRegime
from tools.notebooks import CHAPTERS

BATCH, QUERIES, KEYS, D_QUERY, D_KEY, D_ATTN = 2, 3, 7, 5, 11, 13


def test_the_numbers_by_hand():
    t = TINY
    close = {"rtol": 0, "atol": 0.0051}
    sums = t.W_q @ t.s + t.h @ t.W_k.T
    scores = additive_score(t.query, t.keys, t.W_q, t.W_k, t.v)
    weights = scores.softmax(-1)
    for found, on_paper in (
        (sums, [[-0.30, 1.05], [-1.20, 1.20], [0.50, -0.55]]),
        (sums.tanh(), [[-0.29, 0.78], [-0.83, 0.83], [0.46, -0.50]]),
        (scores, [[0.88, 0.42, -0.29]]),
        (scores.exp(), [[2.41, 1.52, 0.75]]),
        (weights, [[0.52, 0.32, 0.16]]),
        (weights @ t.h, [[0.43, 0.58]]),
    ):
        torch.testing.assert_close(found, torch.tensor(on_paper).double(), **close)


def test_the_example_without_a_tanh():
    t = TINY
    keys_alone = t.h @ t.W_k.T @ t.v
    close = {"rtol": 0, "atol": 1e-6}
    torch.testing.assert_close(keys_alone, torch.tensor([1.325, 0.65, -0.275]).double(), **close)
    for query, shift in (((0.5, 1.0), -0.05), ((-1.0, 0.5), 1.60)):
        assert float(t.v @ t.W_q @ torch.tensor(query).double()) == pytest.approx(shift)
    on_paper = torch.tensor([0.58, 0.30, 0.12]).double()
    torch.testing.assert_close(keys_alone.softmax(-1), on_paper, rtol=0, atol=0.005)


def test_another_query_prefers_another_word():
    def best(*query):
        s = torch.tensor([query]).double()
        return int(additive_score(s, TINY.keys, TINY.W_q, TINY.W_k, TINY.v).argmax())

    assert TINY.words[best(0.5, 1.0)] == "cat"
    assert TINY.words[best(-1.0, 0.5)] == "mat"


@pytest.mark.parametrize("bias", [False, True])
def test_the_additive_score_has_so_many_weights(bias):
    attention = BahdanauAttention(D_QUERY, D_KEY, D_ATTN, bias=bias)
    expected = D_ATTN * (D_QUERY + D_KEY + 1 + bias)
    assert sum(p.numel() for p in attention.parameters()) == expected


def test_a_bias_after_v_changes_no_weight_and_gets_no_gradient():
    scores = torch.randn(BATCH, KEYS).double()
    bias = torch.zeros(1).double().requires_grad_()
    weights = (scores + bias).softmax(-1)
    (weights * torch.randn(BATCH, KEYS).double()).sum().backward()
    assert bias.grad.abs().item() < 1e-15
    torch.testing.assert_close((scores + 7).softmax(-1), scores.softmax(-1))


def test_multiplications_are_those_of_the_formulas():
    attention = BahdanauAttention(D_QUERY, D_KEY, D_ATTN)
    queries, keys = torch.randn(QUERIES, 1, D_QUERY), torch.randn(1, KEYS, D_KEY)

    def count(program):
        with FlopCounterMode(display=False) as counter, torch.no_grad():
            program()
        with_v = QUERIES * KEYS * D_ATTN  # PyTorch's counter knows no matrix times a vector
        return counter.get_total_flops() // 2 + with_v

    def once():
        projected = attention.score.project_keys(keys)
        for query in queries:
            attention.score.compare(query, projected)

    anew = count(lambda: [attention.score(query, keys) for query in queries])
    assert anew == QUERIES * D_ATTN * (D_QUERY + KEYS * D_KEY + KEYS)
    assert count(once) == (
        KEYS * D_ATTN * D_KEY + QUERIES * D_ATTN * D_QUERY + QUERIES * KEYS * D_ATTN
    )


def test_the_query_is_felt_at_third_order_only():
    torch.manual_seed(0)
    queries = torch.randn(1, 2, D_QUERY).double()
    keys = torch.randn(1, KEYS, D_KEY).double()
    W_q, W_k = torch.randn(D_ATTN, D_QUERY).double(), torch.randn(D_ATTN, D_KEY).double()
    v = torch.randn(D_ATTN).double()
    z = (queries @ W_q.T)[0, :, None] + (keys @ W_k.T)[0, None]

    def centred(scores):  # what a softmax can see
        return scores - scores.mean(-1, keepdim=True)

    errors, differences = [], []
    for scale in (1e-2, 1e-3):
        scores = centred(additive_score(scale * queries, scale * keys, W_q, W_k, v)[0])
        expected = scale * (keys @ W_k.T)[0] @ v - scale**3 / 3 * (z**3 @ v)
        errors.append((scores - centred(expected)).abs().max().item())
        differences.append((scores[0] - scores[1]).abs().max().item())
    assert differences[0] / differences[1] == pytest.approx(1e3, rel=0.1)
    assert errors[0] / errors[1] == pytest.approx(1e5, rel=0.1)
    dashed = [LinearRegime(scale=x).numbers()["relative_difference"] for x in (1e-2, 1e-3)]
    assert dashed[0] / dashed[1] == pytest.approx(100, rel=0.05)


def test_weights_with_a_linear_score_do_not_depend_on_the_query():
    queries, keys = torch.randn(2, D_QUERY).double(), torch.randn(KEYS, D_KEY).double()
    W_q, W_k = torch.randn(D_ATTN, D_QUERY).double(), torch.randn(D_ATTN, D_KEY).double()
    v = torch.randn(D_ATTN).double()
    weights = [(((W_q @ s) + keys @ W_k.T) @ v).softmax(-1) for s in queries]
    torch.testing.assert_close(*weights)


def test_error_rate_where_every_gold_link_is_sure():
    found = [{(0, 0), (1, 1), (3, 2)}, {(0, 1)}]
    gold = [{(0, 0), (1, 2), (3, 2)}, {(0, 1), (1, 0)}]
    assert alignment_error_rate(found, gold, gold) == pytest.approx(1 - 2 * 3 / (4 + 5))


@pytest.mark.slow  # draws the corpus of the study
def test_counting_words_that_look_at_the_end_as_wrong_the_ranges_overlap():
    """How many links there are follows from the error rate and the number of wrong ones."""
    pairs = additive.read()["test"]
    gold = sum(len(pair.links) for pair in pairs)
    words = sum(len({t for _, t in pair.links}) for pair in pairs)
    assert all({t for _, t in p.links} == set(range(len(tokenize(p.target, "fr")))) for p in pairs)
    unlinked, strict = {}, {}
    for name, runs in measured("additive")["runs"].items():
        unlinked[name], strict[name] = [], []
        for run in runs:
            rate, wrong = run["test"]["aer"], run["misses"]["count"]
            links = ((1 - rate) * gold + 2 * wrong) / (1 + rate)
            assert links == pytest.approx(round(links), abs=1e-6)
            unlinked[name].append(words - round(links))
            strict[name].append(1 - 2 * (round(links) - wrong) / (words + gold))
    assert set(unlinked) == {"penalty", "none"}
    assert min(unlinked["penalty"]) > 4 * max(unlinked["none"]) > 0
    assert min(strict["none"]) < max(strict["penalty"])
    ranges = [f"{f(strict[name]):.3f}" for name in ("penalty", "none") for f in (min, max)]
    assert ranges == ["0.184", "0.200", "0.198", "0.275"]


def printed_where(line):
    """Give what the stored notebook printed below the cell that has a line."""
    notebook = nbformat.read(CHAPTERS / "03_additive.ipynb", as_version=4)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code" and line in cell.source]
    [printed] = [output.text for cell in cells for output in cell.outputs]
    return printed


def test_the_stored_run_breaks_the_box_and_says_no_longer_twice():
    # Another run writes other sentences: then the text below them has to follow.
    printed = printed_where("zip(FIVE, translator.translate")
    assert "    est-ce que le roi a cassé la boîte" in printed
    assert "    il ne manque plus au héros plus\n" in printed


def test_the_stored_run_misses_the_verb_alone():
    # Rounding decides which verb it is, so no other processor need write the same.
    printed = printed_where("mine = [")
    sentence = "my brother does not see the dog -> mon frère ne (\\w+) pas le chien"
    found = re.search(sentence, printed)
    assert found is not None
    assert found[1] != "voit"

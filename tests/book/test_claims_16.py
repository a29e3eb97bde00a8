"""Proofs and properties that chapters/claims/16_transformer.yml and its formulas name."""

import math
from functools import partial

import pytest
import torch
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from benchmarks import transformer
from seqattn import Memory, causal_mask
from seqattn.data import TINY, CorpusConfig, detokenize, measured, read_split, tokenize
from seqattn.metrics import corpus_bleu
from seqattn.models import Transformer
from seqattn.models.transformer import EncoderLayer
from seqattn.translator import Translator
from seqattn.widgets import CacheCounter, Recency


def test_the_norms_by_hand():
    four = torch.tensor([1.0, 2.0, 3.0, 6.0])
    assert four.mean() == 3
    assert four.var(correction=0) == 3.5
    assert F.layer_norm(four, [4]).tolist() == pytest.approx([-1.07, -0.53, 0, 1.60], abs=0.0051)
    for pair in ([1.0, 3.0], [1.0, 100.0], [3.0, 7.0]):
        assert F.layer_norm(torch.tensor(pair), [2]).tolist() == pytest.approx([-1, 1], abs=1e-4)


def test_the_blocks_by_hand():
    scores = TINY.h @ TINY.s
    assert scores.tolist() == pytest.approx([1.0, 1.25, -0.75])
    shrink = math.exp(1.0 - 1.25)  # of a sum that is 1, when 1.25 comes
    assert shrink == pytest.approx(0.779, abs=0.001)
    assert shrink + 1 + math.exp(-2.0) == pytest.approx(1.914, abs=0.001)


def test_a_cache_holds_keys_and_values_of_each_layer():
    model = Transformer(11, 13, d_model=12, heads=3, layers=5, d_feedforward=7)
    state, memory = model.begin(torch.tensor([[4, 5, 2]]), torch.tensor([3]))
    for _ in range(7):
        state = model.step(torch.tensor([4]), state, memory).state
    kept = sum(part.keys.numel() + part.values.numel() for part in state)
    assert kept == 2 * 5 * 7 * 3 * 4


@torch.no_grad()
def test_both_ways_to_write_that_are_timed_write_what_the_package_does():
    torch.manual_seed(1)
    model = Transformer(13, 11, d_model=12, heads=3, layers=2, d_feedforward=24).eval()
    source, lengths = torch.randint(4, 13, (2, 5)), torch.tensor([5, 3])
    state, memory = model.begin(source, lengths)
    word, expected = torch.ones(2, dtype=torch.long), []
    for _ in range(6):
        logits, _, state = model.step(word, state, memory)
        expected.append(logits)
        word = logits.argmax(-1)
    for cached in (True, False):
        torch.testing.assert_close(
            transformer.write(model, source, lengths, 6, cached=cached), torch.stack(expected, 1)
        )


@torch.no_grad()
def test_the_work_of_a_cache():
    """Count what one layer of d = 12 multiplies, whose inner layer has 4 d numbers."""
    d, T = 12, 7
    layer = EncoderLayer(d, 3, 4 * d, 0.0, 0.0, "pre")
    found = {"without": 0, "with": 0}
    kept = layer.self_attention.remember(torch.randn(1, T, d))
    for t in range(1, T + 1):
        with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as count:
            layer(torch.randn(1, t, d), causal_mask(t)[None])
        found["without"] += count.get_total_flops() // 2
        with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as count:
            x = torch.randn(1, 1, d)
            layer.self_attention.remember(x)
            seen = Memory(*(part[:, :, :t] for part in kept[:2]))
            layer.self_attention(x, seen, need_weights=False)
            layer.feed_forward(x)
        found["with"] += count.get_total_flops() // 2
    P = 4 * d * d + 8 * d * d
    assert found["with"] == sum(P + 2 * t * d for t in range(1, T + 1))
    assert found["without"] == sum(t * P + 2 * t * t * d for t in range(1, T + 1))


def test_shared_keys_and_values():
    own, shared = (CacheCounter(groups=groups).numbers() for groups in (8, 1))
    assert shared["kept_numbers"] * 8 == own["kept_numbers"]
    assert 0.8 < shared["with_cache"] / own["with_cache"] < 0.95


def test_the_figure_of_a_recurrent_state_is_untrained():
    shown = Recency().numbers()
    torch.manual_seed(0)
    gru = torch.nn.GRU(32, 32, batch_first=True).double()
    x = torch.randn(1, 30, 32, dtype=torch.float64, requires_grad=True)
    jacobian = torch.autograd.functional.jacobian(lambda x: gru(x)[0][0, -1], x)
    norms = jacobian.square().sum((0, 1, 3)).sqrt()
    # One fresh network of the eight that the figure averages: the same slope, nearly.
    one, all_of_them = (
        math.log10(float(v)) for v in (norms[0] / norms[-1], shown["first_over_last"])
    )
    assert one == pytest.approx(all_of_them, rel=0.25)


def test_states_grow_along_the_stack_of_pre_norm():
    translator = Translator.load("toy-transformer")
    sizes = {"encoder": [], "decoder": []}

    def note(layer, given, made, stack):
        made = made if isinstance(made, torch.Tensor) else made[0]
        sizes[stack].extend(x.norm(dim=-1).mean().item() for x in (given[0], made))

    for stack in sizes:
        for layer in getattr(translator.model, stack):
            layer.register_forward_hook(partial(note, stack=stack))
    translator.force(read_split(CorpusConfig(pairs=2_000), "valid")[:40])
    for found in sizes.values():
        assert found[0] < 0.8 * found[1]
        assert found[2] < 0.8 * found[3]


def test_pre_norm_has_the_two_last_norms_more():
    d, sizes = transformer.D_MODEL, {"heads": transformer.HEADS, "layers": transformer.LAYERS}
    pre, post = (
        sum(p.numel() for p in Transformer(11, 13, d_model=d, norm=norm, **sizes).parameters())
        for norm in ("pre", "post")
    )
    assert pre - post == 2 * 2 * d  # a gain and a bias each


@pytest.mark.slow
def test_the_rule_of_single_words_over_text(monkeypatch):
    data, told = transformer.read(), []

    def keep(texts, references):
        told.append((texts, references))
        return corpus_bleu(texts, references)

    monkeypatch.setattr(transformer, "corpus_bleu", keep)
    judged = data["test"][: transformer.JUDGED]
    over_tokens = transformer.word_by_word(data["train"], judged)
    assert over_tokens == pytest.approx(
        measured("transformer")["simple rules"]["word by word, BLEU"]
    )
    [(texts, references)] = told
    assert references == [" ".join(tokenize(pair.target, "fr")) for pair in judged]
    written = [detokenize(text.split(" "), "fr") for text in texts]
    over_text = corpus_bleu(written, [pair.target for pair in judged]).score
    assert 0.4 < over_tokens - over_text < 0.7

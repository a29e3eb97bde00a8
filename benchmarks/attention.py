"""Attention against its peers, side by side: ``python -m benchmarks.attention``.

Each line times two ways to do the same thing, in turns within one run, and prints the ratio of
their medians: below 1, ours (named first) is faster. Absolute times depend on the machine and its
other work; ratios much less.
"""

import statistics
import sys
import time
from collections.abc import Callable

import torch
from torch import nn
from torch.nn import functional as F

from seqattn import (
    BahdanauAttention,
    LocalAttention,
    MultiHeadAttention,
    ScaledDotProductAttention,
    additive_score,
    attend,
    padding_mask,
    window_mask,
    windowed_attention,
)
from seqattn.decoding import beam_search
from seqattn.models import ModelConfig, build_model

ROUNDS, SECONDS = 7, 0.4
Work = Callable[[], object]


def per_call(work: Work) -> float:
    """Seconds for a call, over about SECONDS."""
    started, calls = time.perf_counter(), 0
    while time.perf_counter() - started < SECONDS:
        work()
        calls += 1
    return (time.perf_counter() - started) / calls


def compare(title: str, ours: Work, theirs: Work, bar: float) -> None:
    """Print the ratio of two ways, and the bar that it should stay below."""
    for work in (ours, theirs):  # warm up
        work()
    pairs = [(per_call(ours), per_call(theirs)) for _ in range(ROUNDS)]
    mine, other = (statistics.median(times) * 1e3 for times in zip(*pairs, strict=True))
    ratio = statistics.median(a / b for a, b in pairs)
    verdict = "" if ratio <= bar else "   above its bar"
    print(
        f"{title:62s}{mine:9.2f} ms{other:9.2f} ms{ratio:7.2f}  (bar {bar:.2f}){verdict}",
        flush=True,
    )


def scaled_dot_product() -> None:
    """Our operators against PyTorch's, without and with weights."""
    query, keys = torch.randn(32, 64, 256), torch.randn(32, 64, 256)
    attention = ScaledDotProductAttention()
    compare(
        "scaled dot product, B 32, T 64, d 256 / F.sdpa",
        lambda: attention(query, keys),
        lambda: F.scaled_dot_product_attention(query, keys, keys),
        1.05,
    )


def multi_head(length: int) -> None:
    """A training step, forward and backward, of our multi-head attention and PyTorch's module."""
    x = torch.randn(32, length, 256)
    mask = padding_mask(torch.randint(length // 2, length + 1, (32,)), length)
    ours, theirs = MultiHeadAttention(256, 8), nn.MultiheadAttention(256, 8, batch_first=True)
    ignored = {"key_padding_mask": ~mask}
    compare(
        f"multi-head, no weights, T {length}, trained / nn.MultiheadAttention",
        lambda: ours(x, mask=mask, need_weights=False).context.sum().backward(),
        lambda: theirs(x, x, x, need_weights=False, **ignored)[0].sum().backward(),
        1.05,
    )
    for title, mine, other in (("no mask", {}, {}), ("mask", {"mask": mask}, ignored)):
        compare(
            f"multi-head, weights, {title}, T {length}, trained / the same",
            lambda mine=mine: ours(x, **mine).context.sum().backward(),
            lambda other=other: (
                theirs(x, x, x, average_attn_weights=False, **other)[0].sum().backward()
            ),
            1.0,
        )


def remembered_keys() -> None:
    """A decoder step with remembered keys against the step that projects them each time."""
    attention = BahdanauAttention(512, 512, 512)
    query, keys = torch.randn(64, 512), torch.randn(64, 128, 512)
    weights = [p.detach() for p in attention.parameters()]
    with torch.no_grad():
        memory = attention.remember(keys)
        compare(
            "additive step, remembered, B 64, T 128, d 512 / projected again",
            lambda: attention(query, memory),
            lambda: attend(additive_score(query, keys, *weights), keys),
            1 / 3,
        )


def locality() -> None:
    """Local attention at two lengths, and a gathered window against a masked one."""
    attention, query = LocalAttention(256, 256, window=10), torch.randn(32, 256)
    short, long = torch.randn(32, 512, 256), torch.randn(32, 4096, 256)
    with torch.no_grad():
        memories = [attention.remember(x) for x in (long, short)]
        compare(
            "local-p step, T 4096 / T 512",
            lambda: attention(query, memories[0]),
            lambda: attention(query, memories[1]),
            1.3,
        )
        x = torch.randn(1, 4096, 64)
        mask = window_mask(4096, 16)[None]
        compare(
            "window of 16 gathered, T 4096 / masked",
            lambda: windowed_attention(x, x, x, 16),
            lambda: ScaledDotProductAttention()(x, x, x, mask),
            1.0,
        )


def searching() -> None:
    """Beam search of a batch against the same search, one sentence at a time."""
    torch.manual_seed(0)
    model = build_model(ModelConfig(d_embed=128, d_hidden=256), 2000, 2000).eval()
    source, lengths = torch.randint(4, 2000, (32, 15)), torch.full((32,), 15)

    def alone() -> None:
        for b in range(32):
            beam_search(model, source[b : b + 1], lengths[b : b + 1], beam=5, max_len=20)

    compare(
        "beam 5, 32 sentences in a batch / one at a time",
        lambda: beam_search(model, source, lengths, beam=5, max_len=20),
        alone,
        1 / 3,
    )


def main() -> None:
    """Run all comparisons on two threads."""
    torch.set_num_threads(2)
    torch.manual_seed(0)
    print(
        f"PyTorch {torch.__version__}, {torch.get_num_threads()} threads, Python {sys.version[:6]}"
    )
    for group in (scaled_dot_product, remembered_keys, locality, searching):
        group()


if __name__ == "__main__":
    main()

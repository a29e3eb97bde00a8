"""Attention against its peers, side by side: ``python -m benchmarks.attention``.

Each line times two ways to do the same thing, in turns within one run, and prints the median ratio:
below 1, ours (named first) is faster. Absolute times depend on the machine and its other work;
ratios much less. With ``--book`` the table goes into the book's appendix.
"""

import sys

import torch
from torch import nn
from torch.nn import functional as F

from benchmarks.measure import Comparison, compare, compare_memory, print_heading, write_table
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
from seqattn.attention import scores
from seqattn.decoding import beam_search
from seqattn.models import ModelConfig, build_model

Rows = list[Comparison]


def scaled_dot_product() -> Rows:
    """Our operator, which gives the weights, against PyTorch's, which does not.

    PyTorch's takes its fused kernel only where there is an axis for heads.
    """
    query, keys = torch.randn(32, 64, 256), torch.randn(32, 64, 256)
    one_head = query.unsqueeze(1), keys.unsqueeze(1), keys.unsqueeze(1)
    attention, title = (
        ScaledDotProductAttention(),
        "scaled dot-product attention, B 32, T 64, d 256",
    )
    general = compare(
        title,
        "`F.scaled_dot_product_attention`, no axis for heads",
        lambda: attention(query, keys),
        lambda: F.scaled_dot_product_attention(query, keys, keys),
        1.05,
    )
    fused = compare(
        title,
        "the same with one head, fused",
        lambda: attention(query, keys),
        lambda: F.scaled_dot_product_attention(*one_head),
        1.5,  # ours writes the weights down as well
    )
    return [general, fused]


def multi_head(length: int) -> Rows:
    """A training step, forward and backward, of our multi-head attention and PyTorch's module."""
    x = torch.randn(32, length, 256)
    mask = padding_mask(torch.randint(length // 2, length + 1, (32,)), length)
    ours, theirs = MultiHeadAttention(256, 8), nn.MultiheadAttention(256, 8, batch_first=True)
    ignored = {"key_padding_mask": ~mask}
    peer = "`nn.MultiheadAttention`"
    rows = [
        compare(
            f"multi-head, no weights, mask, T {length}, forward and backward",
            peer,
            lambda: ours(x, mask=mask, need_weights=False).context.sum().backward(),
            lambda: theirs(x, x, x, need_weights=False, **ignored)[0].sum().backward(),
            1.05,
        )
    ]
    for title, mine, other in (("no mask", {}, {}), ("mask", {"mask": mask}, ignored)):
        row = compare(
            f"multi-head, weights, {title}, T {length}, forward and backward",
            peer,
            lambda mine=mine: ours(x, **mine).context.sum().backward(),
            lambda other=other: (
                theirs(x, x, x, average_attn_weights=False, **other)[0].sum().backward()
            ),
            1.0,
        )
        rows.append(row)
    return rows


def remembered_keys() -> Rows:
    """A decoder step with remembered keys against the step that projects them each time."""
    attention = BahdanauAttention(512, 512, 512)
    query, keys = torch.randn(64, 512), torch.randn(64, 128, 512)
    weights = [p.detach() for p in attention.parameters()]
    with torch.no_grad():
        memory = attention.remember(keys)
        row = compare(
            "additive step, keys remembered, B 64, T 128, d 512",
            "keys projected at each step",
            lambda: attention(query, memory),
            lambda: attend(additive_score(query, keys, *weights), keys),
            1 / 3,
        )
    return [row]


def pass_in_blocks(steps: int = 256) -> None:
    """Take the gradient of a whole-sentence additive pass, its comparisons in blocks."""
    attention = BahdanauAttention(256, 256, 256)
    query, keys = torch.randn(16, steps, 256), torch.randn(16, steps, 256)
    attention(query, keys).context.sum().backward()


def pass_at_once() -> None:
    """Take the same gradient with all comparisons in one tensor."""
    scores.MOST_AT_ONCE = sys.maxsize
    pass_in_blocks()


def whole_sentence() -> Rows:
    """Peak memory of all target steps at once, compared in blocks or in one tensor."""
    row = compare_memory(
        "additive, 256 × 256 positions, B 16, d 256, forward and backward",
        "all comparisons in one tensor",
        pass_in_blocks,
        pass_at_once,
        1 / 3,
    )
    return [row]


def locality() -> Rows:
    """Local attention at two lengths, and a gathered window against a masked one."""
    attention, query = LocalAttention(256, 256, window=10), torch.randn(32, 256)
    short, long = torch.randn(32, 512, 256), torch.randn(32, 4096, 256)
    with torch.no_grad():
        memories = [attention.remember(x) for x in (long, short)]
        flat = compare(
            "local-p step, D 10, T 4096",
            "the same with T 512",
            lambda: attention(query, memories[0]),
            lambda: attention(query, memories[1]),
            1.3,
        )
        everywhere = attention.global_attention
        memories = [everywhere.remember(x) for x in (short, long)]
        growing = compare(
            "global attention's step, T 512",
            "the same with T 4096",
            lambda: everywhere(query, memories[0]),
            lambda: everywhere(query, memories[1]),
            0.5,
        )
        x = torch.randn(1, 4096, 64)
        mask = window_mask(4096, 16)[None]
        window = compare(
            "window of 16 gathered, T 4096",
            "the same window as a mask",
            lambda: windowed_attention(x, x, x, 16),
            lambda: ScaledDotProductAttention()(x, x, x, mask),
            1.0,
        )
    return [flat, growing, window]


def searching() -> Rows:
    """Beam search of a batch against the same search, one sentence at a time."""
    torch.manual_seed(0)
    model = build_model(ModelConfig(d_embed=128, d_hidden=256), 2000, 2000).eval()
    source, lengths = torch.randint(4, 2000, (32, 15)), torch.full((32,), 15)

    def alone() -> None:
        for b in range(32):
            beam_search(model, source[b : b + 1], lengths[b : b + 1], beam=5, max_len=20)

    row = compare(
        "beam search of size 5, 32 sentences in a batch",
        "one sentence at a time",
        lambda: beam_search(model, source, lengths, beam=5, max_len=20),
        alone,
        1 / 3,
    )
    return [row]


def main() -> None:
    """Run all comparisons on two threads."""
    torch.set_num_threads(2)
    torch.manual_seed(0)
    print_heading()
    rows = scaled_dot_product()
    for length in (64, 256):
        rows += multi_head(length)
    rows += [*remembered_keys(), *whole_sentence(), *locality(), *searching()]
    if "--book" in sys.argv[1:]:
        write_table("attention", rows, "python -m benchmarks.attention --book")
    sys.exit(not all(row.holds for row in rows))


if __name__ == "__main__":
    main()

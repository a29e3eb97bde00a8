"""The live figures under test: a new one is tested by adding it to this list."""

import pytest
import torch

from seqattn import widgets

SENTENCES = (
    (1, ["the", "cat", "slept", "<eos>"], ["le", "chat", "dormait", "bien", "<eos>"]),
    (2, ["she", "laughs", "<eos>"], ["elle", "rit", "<eos>"]),
)


def every_head(seed, source, target):
    """Draw maps of two layers with three heads, in hundredths."""
    dice = torch.Generator().manual_seed(seed)
    sizes = {
        "source": (len(source), len(source)),
        "target": (len(target), len(target)),
        "cross": (len(target), len(source)),
    }
    maps = {}
    for kind, size in sizes.items():
        scores = 3 * torch.randn(2, 3, *size, generator=dice)
        if kind == "target":
            scores = scores.masked_fill(~torch.ones(size).tril().bool(), -torch.inf)
        maps[kind] = (100 * scores.softmax(-1)).round()
    return {"source": source, "target": target, "weights": maps, "links": [(0, 0), (1, 1)]}


def counts_of(seed):
    """Draw what BLEU is made of for 23 sentences, which are as hard for every system."""
    dice, same = torch.Generator().manual_seed(seed), torch.Generator().manual_seed(0)
    total = torch.randint(8, 15, (23, 1), generator=same) - torch.arange(4)
    hard = torch.rand(23, 1, generator=same)
    right = (total * hard - torch.randint(3, (23, 4), generator=dice)).clamp(min=0).long()
    return torch.cat([total[:, :1], total[:, :1], right, total], 1)


FIGURES = {
    "AdditiveSteps": widgets.AdditiveSteps,
    "BeamTree": lambda: widgets.BeamTree(width=2, alpha=0.4),
    "CacheCounter": lambda: widgets.CacheCounter(words=37, layers=3, size=256, groups=2),
    "CopyMixture": lambda: widgets.CopyMixture(
        ["ada", "voit", "bo", "ada"], [0.5, -1.0, 0.2, 0.9], logits=[0.1, -0.4, 1.0], gate=0.3
    ),
    "CoverageSteps": lambda: widgets.CoverageSteps(w_c=(-1.0, -2.0), step=3),
    "DecoderFlow": widgets.DecoderFlow,
    "DotVariance": lambda: widgets.DotVariance(exponent=6, factor="× √d"),
    "EditCost": lambda: widgets.EditCost(
        ["le chat ne dort pas ici", "les chiens dorment", "il lit un livre"],
        edit="a word twice",
        share=60,
    ),
    "FixedVersusDynamic": widgets.FixedVersusDynamic,
    "HeadsExplorer": lambda: widgets.HeadsExplorer(
        [every_head(seed, source, target) for seed, source, target in SENTENCES],
        sentence=1,
        score="same place",
        rank=2,
        row=1,
        column=2,
    ),
    "KernelSmoother": widgets.KernelSmoother,
    "LinearRegime": widgets.LinearRegime,
    "LocalWindow": lambda: widgets.LocalWindow(z=-1.0, pads=2),
    "MapReader": lambda: widgets.MapReader(
        torch.softmax(3 * torch.randn(8, 7, generator=torch.Generator().manual_seed(1)), -1),
        source=["▁the", "▁cat", "▁s", "at", "▁th", "ere", "<eos>"],
        target=["▁le", "▁ch", "at", "▁s", "'", "est", "▁assis", "<eos>"],
        source_words=[0, 1, 2, 2, 3, 3, 4],
        target_words=[0, 1, 1, 2, 2, 3, 4, 5],
        sure=[(0, 0), (1, 1), (2, 4)],
        possible=[(2, 2), (2, 3)],
        rates={
            way: [[0.1 * k + 0.01 * n + 0.2 * t for n in range(5)] for t in range(4)]
            for k, way in enumerate(("rows", "columns", "grow-diag"))
        },
        row=4,
    ),
    "MapThroughTraining": lambda: widgets.MapThroughTraining(
        {
            update: torch.softmax(update / 40 * torch.eye(8, 7, dtype=torch.float64), -1)
            for update in (0, 50, 100, 200)
        },
        source=["the", "black", "cat", "slept", "there", ".", "<eos>"],
        target=["le", "chat", "noir", "dormait", "là-bas", "hier", ".", "<eos>"],
        row=1,
    ),
    "PairedDraws": lambda: widgets.PairedDraws(
        {f"seed {seed}": counts_of(seed) for seed in (1, 2, 3)}, sizes=(5, 11, 17, 23)
    ),
    "PenaltyPath": lambda: widgets.PenaltyPath(penalty="entropy", factor=0.7, steps=12),
    "PositionDials": lambda: widgets.PositionDials(position=11, shift=2, size="64"),
    "RankSlider": lambda: widgets.RankSlider(
        [9.0, 4.0, 2.0, 1.0],
        {
            rank: torch.softmax(rank * torch.eye(4, 5, dtype=torch.float64), -1)
            for rank in (1, 2, 4)
        },
        {1: [3.0, 8.5], 2: [20.0, 24.0], 4: [30.0, 31.5]},
        source=["the", "cat", "slept", ".", "<eos>"],
        target=["le", "chat", "dort", "<eos>"],
        step=2,
    ),
    "Recency": widgets.Recency,
    "ScoreGeometry": lambda: widgets.ScoreGeometry(score="general", stretch=1.5),
    "SelfAttentionLayer": lambda: widgets.SelfAttentionLayer(2, 6, causal=True, turn=30.0),
    "SoftLookup": widgets.SoftLookup,
    "SoftmaxTemperature": lambda: widgets.SoftmaxTemperature(mask=[True, True, False, True, True]),
    "TwoClouds": lambda: widgets.TwoClouds(shift=2.5, baseline="best", draws=3),
    "SparseReach": lambda: widgets.SparseReach("window", width=3, layers=4, word=30),
    "Unrolled": lambda: widgets.Unrolled(
        orders=["none", "bahdanau", "luong", "luong, no feeding", "transformer"]
    ),
    "TurnedQuestion": lambda: widgets.TurnedQuestion(turn=60, asking=2),
    "WeightSurgery": lambda: widgets.WeightSurgery(
        ["a", "key", "is", "on", "it"],
        {"GRU": [3.0, 1.5, 4.0, 5.0, -2.0], "words": [-1.0, 0.0, -1.0, 9.0, 0.5]},
        {"GRU": [0.05, 0.15, 0.3, 0.4, 0.1], "words": [0.0, 0.1, 0.1, 0.8, 0.0]},
        answer="on",
        weights=[0.1, 0.2, 0.6, 0.0, 0.0],
    ),
    "TwoHeads": lambda: widgets.TwoHeads(query=[2.0, -1.5]),
    "WeightedSum": widgets.WeightedSum,
}


def agrees(shown, expected):
    """Assert that two trees of numbers have the same keys and differ by at most 1e-6."""
    assert type(shown) is type(expected) or {type(shown), type(expected)} == {int, float}
    if isinstance(expected, dict):
        assert list(shown) == list(expected)
        for name, value in expected.items():
            agrees(shown[name], value)
    elif isinstance(expected, list):
        assert len(shown) == len(expected)
        for one, other in zip(shown, expected, strict=True):
            agrees(one, other)
    elif isinstance(expected, float):
        assert shown == pytest.approx(expected, abs=1e-6, rel=1e-6)
    else:
        assert shown == expected

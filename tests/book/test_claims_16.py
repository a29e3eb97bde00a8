"""What the capstone claims, and no test of the package covers."""

import json
import math
import random
import re
from collections import Counter
from pathlib import Path

import pytest
import torch

from seqattn import Attention, DotScore
from seqattn.data import Batches, CorpusConfig, Vocabularies, encode_pairs, read_split
from seqattn.data.measurements import measured
from seqattn.metrics import corpus_bleu, corpus_chrf
from seqattn.training import cross_entropy

CHAPTER = Path(__file__).resolve().parents[2] / "chapters" / "16_capstone.ipynb"
WORDS = ["le", "chat", "noir", "dort", "sur", "tapis"]


def bleu(hypotheses, references):
    """BLEU of whole corpora, from the formula."""
    matched, counted, written, wanted = Counter(), Counter(), 0, 0
    for hypothesis, reference in zip(hypotheses, references):
        ours, theirs = hypothesis.split(), reference.split()
        written, wanted = written + len(ours), wanted + len(theirs)
        for n in (1, 2, 3, 4):
            found, there = (
                Counter(tuple(side[i : i + n]) for i in range(len(side) - n + 1))
                for side in (ours, theirs)
            )
            matched[n] += sum((found & there).values())
            counted[n] += sum(found.values())
    mean = math.prod(matched[n] / counted[n] for n in (1, 2, 3, 4)) ** (1 / 4)
    return 100 * min(1.0, math.exp(1 - wanted / written)) * mean


def test_bleu_is_the_formula():
    rng = random.Random(0)
    references = [" ".join(rng.choices(WORDS, k=rng.randint(5, 12))) for _ in range(20)]
    hypotheses = []
    for text in references:
        words = text.split()[: rng.choice((4, 9, 12))]
        changed = [word if rng.random() < 0.8 else rng.choice(WORDS) for word in words]
        hypotheses.append(" ".join(changed))
    found = corpus_bleu(hypotheses, references).score
    assert found == pytest.approx(bleu(hypotheses, references))
    assert 10 < found < 90


def chrf(hypotheses, references, beta=2):
    """Give chrF of whole corpora, from the formula."""
    shares = []
    for n in range(1, 7):
        matched = written = wanted = 0
        for hypothesis, reference in zip(hypotheses, references):
            found, there = (
                Counter(text[i : i + n] for i in range(len(text) - n + 1))
                for text in (hypothesis.replace(" ", ""), reference.replace(" ", ""))
            )
            matched += sum((found & there).values())
            written += sum(found.values())
            wanted += sum(there.values())
        shares.append((matched / written, matched / wanted))
    P, R = (sum(side) / 6 for side in zip(*shares))
    return 100 * (1 + beta**2) * P * R / (beta**2 * P + R)


def test_chrf_is_the_formula():
    rng = random.Random(1)
    references = [" ".join(rng.choices(WORDS, k=rng.randint(5, 12))) for _ in range(20)]
    hypotheses = [text.replace("chat", "chats").removesuffix("sur") for text in references]
    found = corpus_chrf(hypotheses, references).score
    assert found == pytest.approx(chrf(hypotheses, references))
    assert 50 < found < 99


def test_bleu_by_hand():
    hypothesis, reference = "le chat noir dort sur le lit", "le chat blanc dort sur le lit"
    ours, theirs = hypothesis.split(), reference.split()
    shares = []
    for n in (1, 2, 3, 4):
        found, there = (
            Counter(tuple(s[i : i + n]) for i in range(len(s) - n + 1)) for s in (ours, theirs)
        )
        shares.append((sum((found & there).values()), sum(found.values())))
    assert shares == [(6, 7), (4, 6), (2, 5), (1, 4)]
    assert corpus_bleu([hypothesis], [reference]).score == pytest.approx(48.9, abs=0.05)


def test_the_loss_by_hand():
    logits = torch.tensor([[[0.25, 0.5, 0.25]]]).log()
    target = torch.tensor([[1]])
    assert cross_entropy(logits, target).total.item() == pytest.approx(0.693, abs=5e-4)
    smoothed = cross_entropy(logits, target, smoothing=0.3).total.item()
    assert smoothed == pytest.approx(0.832, abs=5e-4)
    on_paper = 0.7 * 0.693 + 0.1 * (0.693 + 1.386 + 1.386)
    assert on_paper == pytest.approx(0.832, abs=5e-4)


def test_entropies_of_different_lengths_as_shares():
    assert 0.3 / math.log(5) == pytest.approx(0.19, abs=0.005)
    assert 0.6 / math.log(40) == pytest.approx(0.16, abs=0.005)


def test_sorting_by_length_saves_most_of_the_padding():
    pairs = read_split(CorpusConfig(pairs=2_000), "train")
    vocabularies = Vocabularies.learn(pairs, ("en", "fr"))
    batches = Batches(encode_pairs(pairs, vocabularies), tokens=256)

    def padding(found):
        return 1 - sum(b.tokens for b in found) / sum(b.targets.numel() for b in found)

    rows = [range(i, min(i + 32, len(pairs))) for i in range(0, len(pairs), 32)]
    at_random = list(map(batches.take, rows))
    assert padding(list(batches.epoch(0))) < 0.05 < 0.15 < padding(at_random)


def test_rows_sum_to_one_in_expectation_only_under_dropout():
    torch.manual_seed(0)
    attention = Attention(DotScore(), dropout=0.2)
    queries, keys = torch.randn(1, 5_000, 3), torch.randn(1, 7, 3)
    used = attention(queries, keys, torch.eye(7)[None]).context.sum(-1)
    assert used.std() > 0.1
    assert used.mean().item() == pytest.approx(1.0, abs=0.02)
    assert torch.isclose(used.max(), used.max().clamp(max=1 / 0.8))


def cells():
    return json.loads(CHAPTER.read_text(encoding="utf-8"))["cells"]


def printed(marker):
    """Give what the cell with a line of code printed when the notebook was stored."""
    [cell] = [c for c in cells() if c["cell_type"] == "code" and marker in "".join(c["source"])]
    return "".join("".join(o.get("text", "")) for o in cell["outputs"])


def test_the_table_of_long_runs_is_that_of_the_file():
    record, shown = measured("multi30k"), printed('measured("multi30k")')
    assert shown.count("BLEU") == sum(len(group["tests"]) for group in record["groups"])
    for group in record["groups"]:
        for found in group["tests"].values():
            assert f"BLEU {found['bleu']['mean']:.2f}" in shown
    if not record["groups"]:
        assert "no run has been collected yet" in shown


def test_every_trial_is_in_the_table():
    shown = printed("run_trials(MODELS")
    for name in ("Bahdanau", "Luong", "coverage", "Transformer", "fixed vector"):
        assert len(re.findall(rf"^{name} +[123] ", shown, re.MULTILINE)) == 3
    assert "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:" in shown


def test_what_the_prose_says_of_attention_dropout_is_what_was_printed():
    told = {}
    for line in printed("def per_rate(value)").splitlines():
        name, none, most = re.match(r"(\w+) +0 %: +([\d.]+) +30 %: +([\d.]+)", line).groups()
        told[name] = float(none), float(most), "apart" in line
    assert told["bleu"][0] > told["bleu"][1]
    assert told["entropy"][0] < told["entropy"][1]
    assert [told[name][2] for name in ("bleu", "gap", "entropy")] == [True, False, True]


def test_what_the_prose_says_of_score_and_order_is_what_was_printed():
    lines = printed("swapped = {").splitlines()[1:]
    grid = [[float(n) for n in re.findall(r"\d+\.\d", line)] for line in lines]
    (before, after), (general, luong) = [(sum(row[:3]) / 3, sum(row[3:]) / 3) for row in grid]
    score = [before - general, after - luong]
    order = [before - after, general - luong]
    assert min(score + order) > 3
    assert sum(score) > sum(order)


def test_the_doctor_finds_the_bug_that_was_put_in():
    assert "WRONG" not in printed('shell("seqattn doctor')
    assert "no attention on padding" in printed("forgetful")


def test_the_notebook_is_stored_in_quick_mode():
    [flag] = [c for c in cells() if "".join(c["source"]).startswith("FULL = ")]
    assert "".join(flag["source"]) == "FULL = False"

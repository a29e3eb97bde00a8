"""Where coverage helps, and what it leaves as it is: ``python -m benchmarks.remembering``.

Two measurements. In the first, small decoders sort letters: the source is a bag of letters in any
order, the target has them sorted, each as often as it stands there. Attention reads bare
embeddings, so equal letters have equal states, and weights tell shares but no numbers. Two controls
give it something else to count by: an end mark in the bag, which a share can be compared with, or
the states of a recurrent encoder, which also make the decoder's first state. The learning rate of
each contestant is chosen with one seed, by the perplexity on validation bags: several sort all of
them. Then three seeds are judged once, on bags as long as those of the training and on longer ones.

In the second, the toy translator that comes with the package translates sentences beyond the length
of its training, with and without the coverage penalty of the search: what it leaves out, and what
it says twice.

Writes ``seqattn/data/measured/remembering.json`` for the chapter on coverage. Finished trainings
are kept in ``--work`` and not repeated.
"""

import math
import time
from collections import Counter
from collections.abc import Sequence
from math import gcd
from random import Random
from statistics import mean
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from benchmarks.study import Study, study_parser
from seqattn import BahdanauAttention, CoverageAttention, coverage_loss, padding_mask
from seqattn.data import TextPair, tokenize, toy_by_length
from seqattn.data.batches import Batch, Example, make_batch
from seqattn.decoding import greedy
from seqattn.metrics import corpus_bleu
from seqattn.models import AttentionDecoder, Encoded, Encoder, Seq2SeqAttention, evaluating
from seqattn.specials import EOS, PAD, SPECIALS
from seqattn.training import cross_entropy, make_optimizer, update
from seqattn.translator import Translator

LETTERS, LENGTHS, LONGER = 4, (2, 6), (6, 9, 12)
SIZE, UPDATES, ROWS, RATES, SEEDS, JUDGED = 24, 400, 32, (0.005, 0.01, 0.02, 0.04, 0.08), 3, 300
# Encoder; whether the source has its end mark; attention; factor of the coverage loss.
CONTESTANTS: dict[str, tuple[str, bool, type, float]] = {
    "additive": ("bag", False, BahdanauAttention, 0.0),
    "coverage": ("bag", False, CoverageAttention, 0.0),
    "coverage, loss": ("bag", False, CoverageAttention, 1.0),
    "end mark, additive": ("bag", True, BahdanauAttention, 0.0),
    "end mark, coverage": ("bag", True, CoverageAttention, 0.0),
    "recurrent, additive": ("recurrent", False, BahdanauAttention, 0.0),
    "recurrent, coverage": ("recurrent", False, CoverageAttention, 0.0),
}
WORDS, BETAS, SAMPLES = (12, 18, 24), (0.0, 0.2, 0.5), 1000


class Bag(nn.Module):
    """An encoder that keeps no order: each letter's state is its embedding, the summary nothing."""

    def __init__(self, vocab_size: int, d_embed: int):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, d_embed, padding_idx=PAD)
        self.d_states = d_embed

    def forward(self, source: Tensor, lengths: Tensor) -> Encoded:
        """Give the embeddings; the decoder starts from the same state for every bag."""
        states = self.embedding(source)
        nothing = states.new_zeros(len(source), 1, self.d_states)
        return Encoded(states, nothing, padding_mask(lengths, source.shape[1]))


def build(name: str) -> Seq2SeqAttention:
    """Build a contestant."""
    reads, _, attention, _ = CONTESTANTS[name]
    tokens = len(SPECIALS) + LETTERS
    encoder: Any = Bag(tokens, SIZE) if reads == "bag" else Encoder(tokens, SIZE, SIZE // 2)
    looks = attention(SIZE, SIZE, SIZE)
    return Seq2SeqAttention(
        encoder, AttentionDecoder(tokens, SIZE, SIZE, SIZE, looks, readout="linear")
    )


def bags(count: int, lengths: tuple[int, int], dice: Random, ends: bool) -> list[Example]:
    """Draw letters in any order, and sort them; ``ends`` puts an end mark into the source."""
    found = []
    for _ in range(count):
        letters = [len(SPECIALS) + dice.randrange(LETTERS) for _ in range(dice.randint(*lengths))]
        found.append(Example([*letters, EOS] if ends else letters, [*sorted(letters), EOS]))
    return found


def learn(name: str, lr: float, seed: int) -> tuple[Seq2SeqAttention, float]:
    """Train a contestant on bags that are drawn as it goes; give it and its processor seconds."""
    torch.manual_seed(seed)
    (_, ends, _, factor), model, dice = CONTESTANTS[name], build(name), Random(seed)

    def penalty(weights: Tensor, batch: Batch) -> Tensor:
        return factor * coverage_loss(weights, None, batch.targets != PAD)

    optimizer, started = make_optimizer(model), time.process_time()
    model.train()
    for step in range(UPDATES):
        batch = make_batch(bags(ROWS, LENGTHS, dice, ends), range(ROWS))
        now = lr * min(1.0, 2 * (1 - step / UPDATES))  # steady, then down to nothing
        update(model, optimizer, batch, lr=now, penalty=penalty if factor else None)
    return model, time.process_time() - started


def written(model: Seq2SeqAttention, wanted: Sequence[Example]) -> tuple[list[list[int]], float]:
    """Sort bags by greedy search; give what was written, and the coverage loss of its maps."""
    batch = make_batch(wanted, range(len(wanted)))
    with evaluating(model):
        found = greedy(model, batch.source, batch.lengths, max_len=2 * batch.source.shape[1])
        told = model(batch.source, batch.lengths, batch.inputs)
    again = coverage_loss(told.weights, None, batch.targets != PAD)
    texts = [[int(x) for x in row if x not in (PAD, EOS)] for row in found.tokens]
    return texts, float(again)


def compare(texts: Sequence[Sequence[int]], wanted: Sequence[Example]) -> dict[str, float]:
    """Count, over bags: all letters right; letters left out; letters too many."""
    pairs = [(text, one.target[:-1]) for text, one in zip(texts, wanted, strict=True)]
    return {
        "exact": mean(list(text) == target for text, target in pairs),
        "left out": mean((Counter(target) - Counter(text)).total() for text, target in pairs),
        "too many": mean((Counter(text) - Counter(target)).total() for text, target in pairs),
    }


def held_out(ends: bool) -> dict[int, list[Example]]:
    """Draw bags to judge by, of each length."""
    return {n: bags(JUDGED, (n, n), Random(1000 + n), ends) for n in LONGER}


def sort_letters(name: str, lr: float, seed: int) -> dict[str, Any]:
    """Train and judge one model."""
    model, seconds = learn(name, lr, seed)
    ends = CONTESTANTS[name][1]
    # Python takes the seed -1 for 1. These are the first bags that seed 1 trains on; only seed 0,
    # which chooses a rate, is judged by them.
    valid = bags(JUDGED, LENGTHS, Random(-1), ends)
    batch = make_batch(valid, range(len(valid)))
    with evaluating(model):
        told = model(batch.source, batch.lengths, batch.inputs)
    loss = cross_entropy(told.logits, batch.targets)
    found: dict[str, Any] = {
        "valid": compare(written(model, valid)[0], valid)["exact"],
        "perplexity": math.exp(loss.total.item() / loss.tokens.item()),
        "seconds": seconds,
    }
    for length, wanted in held_out(ends).items():
        texts, again = written(model, wanted)
        found[str(length)] = compare(texts, wanted) | {"coverage loss": again}
    return found


def rules(wanted: Sequence[Example]) -> dict[str, dict[str, float]]:
    """Judge rules that learn nothing: each kind once; the source as it stands; all shares known."""
    return {
        "each kind once": compare([sorted(set(one.source)) for one in wanted], wanted),
        "as it stands": compare([one.source for one in wanted], wanted),
        "fewest of these shares": compare([fewest(one.source) for one in wanted], wanted),
    }


def fewest(letters: Sequence[int]) -> list[int]:
    """Give the smallest sorted bag in which each letter has the share that it has in this one.

    Attention to bare embeddings tells nothing but shares: whoever reads by it alone writes the same
    for both bags.
    """
    counts = Counter(letters)
    times = gcd(*counts.values())
    return sorted(letter for letter, n in counts.items() for _ in range(n // times))


def search_longer(words: int, pairs: Sequence[TextPair]) -> dict[str, Any]:
    """Translate with each factor of the coverage penalty; compare sentence by sentence with none.

    ``words`` names the run; the pairs are as long.
    """
    translator = Translator.load("toy")
    references, rows = [pair.target for pair in pairs], {}
    for beta in BETAS:
        texts = [
            one.text
            for one in translator.translate(
                [pair.source for pair in pairs], beam=5, coverage_penalty=beta
            )
        ]
        bags_of = [(Counter(a.split()), Counter(b.split())) for a, b in zip(texts, references)]
        rows[beta] = {
            "bleu": corpus_bleu(texts, references).score,
            "texts": texts,
            "length": sum(len(text.split()) for text in texts)
            / sum(len(text.split()) for text in references),
            "left out": [(wanted - got).total() for got, wanted in bags_of],
            "repeated": [_repeated(text.split()) for text in texts],
        }
    draws = np.random.default_rng(words).integers(len(pairs), size=(SAMPLES, len(pairs)))
    found: dict[str, Any] = {}
    for beta, row in rows.items():
        found[str(beta)] = {name: row[name] for name in ("bleu", "length")}
        for name in ("left out", "repeated"):
            values, none = np.array(row[name], dtype=float), np.array(rows[0.0][name], dtype=float)
            change = (values - none)[draws].mean(1)
            found[str(beta)][name] = values.mean().item()
            found[str(beta)][f"{name}, change"] = np.quantile(change, [0.025, 0.975]).tolist()
    worst = int(np.argmax(rows[BETAS[-1]]["repeated"]))
    found["worst"] = {
        "source": pairs[worst].source,
        **{str(beta): row["texts"][worst] for beta, row in rows.items()},
    }
    return found


def _repeated(tokens: list[str]) -> int:
    """Count the runs of three words that stand in a sentence once more than needed."""
    runs = Counter(zip(tokens, tokens[1:], tokens[2:]))
    return sum(count - 1 for count in runs.values())


def main() -> None:
    """Train, judge, translate, write."""
    options = study_parser("remembering", __doc__).parse_args()
    study = Study("remembering", options.work, options.result)

    def run(name: str, lr: float, seed: int) -> dict:
        return study.run(f"{name}-lr{lr}-seed{seed}", sort_letters, name, lr, seed)

    runs, rates = {}, {}
    for name in CONTESTANTS:
        tried = {lr: run(name, lr, 0) for lr in RATES}
        rates[name] = {
            str(lr): {what: found[what] for what in ("valid", "perplexity")}
            for lr, found in tried.items()
        }
        best = min(RATES, key=lambda lr: tried[lr]["perplexity"])
        rates[name]["chosen"] = best
        runs[name] = [run(name, best, seed) for seed in range(1, SEEDS + 1)]
    long = {
        words: [p for p in toy_by_length() if len(tokenize(p.source, "en")) == words]
        for words in WORDS
    }
    searched = {
        str(words): study.run(f"search-{words}", search_longer, words, pairs)
        for words, pairs in long.items()
    }
    card = study.card(
        **{
            "letters": LETTERS,
            "lengths": LENGTHS,
            "judged": JUDGED,
            "updates": UPDATES,
            "rows": ROWS,
            "size": SIZE,
            "seeds": SEEDS,
            "attention alone": sum(p.numel() for p in build("additive").parameters()),
            "with coverage": sum(p.numel() for p in build("coverage").parameters()),
            "sentences": {str(words): len(pairs) for words, pairs in long.items()},
            "longest training": round(max(r["seconds"] for found in runs.values() for r in found)),
        }
    )
    yard = {str(length): rules(wanted) for length, wanted in held_out(False).items()}
    study.write({"card": card, "runs": runs, "rates": rates, "rules": yard, "search": searched})


if __name__ == "__main__":
    main()

"""Set the location score beside scores that compare: ``python -m benchmarks.location``.

A location score says where to look from the decoder state alone. How far does that go? One encoder,
one order of events, one readout, the same batches; the scores differ, and a fixed vector stands
beside them. Each score's learning rate is chosen by BLEU on validation sentences; then three seeds
are judged once on test sentences, as short as those of the training and longer than any of them.

Writes ``seqattn/data/measured/location.json`` for the chapter on multiplicative scores. Finished
trainings are kept in ``--work`` and not repeated.
"""

import time
from random import Random
from typing import Any

import torch

from benchmarks.study import Study, study_parser
from seqattn.data import FIVE, Batches, TextPair, Vocabularies, encode_pairs, tokenize, toy_corpus
from seqattn.evaluation import alignment_links
from seqattn.metrics import alignment_error_rate, corpus_bleu
from seqattn.models import ModelConfig, Seq2SeqAttention, build_model
from seqattn.training import fit
from seqattn.translator import Translator

SCORES = ("location", "additive", "general", "dot")
PAIRS, LONGEST, LONGER, ROWS = 8_000, 9, 12, 16  # positions, the end of the sentence included
TOKENS, EPOCHS, RATES, SEEDS = 512, 8, (0.003, 0.01, 0.03, 0.1), 3


def read() -> dict[str, list[TextPair]]:
    """Draw the toy corpus; keep its short sentences, and longer ones with known words alone.

    What counts is what the model reads, tokens and the end of the sentence: no source of the
    training is longer than ``LONGEST`` positions, each of the longer ones has at least ``LONGER``.
    """
    corpus = toy_corpus(PAIRS)
    found = {
        split: [pair for pair in pairs if positions(pair) <= LONGEST]
        for split, pairs in corpus.items()
    }
    known = {word for pair in found["train"] for word in tokenize(pair.source, "en")}
    found["longer"] = [
        pair
        for pair in corpus["valid"] + corpus["test"]
        if LONGER <= positions(pair) <= ROWS and known.issuperset(tokenize(pair.source, "en"))
    ]
    return found


def positions(pair: TextPair) -> int:
    """Count what a model reads of a source: its tokens, and the end of the sentence."""
    return len(tokenize(pair.source, "en")) + 1


def train(data: dict[str, list[TextPair]], score: str, lr: float, seed: int) -> dict:
    """Train one model and judge it on validation sentences; with a seed's test beside it."""
    torch.manual_seed(seed)
    vocabularies = Vocabularies.learn(data["train"], ("en", "fr"))
    model = build(score, vocabularies)
    seconds = learn(model, data["train"], vocabularies, lr, seed)
    translator = Translator(model, vocabularies)
    splits = ("valid", "test", "longer")
    found = {split: judge(translator, data[split], score != "fixed") for split in splits}
    five = [t.text for t in translator.translate([pair.source for pair in FIVE], beam=1)]
    return found | {"seconds": seconds, "five": five}


def build(score: str, vocabularies: Vocabularies, **options: Any) -> Seq2SeqAttention:
    """Build a translator that differs from the others in nothing but its score."""
    options |= {"d_embed": 64, "d_hidden": 64, "d_encoder": 32, "dropout": 0.0, "readout": "linear"}
    if score == "location":
        options["max_source"] = ROWS
    if score == "fixed":
        config = ModelConfig("fixed", **options)
    else:
        config = ModelConfig("luong", score=score, input_feeding=False, **options)
    model = build_model(config, *map(len, vocabularies))
    assert isinstance(model, Seq2SeqAttention)
    return model


def learn(
    model: Seq2SeqAttention, pairs: list[TextPair], words: Vocabularies, lr: float, seed: int
) -> float:
    """Train a model, from the words' frequencies on; give the processor seconds that it took."""
    batches = Batches(encode_pairs(pairs, words), tokens=TOKENS)
    started = time.process_time()
    fit(model, batches, steps=EPOCHS * len(batches.plan(0)), lr=lr, guess=True, seed=seed)
    return time.process_time() - started


def judge(translator: Translator, pairs: list[TextPair], maps: bool) -> dict[str, float]:
    """Measure translation by greedy search, and links where the true words are read."""
    texts = [t.text for t in translator.translate([p.source for p in pairs], beam=1)]
    found = {"bleu": corpus_bleu(texts, [pair.target for pair in pairs]).score}
    if maps:
        gold = [pair.links for pair in pairs]
        links = [alignment_links(m.weights) for m in translator.force(pairs)]
        found["aer"] = alignment_error_rate(links, gold, gold)
    return found


def yardsticks(pairs: list[TextPair]) -> dict[str, float]:
    """Error rates of links that look at no word: drawn at random, and the diagonal."""
    gold, lot = [pair.links for pair in pairs], Random(0)
    ends = [[max(side) + 1 for side in zip(*links)] for links in gold]
    rules = {
        "at random": [{(lot.randrange(m), t) for t in range(n)} for m, n in ends],
        "diagonal": [{(i, i) for i in range(min(pair))} for pair in ends],
    }
    return {name: alignment_error_rate(links, gold, gold) for name, links in rules.items()}


def spread(pairs: list[TextPair]) -> list[int]:
    """Give the fewest and the most positions of a set of sources."""
    counts = [positions(pair) for pair in pairs]
    return [min(counts), max(counts)]


def main() -> None:
    """Train, judge, write."""
    options = study_parser("location", __doc__).parse_args()
    study = Study("location", options.work, options.result)
    data = read()

    def run(score: str, lr: float, seed: int) -> dict:
        return study.run(f"{score}-lr{lr}-seed{seed}", train, data, score, lr, seed)

    runs, rates = {}, {}
    for score in (*SCORES, "fixed"):
        rates[score] = {str(lr): run(score, lr, 0)["valid"]["bleu"] for lr in RATES}
        best = max(RATES, key=lambda lr: rates[score][str(lr)])
        runs[score] = [run(score, best, seed) for seed in range(SEEDS)]
    card = study.card(
        **{
            "pairs": len(data["train"]),
            "tested on": {split: len(data[split]) for split in ("test", "longer")},
            "positions": {split: spread(data[split]) for split in ("train", "test", "longer")},
            "seeds": SEEDS,
            "longest training": round(max(r["seconds"] for found in runs.values() for r in found)),
        }
    )
    rules = {split: yardsticks(data[split]) for split in ("test", "longer")}
    study.write({"card": card, "yardsticks": rules, "runs": runs, "rates": rates})


if __name__ == "__main__":
    main()

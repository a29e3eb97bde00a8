"""Train the translator of the additive chapter from three seeds, with a penalty and without.

    python -m benchmarks.additive

The chapter trains one model while it is read. Here the same training is repeated from three seeds,
without the penalty on attention, and with other learning rates, and judged once on the test
sentences beside IBM Model 1. Writes ``seqattn/data/measured/additive.json``. Finished trainings are
kept in ``--work`` and not repeated.
"""

import time

import torch
from torch import nn
from torch.nn import functional as F

from benchmarks.study import Study, study_parser
from seqattn.data import FIVE, Batches, TextPair, Vocabularies, encode_pairs, toy_corpus
from seqattn.evaluation import alignment_links, ibm1_links
from seqattn.metrics import alignment_error_rate, corpus_bleu
from seqattn.models import ModelConfig, build_model
from seqattn.training.regularizers import doubly_stochastic_penalty
from seqattn.translator import Translator

PAIRS, LONGEST, TOKENS, EPOCHS, LR, PENALTY, SEEDS = 24_000, 8, 512, 2, 0.01, 0.2, 3
OTHER_RATES = (0.003, 0.03)
CONFIG = ModelConfig("bahdanau", d_embed=64, d_hidden=96, d_attn=64, dropout=0.0)


def read() -> dict[str, list[TextPair]]:
    """Draw the toy corpus and keep its short sentences."""
    corpus = toy_corpus(PAIRS)
    return {
        split: [pair for pair in pairs if len(pair.source.split()) <= LONGEST]
        for split, pairs in corpus.items()
    }


def train(short: dict[str, list[TextPair]], seed: int, penalty: float, lr: float) -> dict:
    """Train one model; judge it on the validation sentences at each epoch, at last on the test."""
    vocabularies = Vocabularies.learn(short["train"], ("en", "fr"))
    batches = Batches(encode_pairs(short["train"], vocabularies), tokens=TOKENS)
    torch.manual_seed(seed)
    model = build_model(CONFIG, *map(len, vocabularies))
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    steps = EPOCHS * len(batches.plan(0))
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, total_iters=steps)
    translator = Translator(model, vocabularies)
    started, found = time.process_time(), {"valid": []}
    for epoch in range(EPOCHS):
        for batch in batches.epoch(epoch):
            logits, weights = model(batch.source, batch.lengths, batch.inputs)
            loss = F.cross_entropy(logits.mT, batch.targets, ignore_index=0)
            asked = doubly_stochastic_penalty(weights, batch.targets != 0, batch.source != 0)
            optimizer.zero_grad()
            (loss + penalty * asked).backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
        found["valid"].append(judge(translator, short["valid"]))
    found["seconds"] = time.process_time() - started
    found["test"] = judge(translator, short["test"])
    twin = like_one_of(short["train"])
    found["alone"] = judge(translator, [pair for pair in short["test"] if not twin(pair)])
    found["misses"] = misses(translator, short["test"])
    found["five"] = [t.text for t in translator.translate([pair.source for pair in FIVE])]
    return found


def judge(translator: Translator, pairs: list[TextPair]) -> dict[str, float]:
    """Measure alignment, where the true words are read, and translation, where the model's are."""
    gold = [pair.links for pair in pairs]
    links = [alignment_links(m.weights) for m in translator.force(pairs)]
    texts = [t.text for t in translator.translate([p.source for p in pairs], beam=1)]
    return {
        "aer": alignment_error_rate(links, gold, gold),
        "bleu": corpus_bleu(texts, [pair.target for pair in pairs]).score,
        "exact": sum(t == pair.target for t, pair in zip(texts, pairs)) / len(pairs),
    }


def misses(translator: Translator, pairs: list[TextPair]) -> dict[str, float]:
    """Say how far from a right word the wrong ones are, and how far a word at random would be.

    Of the target words with a gold link whose largest weight is on another source word: the share
    that is one word off, the same for a wrong source word drawn at random, the share of those one
    word off that are to the right of the gold word, and the same for a neighbour drawn at random
    (a word that opens or closes its sentence has neighbours on one side alone).
    """
    count = near = right = 0
    chance = right_chance = 0.0
    for pair, found in zip(pairs, translator.force(pairs)):
        words = range(found.weights.shape[1] - 1)
        for i, t in alignment_links(found.weights):
            gold = {a for a, b in pair.links if b == t}
            if not gold or i in gold:
                continue
            wrong = [k for k in words if k not in gold]
            close = [k for k in wrong if min(abs(k - a) for a in gold) == 1]
            count += 1
            chance += len(close) / len(wrong)
            if i in close:
                near += 1
                right += i - 1 in gold
                right_chance += sum(k - 1 in gold for k in close) / len(close)
    return {
        "count": count,
        "near": near / count,
        "chance": chance / count,
        "right": right / near,
        "right_chance": right_chance / near,
    }


def like_one_of(train: list[TextPair]):
    """Give a test of whether a sentence differs in one word from a sentence that was trained on."""

    def patterns(pair: TextPair):
        words = pair.source.split()
        return (((*words[:i], None, *words[i + 1 :])) for i in range(len(words)))

    known = {pattern for pair in train for pattern in patterns(pair)}
    return lambda pair: any(pattern in known for pattern in patterns(pair))


def yardsticks(short: dict[str, list[TextPair]]) -> dict[str, float]:
    """Error rates of what needs no network: IBM Model 1, the diagonal, the best single links."""
    test = short["test"]
    gold = [pair.links for pair in test]
    ends = [[max(side) + 1 for side in zip(*links)] for links in gold]
    rules = {
        "ibm1": ibm1_links(short["train"], test),
        "diagonal": [{(i, i) for i in range(min(pair))} for pair in ends],
        "best": [{min(g for g in links if g[1] == t) for _, t in links} for links in gold],
    }
    twin = like_one_of(short["train"])
    rates = {name: alignment_error_rate(links, gold, gold) for name, links in rules.items()}
    return rates | {"twins": sum(map(twin, test)) / len(test)}


def main() -> None:
    """Train, judge, write."""
    options = study_parser("additive", __doc__).parse_args()
    study = Study("additive", options.work, options.result)
    short = read()

    def run(seed: int, penalty: float, lr: float = LR) -> dict:
        key = f"seed{seed}-penalty{penalty}-lr{lr}"
        return study.run(key, train, short, seed, penalty, lr)

    runs = {
        name: [run(seed, penalty) for seed in range(SEEDS)]
        for name, penalty in (("penalty", PENALTY), ("none", 0.0))
    }
    rates = {str(lr): run(0, PENALTY, lr)["valid"][-1] for lr in OTHER_RATES}
    rates[str(LR)] = runs["penalty"][0]["valid"][-1]
    card = study.card(
        **{
            "pairs": len(short["train"]),
            "tested on": len(short["test"]),
            "seeds": SEEDS,
            "longest training": round(max(r["seconds"] for found in runs.values() for r in found)),
        }
    )
    rates = {lr: rates[lr] for lr in sorted(rates, key=float)}
    study.write({"card": card, "yardsticks": yardsticks(short), "runs": runs, "rates": rates})


if __name__ == "__main__":
    main()

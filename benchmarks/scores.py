"""Set every score beside the others at one budget: ``python -m benchmarks.scores``.

The translator, the data and the budget are those of :mod:`benchmarks.location`: one encoder, one
order of events, one readout, the same batches. Each score's learning rate is chosen by BLEU on
validation sentences; then three seeds are judged once on test sentences. Two more questions are
asked of the same models: how far the scores of a row lie apart before and after the training, and
what is left of a trained matrix when it is cut down to a lower rank.

Writes ``seqattn/data/measured/scores.json`` for the chapter on scaled and low-rank scores. Finished
trainings are kept in ``--work`` and not repeated.
"""

import math
from typing import Any

import torch
from torch import Tensor

from benchmarks.location import RATES, SEEDS, build, judge, learn, read, yardsticks
from benchmarks.study import Study, study_parser
from seqattn.attention import Attention, ReducedRankScore, truncate_rank
from seqattn.context_managers import evaluating
from seqattn.data import FIVE, TextPair, Vocabularies, encode_pairs
from seqattn.evaluation import ibm1_error_rates
from seqattn.metrics import attention_entropy, perplexity
from seqattn.models import Seq2SeqAttention
from seqattn.specials import BOS
from seqattn.translator import Translator

SCORES = ("dot", "scaled dot", "general", "rank 8", "additive", "location", "fixed")
# Scores of the other study have its four rates. These have three, round about what was best there.
OWN_RATES = {"scaled dot": (0.01, 0.03, 0.1), "rank 8": (0.003, 0.01, 0.03)}
SPREAD = 200  # test sentences for the spreads
CUTS = (1, 2, 3, 4, 6, 8, 12, 16, 32, 64)  # of a full one that was trained


def train(data: dict[str, list[TextPair]], score: str, lr: float, seed: int) -> dict:
    """Train one model and measure what the study asks of it."""
    torch.manual_seed(seed)
    words = Vocabularies.learn(data["train"], ("en", "fr"))
    if score.startswith("rank"):
        model = build("reduced_rank", words, rank=int(score.removeprefix("rank ")))
    else:
        model = build(score.replace(" ", "_"), words)
    attention = model.decoder.attention
    found: dict[str, Any] = {}
    if attention is not None:
        found["before"] = spreads(model, data["test"], words)
    found["seconds"] = learn(model, data["train"], words, lr, seed)
    translator = Translator(model, words)
    for split in ("valid", "test"):
        found[split] = judge(translator, data[split], attention is not None)
    forced = translator.force(data["test"])
    nats = -sum(one.score for one in forced) / sum(len(one.tokens) for one in forced)
    found["perplexity"] = perplexity(nats)
    if attention is not None:
        found["after"] = spreads(model, data["test"], words)
        rows = [attention_entropy(one.weights, normalized=True) for one in forced]
        found["entropy"] = float(torch.cat(rows).mean())
    if score == "general":
        found |= cut(translator, data["test"])
    found["five"] = [t.text for t in translator.translate([pair.source for pair in FIVE], beam=1)]
    return found


def spreads(
    model: Seq2SeqAttention, pairs: list[TextPair], words: Vocabularies
) -> dict[str, float]:
    """Root mean squares: of the states' components, and of scores about the mean of their row.

    A row's scores are its logarithmic weights but for a constant, so this is one rule for all.
    """
    sums = {"query": [0.0, 0], "keys": [0.0, 0], "scores": [0.0, 0]}

    def add(name: str, numbers: Tensor) -> None:
        sums[name][0] += float(numbers.double().square().sum())
        sums[name][1] += numbers.numel()

    seen: list[Tensor] = []
    hook = model.decoder.attention.register_forward_hook(lambda _, args, __: seen.append(args[0]))
    with evaluating(model):
        for source, target in encode_pairs(pairs[:SPREAD], words):  # one by one: nothing is padded
            ids = torch.tensor([source])
            lengths = torch.tensor([len(source)])
            _, weights = model(ids, lengths, torch.tensor([[BOS, *target[:-1]]]))
            add("query", seen.pop())
            add("keys", model.encoder(ids, lengths).states)
            logs = weights.double().clamp(min=1e-30).log()
            add("scores", logs - logs.mean(-1, keepdim=True))
    hook.remove()
    return {name: math.sqrt(total / n) for name, (total, n) in sums.items()}


def cut(translator: Translator, pairs: list[TextPair]) -> dict[str, Any]:
    """Cut the trained matrix down to lower ranks, and judge the model with each."""
    decoder = translator.model.decoder
    whole = decoder.attention
    W = whole.score.W.detach()
    found: dict[str, Any] = {"singular values": torch.linalg.svdvals(W).tolist(), "ranks": {}}
    maps = {}
    for rank in CUTS:
        score = ReducedRankScore(*W.shape, rank)
        for weight, value in zip((score.U, score.V), truncate_rank(W, rank), strict=True):
            weight.data = value
        decoder.attention = Attention(score)
        found["ranks"][str(rank)] = judge(translator, pairs, maps=True)
        [shown] = translator.force(FIVE[:1])
        maps[str(rank)] = [[round(w, 3) for w in row] for row in shown.weights.tolist()]
    found["map"] = {"source": shown.source_tokens, "target": shown.tokens, "weights": maps}
    decoder.attention = whole
    return found


def main() -> None:
    """Train, judge, write."""
    options = study_parser("scores", __doc__).parse_args()
    study = Study("scores", options.work, options.result)
    data = read()

    def run(score: str, lr: float, seed: int) -> dict:
        name = score.replace(" ", "-")
        return study.run(f"{name}-lr{lr}-seed{seed}", train, data, score, lr, seed)

    runs, rates = {}, {}
    for score in SCORES:
        tried = OWN_RATES.get(score, RATES)
        rates[score] = {str(lr): run(score, lr, 0)["valid"]["bleu"] for lr in tried}
        best = max(tried, key=lambda lr: rates[score][str(lr)])
        runs[score] = [run(score, best, seed) for seed in range(SEEDS)]
    for run_again in runs["general"][1:]:
        del run_again["map"]  # one is enough for a figure
    rules = yardsticks(data["test"])
    rules["IBM Model 1"] = ibm1_error_rates(data["train"], data["test"])["target"]
    card = study.card(
        **{
            "pairs": len(data["train"]),
            "tested on": len(data["test"]),
            "seeds": SEEDS,
            "longest training": round(max(r["seconds"] for found in runs.values() for r in found)),
        }
    )
    study.write({"card": card, "yardsticks": rules, "runs": runs, "rates": rates})


if __name__ == "__main__":
    main()

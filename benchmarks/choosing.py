"""Choose, sharpen, spread, drop: ``python -m benchmarks.choosing``.

Two studies for the chapter on hard attention. In the first a reader has to name the one marked
letter of twelve, and learns to look at it in five ways: by mixing, by trying every place, by
straight-through, and by drawing one place with and without a baseline. In the second one small
translator is trained on few pairs, seen many times, with what the chapter adds to a loss or takes
from a row: entropy with either sign, doubly stochastic weights, attention dropout.

Each way has its learning rate chosen on validation data with one seed (the second study: for the
plain training); then all seeds are judged once on test data. Writes
``seqattn/data/measured/choosing.json``. Finished trainings are kept in ``--work`` and not repeated.
"""

import math
import time
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from benchmarks.location import build, positions, yardsticks
from benchmarks.study import Study, study_parser
from seqattn.attention import (
    AdditiveScore,
    Attention,
    HardAttention,
    padding_mask,
    score_function_loss,
)
from seqattn.attention.core import weighted_sum
from seqattn.context_managers import evaluating, own_random
from seqattn.data import FIVE, Batch, Batches, TextPair, Vocabularies, encode_pairs, toy_corpus
from seqattn.evaluation import evaluate
from seqattn.metrics import attention_entropy
from seqattn.specials import PAD
from seqattn.training import fit
from seqattn.training.regularizers import doubly_stochastic_penalty, entropy_penalty
from seqattn.translator import Translator

# The marked letter.
WAYS = ("soft", "every place", "straight-through", "baseline", "no baseline")
LETTERS, PLACES, SIZE, BATCH = 20, 12, 16, 32
UPDATES, LOOKS = 600, (0, 25, 50, 100, 200, 300, 400, 600)
WAY_RATES, WAY_SEEDS, JUDGED = (0.003, 0.01, 0.03, 0.1), 5, 2_000

# The translator.
PAIRS, LONGEST, TOKENS, EPOCHS, SEEDS = 2_000, 9, 512, 8, 3
RATES, TESTED = (0.01, 0.02, 0.04), 400
WEIGHT = 0.3  # of a penalty
ADDED: dict[str, dict[str, float]] = {
    "plain": {},
    "entropy +": {"entropy": WEIGHT},
    "entropy −": {"entropy": -WEIGHT},
    "doubly stochastic": {"columns": WEIGHT},
    "dropout 0.1": {"dropout": 0.1},
    "dropout 0.3": {"dropout": 0.3},
}


class MarkedLetter(nn.Module):
    """Reads the letter at the marked place, out of a row of letters.

    The letters' vectors and the mark's are drawn once and stay as they are. What is learned is a
    query, an additive score, and a linear map from what was fetched to a letter.
    """

    letters: Tensor
    mark: Tensor

    def __init__(self, way: str):
        super().__init__()
        self.register_buffer("letters", torch.randn(LETTERS, SIZE))
        self.register_buffer("mark", torch.randn(SIZE))
        score = AdditiveScore(SIZE, SIZE, SIZE)
        gradient = "straight-through" if way == "straight-through" else "none"
        drawn = way in ("straight-through", "baseline", "no baseline")
        self.attention = HardAttention(score, gradient=gradient) if drawn else Attention(score)
        self.query = nn.Parameter(torch.randn(SIZE))
        self.name = nn.Linear(SIZE, LETTERS)

    def read(self, ids: Tensor, marked: Tensor) -> tuple[Tensor, Any]:
        """Give the states (batch, places, size), and what attention makes of them."""
        marks = F.one_hot(marked, PLACES).unsqueeze(-1) * self.mark
        states = self.letters[ids] + marks
        return states, self.attention(self.query.expand(len(ids), -1), states)


def draw(count: int, dice: torch.Generator) -> tuple[Tensor, Tensor]:
    """Draw rows of letters, and a marked place for each."""
    ids = torch.randint(LETTERS, (count, PLACES), generator=dice)
    return ids, torch.randint(PLACES, (count,), generator=dice)


@own_random()
def find(way: str, lr: float, seed: int, split: str) -> dict[str, Any]:
    """Train one reader; judge it at some updates on rows that it has not seen."""
    torch.manual_seed(seed)
    model = MarkedLetter(way)
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    dice = torch.Generator().manual_seed(1_000 + seed)
    unseen = draw(JUDGED, torch.Generator().manual_seed({"valid": 1, "test": 2}[split]))
    running, curve = None, []
    began = time.process_time()
    for update in range(UPDATES + 1):
        if update in LOOKS:
            curve.append(look(model, *unseen))
        ids, marked = draw(BATCH, dice)
        goal = ids.gather(1, marked[:, None]).squeeze(1)
        states, found = model.read(ids, marked)
        if way == "every place":
            each = (
                model.name(states)
                .log_softmax(-1)
                .gather(2, goal[:, None, None].expand(-1, PLACES, 1))
            )
            loss = -(found.weights * each.squeeze(-1)).sum(1).mean()
        else:
            said = -F.cross_entropy(model.name(found.context), goal, reduction="none")
            loss = -said.mean()
            if "baseline" in way:
                reward = said.detach()
                mean = reward.mean().item()
                # The mean of earlier batches alone: this one's choices are not in it.
                baseline = 0.0 if way == "no baseline" or running is None else running
                running = mean if running is None else 0.9 * running + 0.1 * mean
                loss = loss + score_function_loss(found.log_prob, reward, baseline)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return {"curve": curve, "seconds": time.process_time() - began}


def look(model: MarkedLetter, ids: Tensor, marked: Tensor) -> dict[str, float]:
    """Give the shares named right from the mixture and from the largest weight, and the weight."""
    goal = ids.gather(1, marked[:, None]).squeeze(1)
    with evaluating(model):
        states, found = model.read(ids, marked)
        best = F.one_hot(found.weights.argmax(-1), PLACES).to(states.dtype)
        right = {
            name: (model.name(weighted_sum(weights, states)).argmax(-1) == goal)
            for name, weights in (("mixed", found.weights), ("largest", best))
        }
        return {
            **{name: hits.float().mean().item() for name, hits in right.items()},
            "weight": found.weights.gather(1, marked[:, None]).mean().item(),
        }


def read() -> dict[str, list[TextPair]]:
    """Draw the toy corpus, and keep its short sentences: few to learn from."""
    short = {
        split: [pair for pair in pairs if positions(pair) <= LONGEST]
        for split, pairs in toy_corpus(8_000).items()
    }
    return short | {"train": short["train"][:PAIRS], "test": short["test"][:TESTED]}


def penalise(entropy: float = 0.0, columns: float = 0.0) -> Any:
    """Give a penalty on the weights of a batch, pads left out."""

    def penalty(weights: Tensor, batch: Batch) -> Tensor:
        written = batch.targets != PAD
        real = padding_mask(batch.lengths, batch.source.shape[1])
        asked = entropy * entropy_penalty(weights, written, real)
        return asked + columns * doubly_stochastic_penalty(weights, written, real)

    return penalty


def train(data: dict[str, list[TextPair]], added: str, lr: float, seed: int) -> dict[str, Any]:
    """Train one translator with something added; judge it on pairs that it knows and on others."""
    options = dict(ADDED[added])
    torch.manual_seed(seed)
    words = Vocabularies.learn(data["train"], ("en", "fr"))
    dropout = options.pop("dropout", 0.0)
    model = build("additive", words, attention_dropout=dropout)
    batches = Batches(encode_pairs(data["train"], words), tokens=TOKENS)
    steps = EPOCHS * len(batches.plan(0))
    began = time.process_time()
    penalty = penalise(**options) if options else None
    fit(model, batches, steps=steps, lr=lr, guess=True, seed=seed, penalty=penalty)
    seconds = time.process_time() - began
    translator = Translator(model, words)
    valid, test = (evaluate(translator, data[split]) for split in ("valid", "test"))
    known = evaluate(translator, data["train"][: len(data["test"])])
    forced = translator.force(data["test"])
    rows = torch.cat([attention_entropy(one.weights, normalized=True) for one in forced])
    columns = torch.cat([(1 - one.weights.sum(0)).square() for one in forced])
    return {
        "valid": valid.bleu,
        "nats, validation": math.log(valid.perplexity),
        "bleu": test.bleu,
        "aer": test.aer_rows,
        "nats": math.log(test.perplexity),
        "nats, known pairs": math.log(known.perplexity),
        "entropy": rows.mean().item(),
        "columns": columns.mean().item(),
        "updates": steps,
        "seconds": seconds,
        "five": [t.text for t in translator.translate([pair.source for pair in FIVE], beam=1)],
    }


def main() -> None:
    """Train, judge, write."""
    options = study_parser("choosing", __doc__).parse_args()
    study = Study("choosing", options.work, options.result)

    ways: dict[str, Any] = {}
    for way in WAYS:
        tried = {
            lr: study.run(f"{way}-lr{lr}-valid", find, way, lr, 0, "valid") for lr in WAY_RATES
        }
        used = "mixed" if way == "soft" else "largest"
        mean = {
            lr: sum(seen[used] for seen in run["curve"]) / len(LOOKS) for lr, run in tried.items()
        }
        best = max(WAY_RATES, key=mean.__getitem__)
        runs = [
            study.run(f"{way}-lr{best}-test{seed}", find, way, best, seed, "test")
            for seed in range(WAY_SEEDS)
        ]
        ways[way] = {"lr": best, "rates": mean, "runs": runs}

    data = read()

    def run(added: str, lr: float, seed: int) -> dict:
        return study.run(f"{added}-lr{lr}-seed{seed}", train, data, added, lr, seed)

    rates = {lr: run("plain", lr, 0)["valid"] for lr in RATES}
    best = max(RATES, key=rates.__getitem__)
    runs = {added: [run(added, best, seed) for seed in range(SEEDS)] for added in ADDED}
    card = study.card(
        **{
            "letters": LETTERS,
            "places": PLACES,
            "updates": UPDATES,
            "looks": LOOKS,
            "judged": JUDGED,
            "seeds of letters": WAY_SEEDS,
            "pairs": len(data["train"]),
            "tested on": len(data["test"]),
            "epochs": EPOCHS,
            "weight": WEIGHT,
            "seeds": SEEDS,
            "lr": best,
            "processor seconds": round(
                sum(r["seconds"] for of in ways.values() for r in of["runs"])
                + sum(r["seconds"] for of in runs.values() for r in of)
            ),
        }
    )
    rules = yardsticks(data["test"])
    study.write({"card": card, "yardsticks": rules, "ways": ways, "runs": runs, "rates": rates})


if __name__ == "__main__":
    main()

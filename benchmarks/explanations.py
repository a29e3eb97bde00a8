"""Put other weights into a translator and classifiers: ``python -m benchmarks.explanations``.

The translator is the one that comes with the package; it is not trained again. The classifiers are
trained on sentences whose reason is known (:func:`~seqattn.data.toy_reasons`): a GRU or words
alone, with weights of their own or forced to be uniform. Beside each stands a second model, trained
to answer alike with other weights, and words alone that are given the weights of another model.
Numbers of updates, sizes and the learning rate are the same for all, and were not chosen by looking
at test sentences, on which each model is judged once.

Writes ``seqattn/data/measured/explanations.json`` for the chapter on weights as explanations.
Finished trainings are kept in ``--work`` and not repeated.
"""

import math
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from statistics import fmean, median

import torch
from torch import Tensor
from torch.nn import functional as F

from benchmarks.study import Study, study_parser
from seqattn.data import Batches, Reason, encode_pairs, toy_corpus, toy_reasons
from seqattn.evaluation.interventions import (
    Change,
    erased,
    forged,
    gradient_times_input,
    hard,
    integrated_gradients,
    occlusion,
    replace_weights,
    shuffled,
    uniform,
    without_another,
    without_largest,
)
from seqattn.metrics import jensen_shannon, kendall_tau, weight_distance
from seqattn.models import Classified, SentenceClassifier, evaluating
from seqattn.specials import PAD, UNK
from seqattn.translator import Translator

ENCODERS, SEEDS = ("gru", "words"), 3
D, BATCH, EPOCHS, LR = 32, 64, 6, 0.01
PUSH = (0.003, 0.03, 0.05, 0.3)  # weight of the divergence from the first model's weights
SHUFFLES, FORGED, STEP = 3, 100, 2
STRICT = 0.01  # how far a forged answer may move in Jain and Wallace's classifiers
FURTHEST = 6  # how far from the deciding word single states are asked


class Data:
    """Sentences with labels as padded ids."""

    def __init__(self, sentences: list[Reason], ids: dict[str, int]):
        self.sentences = sentences
        rows = [[ids.get(word, UNK) for word in one.tokens] for one in sentences]
        self.lengths = torch.tensor([len(row) for row in rows])
        self.source = torch.zeros(len(rows), int(self.lengths.max()), dtype=torch.long)
        for row, padded in zip(rows, self.source, strict=True):
            padded[: len(row)] = torch.tensor(row)
        self.labels = torch.tensor([one.label for one in sentences])
        self.places = torch.tensor([one.place for one in sentences])
        self.mask = self.source != PAD

    def rows(self, chosen: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Give ids, lengths and labels of some sentences, no wider than they need."""
        lengths = self.lengths[chosen]
        return self.source[chosen, : int(lengths.max())], lengths, self.labels[chosen]


def number_words(sentences: list[Reason]) -> dict[str, int]:
    """Number the words of the training sentences; those seen once are unknown."""
    counts = Counter(word for one in sentences for word in one.tokens)
    return {word: n for n, word in enumerate((w for w, c in counts.items() if c > 1), UNK + 1)}


def keep(weights: Tensor, mask: Tensor | None) -> Tensor:
    """Leave weights as they are."""
    return weights


def train(
    data: Data,
    words: int,
    encoder: str,
    seed: int,
    *,
    penalty: Callable[[Tensor, Classified], Tensor] | None = None,
    given: Callable[[Tensor], Change] = lambda chosen: keep,
) -> SentenceClassifier:
    """Train a classifier.

    ``penalty`` of a batch's rows and of what the model says joins the loss; ``given`` says for a
    batch's rows what takes the place of its weights.
    """
    torch.manual_seed(seed)
    model = SentenceClassifier(words, d=D, encoder=encoder)  # type: ignore[arg-type]
    optimizer = torch.optim.Adam(model.parameters(), LR)
    for _ in range(EPOCHS):
        for chosen in torch.randperm(len(data.labels)).split(BATCH):
            source, lengths, labels = data.rows(chosen)
            with replace_weights(model, given(chosen)):
                said = model(source, lengths)
            loss = F.cross_entropy(said.logits, labels)
            if penalty is not None:
                loss = loss + penalty(chosen, said)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return model.eval()


def judge(model: SentenceClassifier, test: Data, seed: int, own: Change = keep) -> dict:
    """Ask a classifier everything, on test sentences; ``own`` gives the weights it works with."""
    dice = dice_of(seed)

    def say(change: Change) -> Tensor:
        with torch.no_grad(), replace_weights(model, lambda w, m: change(own(w, m), m)):
            return model(test.source, test.lengths).logits

    with torch.no_grad(), replace_weights(model, own):
        logits, weights = model(test.source, test.lengths)
    answers, right = logits.argmax(1), test.labels
    changes = {
        "own": keep,
        "another erased": partial(without_another, generator=dice),
        "largest only": hard,
        "largest erased": without_largest,
        "uniform": uniform,
        "shuffled": partial(shuffled, generator=dice),
        "no context": lambda w, m: torch.zeros_like(w),
    }
    table = {}
    for name, change in changes.items():
        said = [
            say(change) for _ in range(SHUFFLES if name in ("shuffled", "another erased") else 1)
        ]
        table[name] = {
            "accuracy": fmean((one.argmax(1) == right).double().mean().item() for one in said),
            "changed": fmean((one.argmax(1) != answers).double().mean().item() for one in said),
        }
    at = torch.arange(len(right))
    found = {
        "table": table,
        "loss": F.cross_entropy(logits, right).item(),
        "share on reason": weights[at, test.places].mean().item(),
    }
    found |= point(model, test, own, weights, answers, dice)
    found |= ask_states(model, test)
    return found


def point(
    model: SentenceClassifier,
    test: Data,
    own: Change,
    weights: Tensor,
    answers: Tensor,
    dice: torch.Generator,
) -> dict:
    """Find the deciding word by weights, gradients and occlusion; do they agree?"""
    size = sizes(model, test, own, weights)
    real = test.mask
    finds = {n: (m.argmax(1) == test.places).double().mean().item() for n, m in size.items()}

    def tau(one: str, other: str) -> float:
        pairs = zip(size[one], size[other], real, strict=True)
        values = [kendall_tau(a[m], b[m]) for a, b, m in pairs]
        # Weights that are all the same have no order.
        return fmean(v for v in values if not math.isnan(v)) if own is keep else math.nan

    with torch.no_grad():
        towards = (2 * answers - 1)[:, None] * margins_of_states(model, test)
    names = list(size)
    agree = {f"{a} / {b}": tau(a, b) for i, a in enumerate(names) for b in names[i + 1 :]}
    orders = {
        "attention": weights,
        "gradient": size["gradient"],
        # Serrano and Smith's: a weight times the gradient of the decision in that weight. For a
        # linear readout the gradient is the state's own margin.
        "weight × gradient": weights * towards,
        "at random": torch.rand(weights.shape, generator=dice),
    }
    flips = {n: until_flip(model, test, own, order, answers) for n, order in orders.items()}
    found = {"finds the reason": finds, "until it flips": flips}
    hit = (size["attention"].argmax(1) == test.places).double()
    found["attention finds it, by class"] = [hit[test.labels == k].mean().item() for k in (0, 1)]
    return found | ({"tau": agree} if own is keep else {})


def sizes(model: SentenceClassifier, test: Data, own: Change, weights: Tensor) -> dict[str, Tensor]:
    """Give what each word counts for by five measures, without signs; -1 at padding."""

    def of_vectors(vectors: Tensor) -> Tensor:
        return margin(model.classify(vectors, test.lengths).logits)

    def of_words(source: Tensor, lengths: Tensor) -> Tensor:
        return margin(model(source, lengths).logits)

    with torch.no_grad():
        vectors = model.embedding(test.source)
        single = margins_of_states(model, test)
    with replace_weights(model, own):
        measures = {
            "attention": weights,
            # What a state adds to the margin: its weight times its own margin.
            "weight × answer": weights * single,
            "gradient": gradient_times_input(of_vectors, vectors),
            "integrated": integrated_gradients(of_vectors, vectors, steps=16),
            "occlusion": occlusion(of_words, test.source, test.lengths),
        }
    return {name: m.abs().masked_fill(~test.mask, -1.0) for name, m in measures.items()}


def margin(logits: Tensor) -> Tensor:
    """Give by how much the second class is ahead, in nats."""
    return logits[..., 1] - logits[..., 0]


def margins_of_states(model: SentenceClassifier, test: Data) -> Tensor:
    """Give what the readout would say to each state alone."""
    return margin(model.readout(model.states(model.embedding(test.source), test.lengths)))


def until_flip(
    model: SentenceClassifier, test: Data, own: Change, order: Tensor, answers: Tensor
) -> dict[str, float]:
    """Erase weights in an order: what share of the words must go until the answer flips?"""
    ranks = order.masked_fill(~test.mask, -torch.inf).argsort(1, descending=True).argsort(1)
    share = torch.ones(len(answers), dtype=torch.double)
    for gone in range(int(test.lengths.max()) - 1, 0, -1):
        with (
            torch.no_grad(),
            replace_weights(model, lambda w, m, k=gone: erased(own(w, m), ranks < k)),
        ):
            said = model(test.source, test.lengths).logits.argmax(1)
        flipped = (said != answers) & (test.lengths > gone)
        share[flipped] = (gone / test.lengths.double())[flipped]
    return {
        "mean share": share.mean().item(),
        "never": (share == 1).double().mean().item(),
    }


def ask_states(model: SentenceClassifier, test: Data) -> dict:
    """Decide from each state alone, by its distance from the deciding word."""
    with torch.no_grad():
        single = margins_of_states(model, test)
    away = torch.arange(test.source.shape[1]) - test.places[:, None]
    hits = (single > 0) == test.labels.bool()[:, None]
    alone = {
        d: [int(hits[test.mask & (away == d)].sum()), int((test.mask & (away == d)).sum())]
        for d in range(-FURTHEST, FURTHEST + 1)
    }
    high = single.masked_fill(~test.mask, -torch.inf).amax(1)
    low = single.masked_fill(~test.mask, torch.inf).amin(1)
    return {
        "state alone": alone,
        "could be changed": ((high > 0) & (low < 0)).double().mean().item(),
    }


def forge(
    model: SentenceClassifier, test: Data, seed: int, allowed: float = 0.05
) -> dict[str, float]:
    """Forge the weights of a classifier's test sentences; the answer may move so far."""
    chosen = torch.arange(FORGED)
    source, lengths, _ = test.rows(chosen)
    with torch.no_grad():
        weights = model(source, lengths).weights
        states = model.states(model.embedding(source), lengths)

    def answer(beta: Tensor) -> Tensor:
        return model.readout((beta.unsqueeze(1) @ states).squeeze(1)).softmax(-1)

    found = forged(answer, weights, source != PAD, allowed=allowed, generator=dice_of(seed))
    return sum_up(found.distance)


def dice_of(seed: int) -> torch.Generator:
    """Give a source of draws."""
    return torch.Generator().manual_seed(seed)


def sum_up(distances: Tensor) -> dict[str, float]:
    """Give the median of divergences, and the share above 0.5."""
    return {
        "median": median(distances.tolist()),
        "above 0.5": (distances > 0.5).double().mean().item(),
    }


def push(
    first: SentenceClassifier, data: dict[str, Data], words: int, encoder: str, seed: int, by: float
) -> tuple[SentenceClassifier, dict]:
    """Train a second model to answer as the first does, with other weights."""
    with torch.no_grad():
        known, theirs = first(data["train"].source, data["train"].lengths)
    known = known.softmax(-1)

    def penalty(chosen: Tensor, said: Classified) -> Tensor:
        alpha = theirs[chosen, : said.weights.shape[1]]
        beta = said.weights.clamp(min=1e-9)
        divergence = (beta * (beta.log() - alpha.clamp(min=1e-9).log())).sum(-1)
        moved = weight_distance(said.logits.softmax(-1), known[chosen])
        return (moved - by * divergence).mean()

    # Another start than the first model's, whose weights are then nowhere near.
    model = train(data["train"], words, encoder, seed + 100, penalty=penalty)
    test = data["test"]
    with torch.no_grad():
        (logits, beta), (before, alpha) = (m(test.source, test.lengths) for m in (model, first))
    answers, at = logits.argmax(1), torch.arange(len(test.labels))
    size = sizes(model, test, keep, beta)
    return model, {
        "finds the reason": {
            n: (m.argmax(1) == test.places).double().mean().item() for n, m in size.items()
        },
        "accuracy": (answers == test.labels).double().mean().item(),
        "divergence": jensen_shannon(alpha, beta).mean().item(),
        "moved": weight_distance(logits.softmax(-1), before.softmax(-1)).mean().item(),
        "share on reason": beta[at, test.places].mean().item(),
    }


def give_weights(of: SentenceClassifier, data: Data) -> Tensor:
    """Give a model's weights of some sentences, for another model to use."""
    with torch.no_grad():
        return of(data.source, data.lengths).weights


def guided(of: SentenceClassifier, data: dict[str, Data], words: int, seed: int) -> float:
    """Train words alone with the weights of another model; give the accuracy."""
    train_weights, test_weights = (give_weights(of, data[name]) for name in ("train", "test"))

    def given(chosen: Tensor) -> Change:
        return lambda w, m: train_weights[chosen, : w.shape[1]]

    model, test = train(data["train"], words, "words", seed, given=given), data["test"]
    with torch.no_grad(), replace_weights(model, lambda w, m: test_weights):
        said = model(test.source, test.lengths).logits.argmax(1)
    return (said == test.labels).double().mean().item()


def classifiers(encoder: str, seed: int) -> dict:
    """Train and judge all models of one encoder and seed."""
    started = time.process_time()
    read = toy_reasons()
    ids = number_words(read["train"])
    words = len(ids) + UNK + 1
    data = {name: Data(part, ids) for name, part in read.items()}
    model = train(data["train"], words, encoder, seed)
    found = {"attention": judge(model, data["test"], seed)}
    found["attention"]["forged"] = forge(model, data["test"], seed)
    found["attention"]["forged strictly"] = forge(model, data["test"], seed, STRICT)
    twin = train(data["train"], words, encoder, seed + 50)
    a, b = (give_weights(m, data["test"]) for m in (model, twin))
    found["another seed"] = {"divergence": jensen_shannon(a, b).mean().item()}

    flat = train(data["train"], words, encoder, seed, given=lambda chosen: uniform)
    found["uniform"] = judge(flat, data["test"], seed, uniform)
    even = uniform(a, data["test"].mask)
    found["uniform"]["divergence"] = jensen_shannon(a, even).mean().item()
    pushed = [push(model, data, words, encoder, seed, by) for by in PUSH]
    found["pushed"] = {str(by): said for by, (_, said) in zip(PUSH, pushed, strict=True)}
    found["guided words"] = {
        "own": guided(model, data, words, seed),
        "pushed": guided(pushed[-1][0], data, words, seed),
    }
    found["seconds"] = time.process_time() - started
    return found


def example() -> dict:
    """Give a test sentence as the first model of each encoder sees it, for the live figure."""
    read = toy_reasons()
    ids = number_words(read["train"])
    data = {name: Data(read[name], ids) for name in ("train", "test")}
    test = data["test"]
    row = next(i for i, one in enumerate(test.sentences) if one.label)
    length = int(test.lengths[row])
    sentence = test.source[row : row + 1, :length]
    found = {"words": test.sentences[row].tokens, "margins": {}, "weights": {}}
    for encoder in ENCODERS:
        model = train(data["train"], len(ids) + UNK + 1, encoder, 0)
        with torch.no_grad():
            states = model.states(model.embedding(sentence), torch.tensor([length]))
            single = margin(model.readout(states))[0]
            weights = model(sentence, torch.tensor([length])).weights[0]
        found["margins"][encoder] = [round(x, 3) for x in single.tolist()]
        found["weights"][encoder] = [round(x, 4) for x in weights.tolist()]
    return found


def translator_table() -> dict:
    """Replace the weights of the package's translator, which reads the true words."""
    translator, pairs = Translator.load("toy"), toy_corpus()["test"]
    batches = Batches(encode_pairs(pairs, translator.vocabularies), tokens=4096)
    changes: dict[str, Change] = {
        "own": keep,
        "another erased": partial(without_another, generator=dice_of(0)),
        "largest only": hard,
        "largest erased": without_largest,
        "uniform": uniform,
        "shuffled": partial(shuffled, generator=dice_of(0)),
        "no context": lambda w, m: torch.zeros_like(w),
    }
    found = {}
    for name, change in changes.items():
        again = SHUFFLES if name in ("shuffled", "another erased") else 1
        runs = [next_words(translator, batches, change) for _ in range(again)]
        found[name] = {
            "accuracy": [right for right, _ in runs],
            "perplexity": [math.exp(nats) for _, nats in runs],
        }
    return {"table": found, "tokens": sum(int((b.targets != PAD).sum()) for b in batches.epoch(0))}


def next_words(translator: Translator, batches: Batches, change: Change) -> tuple[float, float]:
    """Give the share of right next words, and the mean loss in nats."""
    right, nats, tokens = 0, 0.0, 0
    with evaluating(translator.model), replace_weights(translator.model, change):
        for batch in batches.epoch(0):
            logits, _ = translator.model(batch.source, batch.lengths, batch.inputs)
            real = batch.targets != PAD
            right += int((logits.argmax(-1) == batch.targets)[real].sum())
            nats += F.cross_entropy(logits[real], batch.targets[real], reduction="sum").item()
            tokens += int(real.sum())
    return right / tokens, nats / tokens


def translator_forged() -> dict[str, float]:
    """Forge the weights of one step of the package's translator, in test sentences."""
    translator, pairs = Translator.load("toy"), toy_corpus()["test"][:FORGED]
    examples = encode_pairs(pairs, translator.vocabularies)
    model, distances = translator.model, []
    for batch in Batches(examples, tokens=4096).epoch(0):
        with evaluating(model):
            state, memory = model.begin(batch.source, batch.lengths)
            for t in range(STEP):
                state = model.step(batch.inputs[:, t], state, memory).state
            weights = model.step(batch.inputs[:, STEP], state, memory).weights

            def answer(beta: Tensor, now=(batch, state, memory)) -> Tensor:
                read, before, source = now
                with torch.enable_grad(), replace_weights(model, lambda w, m: beta):
                    return model.step(read.inputs[:, STEP], before, source).logits.softmax(-1)

            with torch.enable_grad():
                found = forged(answer, weights, batch.source != PAD, generator=dice_of(0))
        distances += found.distance.tolist()
    return sum_up(torch.tensor(distances))


def main() -> None:
    """Train, intervene, write."""
    options = study_parser("explanations", __doc__).parse_args()
    torch.set_num_threads(1)
    study = Study("explanations", options.work, options.result)
    runs = {
        encoder: [
            study.run(f"{encoder}-{seed}", classifiers, encoder, seed) for seed in range(SEEDS)
        ]
        for encoder in ENCODERS
    }
    table = study.run("translator", translator_table)
    forging = study.run("translator-forged", translator_forged)
    shown = study.run("example", example)
    read = toy_reasons()
    card = study.card(
        **{
            "sentences": {name: len(part) for name, part in read.items()},
            "updates": EPOCHS * math.ceil(len(read["train"]) / BATCH),
            "learning rate": LR,
            "size of a state": D,
            "pairs, translator": len(toy_corpus()["test"]),
            "sentences, forged": FORGED,
            "seeds": SEEDS,
            "processor seconds": round(sum(r.pop("seconds") for rs in runs.values() for r in rs)),
        }
    )
    found = {"translator": table | {"forged": forging}, "runs": runs, "example": shown}
    study.write({"card": card} | found)


if __name__ == "__main__":
    main()

"""A sentence that looks at itself: ``python -m benchmarks.self_attention``.

Measurements for the chapter on self-attention. Who can tell which clause is asked about? What does
a mask that is off by one do to a model of the next word?
Which heads look from a determiner to its noun? And what do self-attention and a recurrence cost as
sentences grow? Choices are made by validation sentences; test sentences are looked at once.

Writes ``seqattn/data/measured/self_attention.json``. Finished trainings are kept in ``--work`` and
not repeated.
"""

import itertools
import math
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from benchmarks.heads import HEADS, LAYERS, UPDATES, build, read
from benchmarks.heads import LR as TRANSLATOR_LR
from benchmarks.heads import TOKENS as TRANSLATOR_TOKENS
from benchmarks.study import Study, study_parser
from seqattn.attention import MultiHeadAttention, causal_mask, padding_mask
from seqattn.context_managers import evaluating
from seqattn.data import (
    Batches,
    TextPair,
    Vocabularies,
    encode_pairs,
    tokenize,
    which_clause,
)
from seqattn.data.grammar.lexicon import ADJECTIVES, NOUNS
from seqattn.models import SentenceClassifier, head_weights
from seqattn.models.transformer import sinusoidal_positions
from seqattn.training import fit
from seqattn.translator import Translator

SEEDS = (1, 2, 3)
CLAUSES = {"train": 3000, "valid": 500, "test": 500}
CLASSIFIER = {"d": 32, "updates": 600, "batch": 64, "lr": 0.005}
NEXT_WORD = {"d": 64, "updates": 600, "batch": 64, "lr": 0.003, "generated": 300}
COST = {"batch": 4, "heads": 4, "rounds": 7, "widths": (64, 256), "lengths": (16, 64, 256, 1024)}
DETERMINERS = frozenset(["the", "a", "an", "my", "your", "his", "her", "our", "their", "every"])
FORMS = frozenset(form for noun in NOUNS for form in (noun.en, noun.en_plural))

# --- Which clause? -------------------------------------------------------------------------------


class Reader(nn.Module):
    """Embeddings, perhaps an attention among them, their mean, and a readout."""

    def __init__(
        self, words: int, *, attends: bool, positions: bool, causal: bool, hidden: bool,
        dropout: float = 0.0,
    ):  # fmt: skip
        super().__init__()
        d = CLASSIFIER["d"]
        self.embedding = nn.Embedding(words, d)
        self.attention = MultiHeadAttention(d, 2) if attends else None
        self.positions, self.causal = positions, causal
        deep = nn.Sequential(nn.Linear(d, 2 * d), nn.ReLU(), nn.Linear(2 * d, 2))
        self.readout = deep if hidden else nn.Linear(d, 2)
        self.dropout = nn.Dropout(dropout)

    def forward(self, source: Tensor, lengths: Tensor) -> Tensor:
        """Give logits (batch, 2)."""
        x, real = self.dropout(self.embedding(source)), padding_mask(lengths, source.shape[1])
        if self.positions:
            x = x + sinusoidal_positions(x.shape[1], x.shape[2])
        if self.attention is not None:
            mask = real[:, None].expand(-1, x.shape[1], -1)
            mask = mask & causal_mask(x.shape[1]) if self.causal else mask
            x = self.attention(x, mask=mask).context
        mean = x.masked_fill(~real[..., None], 0.0).sum(1) / lengths[:, None]
        return self.readout(self.dropout(mean))


class Gru(nn.Module):
    """The package's classifier, as one that gives logits alone."""

    def __init__(self, words: int):
        super().__init__()
        self.inner = SentenceClassifier(words, d=CLASSIFIER["d"], encoder="gru")

    def forward(self, source: Tensor, lengths: Tensor) -> Tensor:
        """Give logits (batch, 2)."""
        return self.inner(source, lengths).logits


def attending(*, positions: bool, causal: bool = False) -> Callable[[int], Reader]:
    """Give what builds a reader with one self-attention layer."""
    return lambda words: Reader(
        words, attends=True, positions=positions, causal=causal, hidden=False
    )


def counting(*, hidden: bool) -> Callable[[int], Reader]:
    """Give what builds a reader that averages embeddings."""
    return lambda words: Reader(words, attends=False, positions=False, causal=False, hidden=hidden)


READERS: dict[str, Callable[[int], nn.Module]] = {
    "bag of words": counting(hidden=False),
    "bag of words, hidden layer": counting(hidden=True),
    "self-attention without positions": attending(positions=False),
    "self-attention, causal, without positions": attending(positions=False, causal=True),
    "self-attention with positions": attending(positions=True),
    "GRU in both directions": Gru,
}
Labelled = list[tuple[list[str], int]]


def clauses() -> dict[str, Labelled]:
    """Draw sentences that differ, and cut them into splits."""
    drawn = [(one.text.split(), int(one.positive)) for one in which_clause(sum(CLAUSES.values()))]
    found, start = {}, 0
    for split, size in CLAUSES.items():
        found[split], start = drawn[start : start + size], start + size
    return found


def classify(
    data: dict[str, Labelled],
    build: Callable[[int], nn.Module],
    updates: int,
    every: int,
    seed: int,
) -> dict:
    """Train a classifier, keep the state that was best on validation, and judge it once."""
    counts = Counter(word for words, _ in data["train"] for word in words)
    ids = {w: i for i, w in enumerate((w for w, n in counts.items() if n > 1), 2)}  # 0 pad, 1 other
    torch.manual_seed(seed)
    model = build(len(ids) + 2)
    dice = torch.Generator().manual_seed(seed)
    optimizer = torch.optim.Adam(model.parameters(), lr=CLASSIFIER["lr"])

    def batch(chosen: Labelled) -> tuple[Tensor, Tensor, Tensor]:
        lengths = torch.tensor([len(words) for words, _ in chosen])
        source = torch.zeros(len(chosen), int(lengths.max()), dtype=torch.long)
        for row, (words, _) in zip(source, chosen, strict=True):
            row[: len(words)] = torch.tensor([ids.get(word, 1) for word in words])
        return source, lengths, torch.tensor([label for _, label in chosen])

    def right(split: str) -> Tensor:
        with evaluating(model):
            source, lengths, labels = batch(data[split])
            return model(source, lengths).argmax(-1) == labels

    started, best, kept = time.process_time(), -1.0, {}
    for update in range(1, updates + 1):
        model.train()
        at = torch.randint(len(data["train"]), (CLASSIFIER["batch"],), generator=dice)
        source, lengths, labels = batch([data["train"][i] for i in at.tolist()])
        loss = F.cross_entropy(model(source, lengths), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if update % every == 0 and (now := right("valid").double().mean().item()) > best:
            best, kept = now, {k: v.clone() for k, v in model.state_dict().items()}
    model.load_state_dict(kept)
    on_test = right("test")
    return {
        "seconds": time.process_time() - started,
        "weights": sum(p.numel() for p in model.parameters()),
        "valid": best,
        "test": on_test.double().mean().item(),
        "right": on_test.int().tolist(),
    }


def naive_bayes(data: dict[str, Labelled]) -> float:
    """Classify by counts of words, each word once in a sentence, one added to every count."""
    counts = [Counter[str](), Counter[str]()]
    sizes = [0, 0]
    for words, label in data["train"]:
        counts[label].update(set(words))
        sizes[label] += 1

    def log_odds(word: str) -> float:
        shares = [(counts[k][word] + 1) / (sizes[k] + 2) for k in (0, 1)]
        return math.log(shares[1] / shares[0])

    prior = math.log(sizes[1] / sizes[0])
    said = [prior + sum(map(log_odds, set(words))) > 0 for words, _ in data["test"]]
    return sum(a == bool(b) for a, (_, b) in zip(said, data["test"], strict=True)) / len(said)


# --- A mask that is off by one -------------------------------------------------------------------


class NextWord(nn.Module):
    """One layer of self-attention that names the next word at every place."""

    def __init__(self, words: int, *, leaks: bool):
        super().__init__()
        d = NEXT_WORD["d"]
        self.leaks = leaks
        self.embedding = nn.Embedding(words, d)
        self.attention = MultiHeadAttention(d, 2)
        self.readout = nn.Linear(d, words)

    def forward(self, inputs: Tensor) -> Tensor:
        """Give logits (batch, steps, words)."""
        x, size = self.embedding(inputs), inputs.shape[1]
        x = x + sinusoidal_positions(size, x.shape[2])
        mask = self.mask(size)
        return self.readout(x + self.attention(x, mask=mask, need_weights=False).context)

    def mask(self, size: int) -> Tensor:
        """Say which places each row sees, (1, size, size)."""
        return torch.ones(size, size).tril(1 if self.leaks else 0).bool()[None]


def lines_of(pairs: Sequence[TextPair], ids: dict[str, int]) -> Tensor:
    """Give sentences as ids with marks 1 and 2 at their ends, padded with 0."""
    rows = [[1, *(ids.get(w, 3) for w in tokenize(p.source, "en")), 2] for p in pairs]
    padded = torch.zeros(len(rows), max(map(len, rows)), dtype=torch.long)
    for row, line in zip(padded, rows, strict=True):
        row[: len(line)] = torch.tensor(line)
    return padded


def next_word(data: dict[str, list[TextPair]], leaks: bool, seed: int) -> dict:
    """Train on all places of a sentence at once; judge so, and as a text is written."""
    words = sorted({w for pair in data["train"] for w in tokenize(pair.source, "en")})
    ids = {word: i for i, word in enumerate(words, 4)}
    train, test = (lines_of(data[split], ids) for split in ("train", "test"))
    torch.manual_seed(seed)
    model, dice = NextWord(len(ids) + 4, leaks=leaks), torch.Generator().manual_seed(seed)
    optimizer = torch.optim.Adam(model.parameters(), lr=NEXT_WORD["lr"])
    started, curve = time.process_time(), []
    for update in range(NEXT_WORD["updates"]):
        line = train[torch.randint(len(train), (NEXT_WORD["batch"],), generator=dice)]
        loss = loss_of(model(line[:, :-1]), line[:, 1:])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if update % 50 == 0:
            curve.append(loss.item())
    with evaluating(model):
        at_once = model(test[:, :-1])
        # Word by word: of each beginning, the last row alone.
        by_word = torch.stack(
            [model(test[:, : t + 1])[:, -1] for t in range(test.shape[1] - 1)], dim=1
        )
        written = generate(model, dice)
    pairs_known = {pair for row in train.tolist() for pair in itertools.pairwise(row)}
    seen = [pair for row in written for pair in itertools.pairwise(row)]
    names = {i: word for word, i in ids.items()}
    return {
        "seconds": time.process_time() - started,
        "curve": curve,
        "at once": loss_of(at_once, test[:, 1:]).item(),
        "word by word": loss_of(by_word, test[:, 1:]).item(),
        "known neighbours": sum(pair in pairs_known for pair in seen) / len(seen),
        "written": [" ".join(names.get(i, "?") for i in row if i > 2) for row in written[:4]],
    }


def loss_of(logits: Tensor, targets: Tensor) -> Tensor:
    """Give the mean loss in nats a word, ends of sentences among them."""
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=0)


def generate(model: NextWord, dice: torch.Generator, longest: int = 12) -> list[list[int]]:
    """Draw sentences word by word."""
    line = torch.ones(NEXT_WORD["generated"], 1, dtype=torch.long)
    for _ in range(longest):
        share = model(line)[:, -1].softmax(-1)
        line = torch.cat([line, torch.multinomial(share, 1, generator=dice)], 1)
    rows = []
    for row in line.tolist():
        end = row.index(2, 1) + 1 if 2 in row[1:] else len(row)
        rows.append(row[:end])
    return rows


def counted(data: dict[str, list[TextPair]]) -> dict:
    """Give the test loss of counts: of words, and of words after a word; one added to each."""
    split = {k: [["<s>", *tokenize(p.source, "en"), "</s>"] for p in v] for k, v in data.items()}
    size = len({w for line in split["train"] for w in line})
    single = Counter(w for line in split["train"] for w in line[1:])
    after: dict[str, Counter[str]] = defaultdict(Counter)
    for line in split["train"]:
        for first, then in itertools.pairwise(line):
            after[first][then] += 1
    total, lost = 0, {"words": 0.0, "words after a word": 0.0}
    for line in split["test"]:
        for first, then in itertools.pairwise(line):
            share = (single[then] + 1) / (single.total() + size)
            # A word never seen after this one falls back on its own share.
            known = after[first]
            lost["words"] -= math.log(share)
            lost["words after a word"] -= math.log((known[then] + 5 * share) / (known.total() + 5))
            total += 1
    return {name: value / total for name, value in lost.items()}


# --- From a determiner to its noun ---------------------------------------------------------------


def noun_phrases(tokens: Sequence[str]) -> list[tuple[int, int]]:
    """Give the places of determiners and of their nouns: adjectives alone stand between them."""
    between = {adjective.en for adjective in ADJECTIVES} | {"very"}
    found = []
    for place, token in enumerate(tokens):
        if token in DETERMINERS:
            at = place + 1
            while at < len(tokens) and tokens[at] in between and tokens[at] not in FORMS:
                at += 1
            if at < len(tokens) and tokens[at] in FORMS:
                found.append((place, at))
    return found


def determiners(translator: Translator, pairs: list[TextPair]) -> dict:
    """Give each head's mean weight from determiner to noun, and that at the same distances.

    From other words: to whatever stands there, and to nouns alone, since a head that looks at
    nouns from everywhere is no head for determiners.
    """
    on_noun, distances = [], Counter[int]()
    elsewhere: dict[int, list[Tensor]] = defaultdict(list)
    nouns: dict[int, list[Tensor]] = defaultdict(list)
    for batch in Batches(encode_pairs(pairs, translator.vocabularies), tokens=4096).epoch(0):
        maps = head_weights(translator.model, batch.source, batch.lengths, batch.inputs).source
        for i, row in enumerate(batch.rows):
            tokens = tokenize(pairs[row].source, "en")
            links = dict(noun_phrases(tokens))
            for place, noun in links.items():
                on_noun.append(maps[:, i, :, place, noun])
                distances[noun - place] += 1
            for place in range(len(tokens)):
                for step in range(1, 5):
                    if place not in links and place + step < len(tokens):
                        weights = maps[:, i, :, place, place + step]
                        elsewhere[step].append(weights)
                        if tokens[place + step] in FORMS:
                            nouns[step].append(weights)

    def expected(found: dict[int, list[Tensor]]) -> list:
        base = {step: torch.stack(weights).mean(0) for step, weights in found.items()}
        total = sum(n * base[step] for step, n in distances.items())
        return (total / distances.total()).tolist()

    return {
        "determiners": len(on_noun),
        "distances": dict(distances),
        "on noun": torch.stack(on_noun).mean(0).tolist(),
        "same distance": expected(elsewhere),
        "same distance, a noun": expected(nouns),
    }


def translate(data: dict[str, list[TextPair]], seed: int) -> dict:
    """Train a translator of the chapter on heads again, and ask its heads for nouns."""
    vocabularies = Vocabularies.learn(data["train"], ("en", "fr"))
    model = build(vocabularies, HEADS, seed)
    untrained = determiners(Translator(model.eval(), vocabularies), data["test"])
    batches = Batches(encode_pairs(data["train"], vocabularies), tokens=TRANSLATOR_TOKENS)
    started = time.process_time()
    fit(model, batches, steps=UPDATES, lr=TRANSLATOR_LR, guess=True, seed=seed)
    seconds = time.process_time() - started
    translator = Translator(model.eval(), vocabularies)
    return {
        "seconds": seconds,
        "valid": determiners(translator, data["valid"]),
        "test": determiners(translator, data["test"]),
        "untrained": untrained,
    }


# --- What it costs -------------------------------------------------------------------------------


def cost() -> dict:
    """Time a GRU and self-attention, forward, in processor milliseconds of one thread."""
    found: dict[str, dict] = {}
    for width in COST["widths"]:
        gru = nn.GRU(width, width, batch_first=True).eval()
        attention = MultiHeadAttention(width, COST["heads"]).eval()
        ways: dict[str, Callable[[Tensor], object]] = {
            "GRU": gru,
            "self-attention, with weights": attention,
            "self-attention, fused": lambda x, a=attention: a(x, need_weights=False),
        }
        rows: dict[str, dict] = {way: {} for way in ways}
        for length in COST["lengths"]:
            x, calls = torch.randn(COST["batch"], length, width), max(2, 4096 // length)
            times: dict[str, list[float]] = {way: [] for way in ways}
            for turn in range(COST["rounds"] + 1):
                for way, run in ways.items():
                    with torch.no_grad():
                        started = time.process_time()
                        for _ in range(calls):
                            run(x)
                        passed = 1000 * (time.process_time() - started) / calls
                    if turn:  # the first warms up
                        times[way].append(passed)
            for way, values in times.items():
                rows[way][str(length)] = sorted(values)
        found[str(width)] = rows
    return COST | {"milliseconds": found}


def main() -> None:
    """Train, read, write."""
    options = study_parser("self_attention", __doc__).parse_args()
    study = Study("self_attention", options.work, options.result)
    torch.set_num_threads(1)
    prices = study.run("cost", cost)
    drawn, corpus = clauses(), read()
    updates = CLASSIFIER["updates"]
    clause = {
        name: [
            study.run(f"clause-{name}-{seed}", classify, drawn, READERS[name], updates, 50, seed)
            for seed in SEEDS
        ]
        for name in READERS
    }
    for run in itertools.chain(*clause.values()):
        del run["right"]  # which sentences: the book shows shares alone
    leak = {
        name: [
            study.run(f"leak-{name}-{seed}", next_word, corpus, name == "tril(1)", seed)
            for seed in SEEDS
        ]
        for name in ("tril(0)", "tril(1)")
    }
    nouns = [study.run(f"nouns-{seed}", translate, corpus, seed) for seed in SEEDS]
    trained = [run for runs in (*clause.values(), *leak.values(), nouns) for run in runs]
    study.write(
        {
            "card": study.card(
                seeds=len(SEEDS), clauses=CLAUSES, classifier=CLASSIFIER,
                **{"next word": NEXT_WORD},
                translator={"layers": LAYERS, "heads": HEADS, "updates": UPDATES},
                **{"processor seconds": round(sum(run["seconds"] for run in trained))},
            ),
            "clause": clause,
            "clause, counting words": study.run("clause-counts", lambda: naive_bayes(drawn)),
            "leak": leak,
            "leak, counting": study.run("leak-counts", lambda: counted(corpus)),
            "nouns": nouns,
            "cost": prices,
        }
    )  # fmt: skip


if __name__ == "__main__":
    main()

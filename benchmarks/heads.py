"""What heads learn, which of them matter, and what they cost: ``python -m benchmarks.heads``.

Three questions for the chapter on several heads. Can one head name two neighbours? What do the
heads of a small Transformer look at, and what is lost without them? Do translators of one head and
of four differ, at equal numbers of weights? Heads are chosen by validation sentences; test
sentences are looked at once.

Writes ``seqattn/data/measured/heads.json``. Finished trainings are kept in ``--work`` and not
repeated.
"""

import time
from collections.abc import Iterator

import torch
from torch import Tensor
from torch.nn import functional as F

from benchmarks.maps import yardsticks
from benchmarks.study import Study, study_parser
from seqattn.attention import MultiHeadAttention
from seqattn.context_managers import evaluating
from seqattn.data import FIVE, Batches, TextPair, Vocabularies, encode_pairs, tokenize, toy_corpus
from seqattn.evaluation import alignment_links
from seqattn.metrics import alignment_error_rate, corpus_bleu, pattern_scores
from seqattn.models import Transformer, all_heads, head_weights, masked_heads
from seqattn.models.transformer import sinusoidal_positions
from seqattn.training import fit
from seqattn.translator import Translator

SEEDS = (1, 2, 3)
LAYERS, HEADS, D_MODEL, D_FEEDFORWARD = 2, 4, 64, 128
PAIRS, LONGEST = 12_000, 8  # words of a source
UPDATES, LR, TOKENS = 500, 0.005, 512
COUNTS = (1, 4)  # heads of translators that are compared
JUDGED = 350  # sentences that judge a translator without some heads
ORDERS, STRIDE = 3, 4  # random orders in which heads are taken away, so many at a time
LETTERS, LENGTH = 12, 12  # of the task with two neighbours
HIDDEN = 128  # of the readout that is not linear
BILL = {"d_model": 256, "length": 128, "batch": 4, "rounds": 7}
KINDS = ("source", "target", "cross")


def letters(batch: int, generator: torch.Generator) -> Tensor:
    """Draw lines of letters."""
    return torch.randint(LETTERS, (batch, LENGTH), generator=generator)


def neighbours(heads: int, seed: int, hidden: bool = False) -> dict:
    """Train one attention to name the left and the right neighbour of every letter.

    The readout is linear, or has one hidden layer. Under ``exchanged`` stands, for a single head,
    how often each output names the letter of the *other* side once the weights on the two
    neighbours have been exchanged.
    """
    torch.manual_seed(seed)
    dice = torch.Generator().manual_seed(seed)
    size = 32
    embed, attention = torch.nn.Embedding(LETTERS, size), MultiHeadAttention(size, heads)
    read: torch.nn.Module = torch.nn.Linear(size, 2 * LETTERS)
    if hidden:
        wide = torch.nn.Linear(size, HIDDEN)
        read = torch.nn.Sequential(wide, torch.nn.ReLU(), torch.nn.Linear(HIDDEN, 2 * LETTERS))
    where = sinusoidal_positions(LENGTH, size)
    modules = torch.nn.ModuleList([embed, attention, read])
    optimizer = torch.optim.Adam(modules.parameters(), lr=0.005)
    started = time.process_time()
    for _ in range(600):
        line = letters(64, dice)
        context, _ = attention(embed(line) + where, need_weights=False)
        left, right = read(context[:, 1:-1]).chunk(2, -1)
        loss = F.cross_entropy(left.flatten(0, 1), line[:, :-2].flatten())
        loss = loss + F.cross_entropy(right.flatten(0, 1), line[:, 2:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    seconds = time.process_time() - started
    with torch.no_grad():
        line = letters(500, dice)
        context, weights = attention(embed(line) + where)

        def named(context: Tensor) -> list[Tensor]:
            return [part.argmax(-1) for part in read(context[:, 1:-1]).chunk(2, -1)]

        left, right = named(context)
        patterns = pattern_scores(weights, torch.full((len(line),), LENGTH))
        other = {}
        if heads == 1:
            swapped, at = weights[:, 0].clone(), torch.arange(1, LENGTH - 1)
            swapped[:, at, at - 1], swapped[:, at, at + 1] = (
                weights[:, 0, at, at + 1],
                weights[:, 0, at, at - 1],
            )
            values = attention.value(embed(line) + where)
            of_left, of_right = named(attention.output(swapped @ values))
            other["exchanged"] = {
                "left": (of_left == line[:, 2:]).double().mean().item(),
                "right": (of_right == line[:, :-2]).double().mean().item(),
            }
    return other | {
        "seconds": seconds,
        "weights": sum(p.numel() for p in attention.parameters()),
        "left": (left == line[:, :-2]).double().mean().item(),
        "right": (right == line[:, 2:]).double().mean().item(),
        "previous": patterns.previous.tolist(),
        "next": patterns.next.tolist(),
    }


def read() -> dict[str, list[TextPair]]:
    """Draw the toy corpus, and keep its short sentences."""
    return {
        split: [pair for pair in pairs if len(tokenize(pair.source, "en")) <= LONGEST]
        for split, pairs in toy_corpus(PAIRS).items()
    }


def train(data: dict[str, list[TextPair]], heads: int, seed: int) -> dict:
    """Train one translator, and read its heads if it has as many as are studied."""
    vocabularies = Vocabularies.learn(data["train"], ("en", "fr"))
    model = build(vocabularies, heads, seed)
    batches = Batches(encode_pairs(data["train"], vocabularies), tokens=TOKENS)
    started = time.process_time()
    fit(model, batches, steps=UPDATES, lr=LR, guess=True, seed=seed)
    seconds = time.process_time() - started
    translator = Translator(model.eval(), vocabularies)
    test = data["test"]
    texts = [t.text for t in translator.translate([pair.source for pair in test], beam=1)]
    found = {
        "seconds": seconds,
        "weights": sum(p.numel() for p in model.parameters()),
        "bleu": corpus_bleu(texts, [pair.target for pair in test]).score,
        "loss": Losses(translator, test)(),
        "five": [t.text for t in translator.translate([pair.source for pair in FIVE], beam=1)],
    }
    if heads != HEADS:
        return found
    untrained = Translator(build(vocabularies, heads, seed).eval(), vocabularies)
    return found | {
        "valid": look(translator, data["valid"]),
        "test": look(translator, test),
        "untrained": look(untrained, test),
        "without": take_away(translator, data, seed),
        "maps": five_maps(translator),
    }


def build(vocabularies: Vocabularies, heads: int, seed: int) -> Transformer:
    """Build a translator whose number of weights does not depend on its heads."""
    torch.manual_seed(seed)
    return Transformer(
        *map(len, vocabularies), d_model=D_MODEL, heads=heads, layers=LAYERS,
        d_feedforward=D_FEEDFORWARD, dropout=0.0,
    )  # fmt: skip


class Losses:
    """Held-out loss of a translator without some heads, in nats a token."""

    def __init__(self, translator: Translator, pairs: list[TextPair]):
        self.model = translator.model
        examples = encode_pairs(pairs, translator.vocabularies)
        self.batches = list(Batches(examples, tokens=4096).epoch(0))

    def __call__(self, *gone: tuple[str, int, int]) -> float:
        """Give the loss without the heads (kind, layer, head)."""
        keep = all_heads(self.model)
        for kind, layer, head in gone:
            keep[kind][layer, head] = False
        total, tokens = 0.0, 0
        with masked_heads(self.model, keep), evaluating(self.model):
            for batch in self.batches:
                logits = self.model(batch.source, batch.lengths, batch.inputs).logits
                loss = F.cross_entropy(
                    logits.flatten(0, 1), batch.targets.flatten(), ignore_index=0, reduction="sum"
                )
                total, tokens = total + loss.item(), tokens + batch.tokens
        return total / tokens


def look(translator: Translator, pairs: list[TextPair]) -> dict:
    """Give patterns of self-attention, and error rates of links from attention to the source."""
    model = translator.model
    examples = encode_pairs(pairs, translator.vocabularies)
    wholes: dict[str, list[tuple[Tensor, Tensor]]] = {"source": [], "target": []}
    maps: dict[int, Tensor] = {}
    for batch in Batches(examples, tokens=4096).epoch(0):
        heads = head_weights(model, batch.source, batch.lengths, batch.inputs)
        steps = (batch.targets != 0).sum(1)
        wholes["source"].append((heads.source, batch.lengths))
        wholes["target"].append((heads.target, steps))
        for i, row in enumerate(batch.rows):
            maps[row] = heads.cross[:, i, :, : int(steps[i]), : int(batch.lengths[i])]
    gold = [pair.links for pair in pairs]
    ordered = [maps[row] for row in range(len(pairs))]

    def aer(chosen: list[Tensor], later: int = 0) -> float:
        """Read each word's links from its own row, or from one of a later step."""
        links = [alignment_links(w.roll(-later, 0)) for w in chosen]
        return alignment_error_rate(links, gold, gold)

    def of_heads(later: int = 0) -> list[list[float]]:
        return [
            [aer([m[layer, head] for m in ordered], later) for head in range(HEADS)]
            for layer in range(LAYERS)
        ]

    patterns = {
        kind: [
            dict_of_means([m[layer] for m, _ in seen], [n for _, n in seen], kind == "target")
            for layer in range(LAYERS)
        ]
        for kind, seen in wholes.items()
    }
    return {
        "patterns": patterns,
        "aer": of_heads(),
        # Where the word is read, the step after the one that writes it; and one step before.
        "aer of shifted rows": {by: of_heads(int(by)) for by in ("1", "-1")},
        "aer of mean": [aer([m[layer].mean(0) for m in ordered]) for layer in range(LAYERS)],
    }


def dict_of_means(maps: list[Tensor], lengths: list[Tensor], causal: bool) -> dict:
    """Score patterns over batches of different sizes: padded to one size, they are one batch."""
    size = max(m.shape[-1] for m in maps)
    padded = [F.pad(m, (0, size - m.shape[-1], 0, size - m.shape[-2])) for m in maps]
    scores = pattern_scores(torch.cat(padded), torch.cat(lengths), causal=causal)
    wanted = [name for name in scores._fields if not (causal and name in ("next", "last"))]
    return {name: getattr(scores, name).tolist() for name in wanted}


def every_head() -> Iterator[tuple[str, int, int]]:
    """Name all heads of the translator."""
    for kind in KINDS:
        for layer in range(LAYERS):
            for head in range(HEADS):
                yield kind, layer, head


def take_away(translator: Translator, data: dict[str, list[TextPair]], seed: int) -> dict:
    """Take heads away: one, all of a layer, and one after the other in an order.

    The order is by the loss on *validation* sentences without each head alone, least first; random
    orders stand beside it. Test sentences judge.
    """
    valid, test = (Losses(translator, data[split][:JUDGED]) for split in ("valid", "test"))
    names = list(every_head())
    base = {"valid": valid(), "test": test()}
    alone = {
        "valid": {head: valid(head) for head in names},
        "test": {head: test(head) for head in names},
    }
    by_loss = sorted(names, key=lambda head: alone["valid"][head])
    dice = torch.Generator().manual_seed(seed)
    orders = [by_loss] + [
        [names[i] for i in torch.randperm(len(names), generator=dice)] for _ in range(ORDERS)
    ]
    layers = {
        f"{kind} {layer + 1}": {
            "all": test(*[(kind, layer, head) for head in range(HEADS)]) - base["test"],
            "sum of each": sum(alone["test"][kind, layer, h] - base["test"] for h in range(HEADS)),
            "all but the best": min(
                test(*[(kind, layer, h) for h in range(HEADS) if h != kept]) - base["test"]
                for kept in range(HEADS)
            ),
        }
        for kind in KINDS
        for layer in range(LAYERS)
    }
    return {
        "base": base,
        "alone": {
            split: {
                kind: [
                    [losses[kind, layer, h] - base[split] for h in range(HEADS)]
                    for layer in range(LAYERS)
                ]
                for kind in KINDS
            }
            for split, losses in alone.items()
        },
        "layers": layers,
        "one after the other": [
            [test(*order[:n]) for n in range(0, len(names) + 1, STRIDE)] for order in orders
        ],
    }


def five_maps(translator: Translator) -> list[dict]:
    """Keep all maps of the book's five sentences, in hundredths."""
    model = translator.model
    found = []
    for pair, known in zip(FIVE, translator.force(FIVE), strict=True):
        [batch] = Batches(encode_pairs([pair], translator.vocabularies)).epoch(0)
        heads = head_weights(model, batch.source, batch.lengths, batch.inputs)
        s, t = len(known.source_tokens), len(known.tokens)  # a batch may be wider
        found.append(
            {
                "source": known.source_tokens,
                "target": known.tokens,
                "weights": {
                    kind: (100 * getattr(heads, kind)[:, 0, :, :rows, :columns])
                    .round()
                    .int()
                    .tolist()
                    for kind, rows, columns in (("source", s, s), ("target", t, t), ("cross", t, s))
                },
                "links": sorted([*link] for link in pair.links),
            }
        )
    return found


def bill() -> dict:
    """Time self-attention with several numbers of heads: processor seconds, least and largest."""
    size, length, batch = BILL["d_model"], BILL["length"], BILL["batch"]
    torch.manual_seed(0)
    x, times = torch.randn(batch, length, size), {}
    counts = (1, 2, 4, 8, 16)
    modules = {heads: MultiHeadAttention(size, heads).eval() for heads in counts}
    for fused in (False, True):
        rounds: dict[int, list[float]] = {heads: [] for heads in counts}
        for turn in range(BILL["rounds"] + 1):
            for heads, module in modules.items():
                with torch.no_grad():
                    started = time.process_time()
                    for _ in range(10):
                        module(x, need_weights=not fused)
                    passed = 100 * (time.process_time() - started)
                if turn:  # the first warms up
                    rounds[heads].append(passed)
        times["fused" if fused else "with weights"] = {
            str(heads): sorted(found) for heads, found in rounds.items()
        }
    return BILL | {"milliseconds": times}


def main() -> None:
    """Train, read, write."""
    options = study_parser("heads", __doc__).parse_args()
    study = Study("heads", options.work, options.result)
    data = read()
    task = {
        str(heads): [
            study.run(f"neighbours-{heads}-seed{seed}", neighbours, heads, seed) for seed in SEEDS
        ]
        for heads in (1, 2, 4)
    }
    hidden = [study.run(f"hidden-seed{seed}", neighbours, 1, seed, True) for seed in SEEDS]
    order = sorted(COUNTS, key=lambda heads: heads != HEADS)
    runs = {
        str(heads): [study.run(f"{heads}-seed{seed}", train, data, heads, seed) for seed in SEEDS]
        for heads in order
    }
    study_of = runs[str(HEADS)]
    compared = {
        heads: [{k: run[k] for k in ("bleu", "loss", "weights", "five")} for run in found]
        for heads, found in sorted(runs.items(), key=lambda item: int(item[0]))
    }
    example = study_of[0]["maps"]
    parts = ("valid", "test", "untrained", "without")
    card = study.card(
        layers=LAYERS, heads=HEADS, d_model=D_MODEL, updates=UPDATES, seeds=len(SEEDS),
        judged=JUDGED, pairs={split: len(pairs) for split, pairs in data.items()},
        **{"longest training": round(max(r["seconds"] for rs in runs.values() for r in rs))},
    )  # fmt: skip
    rules = study.run("yardsticks", lambda: yardsticks(data["train"], data["test"]))
    study.write(
        {
            "card": card,
            "neighbours": task,
            "neighbours_hidden": hidden,
            "compared": compared,
            "yardsticks": {
                name: rules[name] for name in ("diagonal", "at random", "best of one a row")
            },
            "heads": [{part: run[part] for part in parts} for run in study_of],
            "maps": example,
            "bill": study.run("bill", bill),
        }
    )


if __name__ == "__main__":
    main()

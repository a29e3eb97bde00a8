"""Where the norm stands, and what a cache saves: ``python -m benchmarks.transformer``.

Two questions for the chapter on the Transformer. Does the norm before or after the sum matter, with
a warm-up of the learning rate and without; and does time, or time with a smaller rate, do what the
warm-up does? And what is saved when keys and values of earlier words are kept: multiplications,
calls of operators, time? Nothing is chosen, so the test sentences are looked at once, for every
training.

Writes ``seqattn/data/measured/transformer.json``. Finished trainings are kept in ``--work`` and not
repeated.
"""

import time
from collections import Counter
from functools import partial

import torch
from torch import Tensor
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

from benchmarks.study import Study, study_parser
from seqattn.attention import causal_mask
from seqattn.context_managers import evaluating
from seqattn.data import FIVE, Batches, TextPair, Vocabularies, encode_pairs, tokenize, toy_corpus
from seqattn.metrics import corpus_bleu
from seqattn.models import Transformer
from seqattn.models.transformer import Norm
from seqattn.training import DivergedError, fit
from seqattn.translator import Translator

SEEDS = (1, 2, 3)
LAYERS, HEADS, D_MODEL, D_FEEDFORWARD = 2, 4, 64, 128
PAIRS, LONGEST = 12_000, 8  # words of a source
UPDATES, LONGER, WARMUP, TOKENS = 250, 1_000, 60, 512
RATE, SMALLER = 0.007, 0.002
# Norm, learning rate, updates, and those of them that are the warm-up.
ARMS: tuple[tuple[Norm, float, int, int], ...] = (
    ("pre", RATE, UPDATES, WARMUP),
    ("post", RATE, UPDATES, WARMUP),
    ("pre", RATE, UPDATES, 0),
    ("post", RATE, UPDATES, 0),
    # Does post norm without warm-up need time, or a smaller rate?
    ("post", RATE, LONGER, 0),
    ("post", SMALLER, LONGER, 0),
)
JUDGED = 200  # test sentences that are translated
SMOOTHED = 10  # updates whose losses become one point of a curve
LENGTHS, REPEATS = (20, 80, 200), 21  # of the cache


def read() -> dict[str, list[TextPair]]:
    """Draw the toy corpus, and keep its short sentences."""
    return {
        split: [pair for pair in pairs if len(tokenize(pair.source, "en")) <= LONGEST]
        for split, pairs in toy_corpus(PAIRS).items()
    }


def word_by_word(train: list[TextPair], test: list[TextPair]) -> float:
    """BLEU of the simplest rule: each word becomes what the gold links most often link it to.

    Counted over tokens with spaces between them, on both sides; what a translator writes is text.
    """
    linked: dict[str, Counter[str]] = {}
    for pair in train:
        source, target = tokenize(pair.source, "en"), tokenize(pair.target, "fr")
        for s, t in pair.links:
            linked.setdefault(source[s], Counter())[target[t]] += 1
    best = {word: found.most_common(1)[0][0] for word, found in linked.items()}
    texts = [
        " ".join(best[word] for word in tokenize(pair.source, "en") if word in best)
        for pair in test
    ]
    return corpus_bleu(texts, [" ".join(tokenize(p.target, "fr")) for p in test]).score


def train(
    data: dict[str, list[TextPair]], norm: Norm, lr: float, updates: int, warmup: int, seed: int
) -> dict:
    """Train one translator and judge it."""
    vocabularies = Vocabularies.learn(data["train"], ("en", "fr"))
    torch.manual_seed(seed)
    model = Transformer(
        *map(len, vocabularies), d_model=D_MODEL, heads=HEADS, layers=LAYERS,
        d_feedforward=D_FEEDFORWARD, dropout=0.0, norm=norm,
    )  # fmt: skip
    batches = Batches(encode_pairs(data["train"], vocabularies), tokens=TOKENS)
    started = time.process_time()
    try:
        losses = fit(
            model, batches, steps=updates, lr=lr, warmup=warmup, guess=True, seed=seed
        ).losses
    except DivergedError:
        losses = []
    seconds = time.process_time() - started
    translator = Translator(model.eval(), vocabularies)
    judged = data["test"][:JUDGED]
    texts = [t.text for t in translator.translate([pair.source for pair in judged], beam=1)]
    parts = [losses[i : i + SMOOTHED] for i in range(0, len(losses), SMOOTHED)]
    return {
        "seconds": seconds,
        "curve": [round(sum(part) / len(part), 4) for part in parts],
        "loss": held_out(translator, data["test"]),
        "bleu": corpus_bleu(texts, [pair.target for pair in judged]).score,
        "five": [t.text for t in translator.translate([pair.source for pair in FIVE], beam=1)],
    }


def held_out(translator: Translator, pairs: list[TextPair]) -> float:
    """Loss in nats a token."""
    total, tokens = 0.0, 0
    with evaluating(translator.model):
        for batch in Batches(encode_pairs(pairs, translator.vocabularies), tokens=4096).epoch(0):
            logits = translator.model(batch.source, batch.lengths, batch.inputs).logits
            loss = F.cross_entropy(
                logits.flatten(0, 1), batch.targets.flatten(), ignore_index=0, reduction="sum"
            )
            total, tokens = total + loss.item(), tokens + batch.tokens
    return total / tokens


def frequencies(data: dict[str, list[TextPair]]) -> float:
    """Test loss, in nats a token, of the frequencies of the target's tokens alone."""
    vocabularies = Vocabularies.learn(data["train"], ("en", "fr"))
    ids = {
        split: torch.cat(
            [torch.as_tensor(e.target) for e in encode_pairs(data[split], vocabularies)]
        )
        for split in ("train", "test")
    }
    counts = torch.bincount(ids["train"], minlength=len(vocabularies.target)).double() + 1
    return -(counts / counts.sum()).log()[ids["test"]].mean().item()


def write(
    model: Transformer, source: Tensor, lengths: Tensor, steps: int, *, cached: bool
) -> Tensor:
    """Write greedily, and compute earlier words anew at each step unless they are kept.

    The keys and values of the source are kept either way, and no map is asked for.
    """
    state, memory = model.begin(source, lengths)
    tokens, logits = torch.ones(len(source), 1, dtype=torch.long), []
    for step in range(steps):
        new, start = (tokens[:, -1:], step) if cached else (tokens, 0)
        mask = None if cached else causal_mask(step + 1)[None]
        x = model.target_positions(model.target_embedding(new) * model.scale, start)
        kept = []
        for layer, one, past in zip(model.decoder, memory, state, strict=True):
            x, _, seen = layer(x, one, past if cached else None, mask, need_weights=False)
            kept.append(seen)
        state = tuple(kept)
        logits.append(model.vocabulary(model.decoder_norm(x[:, -1])))
        tokens = torch.cat([tokens, logits[-1].argmax(-1, keepdim=True)], 1)
    return torch.stack(logits, 1)


class Calls(TorchDispatchMode):
    """Count the calls of PyTorch's operators."""

    def __init__(self) -> None:
        super().__init__()
        self.made = 0

    def __torch_dispatch__(self, operator, types, args=(), kwargs=None):
        """Count the call, and make it."""
        self.made += 1
        return operator(*args, **(kwargs or {}))


def cache() -> dict:
    """Count and time both ways to write a sentence, with an untrained model: work, not quality."""
    torch.manual_seed(0)
    model = Transformer(
        50, 60, d_model=D_MODEL, heads=HEADS, layers=LAYERS, d_feedforward=D_FEEDFORWARD,
        dropout=0.0,
    ).eval()  # fmt: skip
    source, lengths = torch.randint(4, 50, (1, 10)), torch.tensor([10])
    found: dict[str, dict] = {}
    for steps in LENGTHS:
        ways = {"with": partial(write, cached=True), "without": partial(write, cached=False)}
        logits, multiplications, calls, ratios = {}, {}, {}, []
        with torch.no_grad():
            for name, way in ways.items():
                # The fused operator is not counted; its parts are.
                math = sdpa_kernel(SDPBackend.MATH)
                with math, FlopCounterMode(display=False) as counted:
                    logits[name] = way(model, source, lengths, steps)
                multiplications[name] = counted.get_total_flops() // 2
                with Calls() as called:
                    way(model, source, lengths, steps)
                calls[name] = called.made
            for _ in range(REPEATS):
                taken = {}
                for name, way in ways.items():
                    started = time.process_time()
                    way(model, source, lengths, steps)
                    taken[name] = time.process_time() - started
                ratios.append(taken["without"] / taken["with"])
        found[str(steps)] = {
            "multiplications": multiplications,
            "calls": calls,
            "ratios of time": sorted(ratios),
            "largest difference": (logits["with"] - logits["without"]).abs().max().item(),
        }
    return found


def main() -> None:
    """Train, count, write."""
    options = study_parser("transformer", __doc__).parse_args()
    study = Study("transformer", options.work, options.result)
    data = read()
    runs: dict[str, dict[str, list[dict]]] = {}
    for seed in SEEDS:
        for norm, lr, updates, warmup in ARMS:
            key = f"{norm}-warmup{warmup}-lr{lr}-updates{updates}-seed{seed}"
            name = f"{norm}, {'with' if warmup else 'without'} warm-up"
            arm = runs.setdefault(f"{lr}, {updates} updates", {}).setdefault(name, [])
            arm.append(study.run(key, train, data, norm, lr, updates, warmup, seed))
    seconds = [run["seconds"] for arms in runs.values() for arm in arms.values() for run in arm]
    study.write(
        {
            "card": study.card(
                layers=LAYERS, heads=HEADS, d_model=D_MODEL, d_feedforward=D_FEEDFORWARD,
                updates=[UPDATES, LONGER], updates_of_warm_up=WARMUP, tokens_a_batch=TOKENS,
                learning_rates=[RATE, SMALLER], sentences_translated=JUDGED,
                updates_a_point_of_a_curve=SMOOTHED, times_timed=REPEATS,
                trainings=len(seconds), seeds=len(SEEDS),
                pairs={split: len(pairs) for split, pairs in data.items()},
                **{"processor seconds": round(sum(seconds))},
            ),
            "norms": runs,
            "simple rules": {
                "word by word, BLEU": word_by_word(data["train"], data["test"][:JUDGED]),
                "frequencies, loss": frequencies(data),
            },
            "cache": study.run("cache", cache),
        }
    )  # fmt: skip


if __name__ == "__main__":
    main()

"""Look through a window, and pay for it: ``python -m benchmarks.local``.

Two studies. The first trains small translators of letters, with global attention, local-m and
local-p, on three tasks: in order, backwards, and each letter twice. Encoder, order of events,
batches and updates are the same for all; each model's learning rate is chosen on validation
sentences, with one seed; then three seeds are judged once on test sentences as long as those of
the training, and longer. Two rules that look at no model stand beside them.

The second computes one self-attention in three ways: all pairs; all pairs under the mask of a
window; and the window gathered. It counts milliseconds of processor time at several lengths.

With ``--hansards GOLD TEXT``, the gold alignment of the NAACL 2003 shared task (counted from 1,
``i-j`` sure, ``ipj`` possible) and its sentences (``source ||| target``), it also counts how many
sure links of real text lie near the diagonal. Without, the counts stored before are kept.

Writes ``seqattn/data/measured/local.json`` for the chapter on local attention. Finished trainings
are kept in ``--work`` and not repeated.
"""

import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import torch

from benchmarks.study import Study, study_parser
from seqattn.attention import (
    LocalAttention,
    ScaledDotProductAttention,
    window_mask,
    windowed_attention,
)
from seqattn.context_managers import evaluating
from seqattn.data import Batches, TextPair, Vocabularies, encode_pairs
from seqattn.data.batches import make_batch
from seqattn.data.tasks import LETTER_TASKS, letter_pairs
from seqattn.decoding import greedy
from seqattn.models import ModelConfig, Seq2SeqAttention, build_model
from seqattn.training import fit

KINDS = ("global", "local-m", "local-p")
PAIRS, SHORTEST, LONGEST, LETTERS, WINDOW = 3_000, 3, 10, 12, 2
TESTED, JUDGED = (10, 15, 25), 200  # letters, and sentences of each length
TOKENS, STEPS, WARMUP, RATES, SEEDS = 256, 300, 20, (0.003, 0.01, 0.03), 3
WATCHED = (0, 75, 150, 300)  # updates at which local-p's centres are kept
SIZES, REACH, D, ROUNDS, SECONDS = (128, 256, 512, 1024, 2048, 4096), 16, 32, 7, 0.3
WIDTHS = (0, 1, 2, 3, 5, 10)


def read(task: str) -> dict[str, list[TextPair]]:
    """Draw a task's sentences: the longer ones are new to every model."""
    parts = {
        "train": (PAIRS, SHORTEST, LONGEST),
        "valid": (JUDGED, SHORTEST, LONGEST),
        **{str(size): (JUDGED, size, size) for size in TESTED},
    }
    return {
        part: letter_pairs(task, *sizes, letters=LETTERS, seed=seed)
        for seed, (part, sizes) in enumerate(parts.items())
    }


def build(kind: str, words: Vocabularies) -> Seq2SeqAttention:
    """Build a translator of letters."""
    window = {} if kind == "global" else {"window": WINDOW}
    config = ModelConfig(
        "luong", d_embed=32, d_hidden=48, d_encoder=24, dropout=0.0, input_feeding=False,
        attention=kind, score="general", **window,
    )  # fmt: skip
    model = build_model(config, *map(len, words))
    assert isinstance(model, Seq2SeqAttention)
    return model


def train(task: str, kind: str, lr: float, seed: int) -> dict:
    """Train one model and judge it; with where local-p looked on the way."""
    data = read(task)
    words = Vocabularies.learn(data["train"], ("en", "fr"))
    torch.manual_seed(seed)
    model = build(kind, words)
    longest = data[str(LONGEST)]
    centres: dict[int, list[float]] = {}

    def watch(update: int) -> None:
        if update in WATCHED:
            centres[update] = look_at_centres(model, longest, words)

    started = time.process_time()
    history = fit(
        model, Batches(encode_pairs(data["train"], words), tokens=TOKENS), steps=STEPS, lr=lr,
        warmup=WARMUP, guess=True, seed=seed, watch=watch if kind == "local-p" else None,
        every=WATCHED[1],
    )  # fmt: skip
    seconds = time.process_time() - started
    return {
        "right": {part: accuracy(model, data[part], words) for part in data if part != "train"},
        "loss": statistics.mean(history.losses[-20:]),
        "centres": centres,
        "seconds": seconds,
    }


def accuracy(model: Seq2SeqAttention, pairs: list[TextPair], words: Vocabularies) -> float:
    """Share of the target's letters that greedy search writes at their place."""
    examples = encode_pairs(pairs, words)
    batch = make_batch(examples, range(len(examples)))
    found = greedy(model, batch.source, batch.lengths, max_len=batch.targets.shape[1]).tokens
    right = total = 0
    for written, example in zip(found, examples, strict=True):
        wanted = example.target[:-1]
        right += sum(int(a) == b for a, b in zip(written, wanted, strict=False))
        total += len(wanted)
    return right / total


def look_at_centres(
    model: Seq2SeqAttention, pairs: list[TextPair], words: Vocabularies
) -> list[float]:
    """Give local-p's mean centre at each step of known targets, by its formula."""
    examples = encode_pairs(pairs, words)
    batch = make_batch(examples, range(len(examples)))
    attention = model.decoder.attention
    assert isinstance(attention, LocalAttention)
    asked: list[torch.Tensor] = []
    hook = attention.register_forward_pre_hook(lambda _, given: asked.append(given[0]))
    with evaluating(model), torch.no_grad():
        model(batch.source, batch.lengths, batch.inputs)
        features = torch.tanh(asked[0] @ attention.W_p.mT) @ attention.v_p
        centres = batch.lengths.unsqueeze(1) * features.sigmoid()
    hook.remove()
    return centres.mean(0).tolist()


def yardsticks(task: str) -> dict[str, dict[str, float]]:
    """Judge rules that need no model: a letter at random, and the letter at the same place."""
    data = read(task)
    found: dict[str, dict[str, float]] = {"at random": {}, "same place": {}, "window": {}}
    half = LETTERS // 2
    for size in map(str, TESTED):
        same = total = seen = 0
        for pair in data[size]:
            source, target = pair.source.split(), pair.target.split()
            code = [chr((ord(x) - ord("a") + half) % LETTERS + ord("a")) for x in source]
            same += sum(a == b for a, b in zip(code, target, strict=False))
            total += len(target)
            seen += sum(abs(i - t) <= WINDOW for i, t in pair.links or ())
        found["at random"][size] = 1 / LETTERS
        found["same place"][size] = same / total
        found["window"][size] = seen / total
    return found


def near_the_diagonal(gold: Path, text: Path) -> dict:
    """Share of sure links with |i - t| and |i - t S/T| up to each width, counted from 0."""
    plain, scaled = [], []
    pairs = list(zip(gold.read_text().splitlines(), text.read_text().splitlines(), strict=True))
    for links, sentences in pairs:
        source, target = (side.split() for side in sentences.split("|||"))
        for link in links.split():
            if "-" in link:
                i, t = (int(place) - 1 for place in link.split("-"))
                plain.append(abs(i - t))
                scaled.append(abs(i - t * len(source) / len(target)))
    return {
        "pairs": len(pairs),
        "links": len(plain),
        "widths": WIDTHS,
        "plain": [sum(x <= width for x in plain) / len(plain) for width in WIDTHS],
        "scaled": [sum(x <= width for x in scaled) / len(scaled) for width in WIDTHS],
    }


def three_ways(size: int) -> dict[str, Callable[[], object]]:
    """Give one self-attention as it is computed in full, under a mask, and gathered."""
    torch.manual_seed(0)
    x = torch.randn(1, size, D)
    whole, mask = ScaledDotProductAttention(), window_mask(size, REACH)[None]
    return {
        "full": lambda: whole(x, x, x),
        "mask": lambda: whole(x, x, x, mask),
        "gathered": lambda: windowed_attention(x, x, x, REACH),
    }


@torch.no_grad()
def costs(size: int) -> dict:
    """Time the three ways in turns, one round after the other."""
    ways = three_ways(size)
    masked, gathered = ways["mask"](), ways["gathered"]()
    torch.testing.assert_close(gathered.context, masked.context, atol=1e-5, rtol=0)
    times: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(ROUNDS):
        for name, way in ways.items():
            started, calls = time.process_time(), 0
            while time.process_time() - started < SECONDS:
                way()
                calls += 1
            times[name].append((time.process_time() - started) / calls)
    return {name: [1e3 * x for x in found] for name, found in times.items()}


def main() -> None:
    """Train, judge, time, write."""
    parser = study_parser("local", __doc__.splitlines()[0])
    parser.add_argument("--hansards", type=Path, nargs=2, metavar=("GOLD", "TEXT"))
    options = parser.parse_args()
    torch.set_num_threads(1)
    study = Study("local", options.work, options.result)
    if options.hansards:
        hansards = near_the_diagonal(*options.hansards)
    else:
        hansards = json.loads(options.result.read_text(encoding="utf-8"))["hansards"]

    def run(task: str, kind: str, lr: float, seed: int) -> dict:
        return study.run(f"{task}-{kind}-lr{lr}-seed{seed}", train, task, kind, lr, seed)

    runs: dict[str, dict[str, list[dict]]] = {task: {} for task in LETTER_TASKS}
    rates: dict[str, dict[str, dict[str, float]]] = {task: {} for task in LETTER_TASKS}
    for task in LETTER_TASKS:
        for kind in KINDS:
            found = {lr: run(task, kind, lr, 0)["right"]["valid"] for lr in RATES}
            rates[task][kind] = {str(lr): right for lr, right in found.items()}
            best = max(RATES, key=found.__getitem__)
            runs[task][kind] = [run(task, kind, best, seed) for seed in range(SEEDS)]
    timed = {str(size): study.run(f"costs-{size}", costs, size) for size in SIZES}
    seconds = [one["seconds"] for task in runs.values() for kind in task.values() for one in kind]
    card = study.card(
        pairs=PAIRS,
        letters=f"{SHORTEST} to {LONGEST}, of {LETTERS}",
        window=WINDOW,
        updates=STEPS,
        seeds=SEEDS,
        **{"test sentences": JUDGED, "longest training": round(max(seconds))},
    )
    rules = {task: yardsticks(task) for task in LETTER_TASKS}
    study.write(
        {
            "card": card, "rules": rules, "runs": runs, "rates": rates,
            "costs": {"d": D, "window": REACH, "rounds": ROUNDS, "milliseconds": timed},
            "hansards": hansards,
        }
    )  # fmt: skip


if __name__ == "__main__":
    main()

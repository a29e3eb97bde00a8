"""Words that announce another one far behind them: ``python -m benchmarks.prefixes``.

German verbs such as *zubereiten* come in two parts: *Ein Mann bereitet am Herd Essen zu*. Who is to
name the last word must have kept the second, or look back at it. The next-word model of
:mod:`benchmarks.self_attention`, one layer of self-attention and a readout, learns from German
captions of Multi30k. It is judged on the captions of three test sets that end in such a prefix, and
so is a count of which word followed which, which sees one word back. Number of updates and
learning rate were fixed before; nothing is chosen by looking at results.

Writes ``seqattn/data/measured/prefixes.json`` for the chapters on self-attention and on the
Transformer: shares and nats of each seed, and for the first caption of :mod:`benchmarks.captions`
where the last word looks. Finished trainings are kept in ``--work`` and not repeated.
"""

import itertools
import statistics
import time
from collections import Counter

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from benchmarks.captions import PREFIXES, SOURCE, choose
from benchmarks.self_attention import SEEDS, NextWord, loss_of
from benchmarks.study import Study, study_parser
from seqattn.context_managers import evaluating
from seqattn.data import read_multi30k, tokenize
from seqattn.models.transformer import sinusoidal_positions

TESTS = ("test_2016_flickr", "test_2017_flickr", "test_2017_mscoco")
UPDATES, BATCH, LR, LEAST = 1_000, 64, 0.003, 4
DIGITS = 4


def captions(split: str) -> list[list[str]]:
    """Read the German captions of a split as lists of tokens."""
    return [tokenize(pair.source, "de") for pair in read_multi30k(split, "de", "en")]


def held_out() -> list[list[str]]:
    """Read the test captions that differ from all training captions."""
    known = {tuple(words) for words in captions("train")}
    return [words for split in TESTS for words in captions(split) if tuple(words) not in known]


def vocabulary(lines: list[list[str]]) -> dict[str, int]:
    """Number the words that occur often enough; 0 pads, 1 and 2 mark the ends, 3 is any other."""
    counts = Counter(word for words in lines for word in words)
    return {w: i for i, w in enumerate((w for w, n in counts.items() if n >= LEAST), 4)}


def as_ids(words: list[str], ids: dict[str, int]) -> Tensor:
    """Give a caption as ids, with marks at its ends."""
    return torch.tensor([1, *(ids.get(word, 3) for word in words), 2])


def prefix_at(words: list[str]) -> int | None:
    """Say where the separated prefix stands, if the caption ends in one."""
    last = len(words) - 1 - (words[-1] == ".")
    return last if words[last] in PREFIXES else None


def count_pairs(lines: list[list[str]], test: list[list[str]]) -> dict[str, float]:
    """Name each prefix by the word before it: the one that followed it most often."""
    followed: dict[str, Counter[str]] = {}
    for words in lines:
        for before, word in itertools.pairwise(words):
            followed.setdefault(before, Counter())[word] += 1
    usual = Counter(words[at] for words in lines if (at := prefix_at(words)) is not None)
    right, among = [], []
    for words in test:
        if (at := prefix_at(words)) is not None:
            seen = followed.get(words[at - 1], Counter())
            right.append(max(seen, key=lambda word: seen[word], default="") == words[at])
            said = max(PREFIXES, key=lambda prefix: (seen[prefix], usual[prefix]))
            among.append(said == words[at])
    return {"named right": statistics.mean(right), "right among prefixes": statistics.mean(among)}


def train(seed: int) -> dict:
    """Train a model; judge it on all test captions, and on the prefixes among them."""
    lines, test = captions("train"), held_out()
    ids = vocabulary(lines)
    rows = [as_ids(words, ids) for words in lines]
    torch.manual_seed(seed)
    model, dice = NextWord(len(ids) + 4, leaks=False), torch.Generator().manual_seed(seed)
    optimizer = torch.optim.Adam(model.parameters(), lr=LR)
    started = time.process_time()
    for _ in range(UPDATES):
        chosen = torch.randint(len(rows), (BATCH,), generator=dice).tolist()
        line = pad_sequence([rows[i] for i in chosen], batch_first=True)
        loss = loss_of(model(line[:, :-1]), line[:, 1:])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    seconds = time.process_time() - started
    prefixes = torch.tensor([ids[prefix] for prefix in PREFIXES])
    right, among, nats = [], [], []
    with evaluating(model):
        padded = pad_sequence([as_ids(words, ids) for words in test], batch_first=True)
        loss = loss_of(model(padded[:, :-1]), padded[:, 1:]).item()
        for words in test:
            if (at := prefix_at(words)) is not None:
                # The row of the word before names it.
                log_p = model(as_ids(words, ids)[None, : at + 1])[0, -1].log_softmax(-1)
                wanted = ids[words[at]]
                right.append(int(log_p.argmax()) == wanted)
                among.append(int(prefixes[log_p[prefixes].argmax()]) == wanted)
                nats.append(-float(log_p[wanted]))
    return {
        "seconds": seconds,
        "nats a word": loss,
        "prefixes": len(nats),
        "nats of the prefix": statistics.mean(nats),
        "named right": statistics.mean(right),
        "right among prefixes": statistics.mean(among),
        **({"maps": maps_of(model, ids)} if seed == SEEDS[0] else {}),
    }


@torch.no_grad()
def maps_of(model: NextWord, ids: dict[str, int]) -> list[dict]:
    """Say where the heads look in the captions of the book, from the first mark on."""
    found = []
    for line, pair in choose(read_multi30k(TESTS[0], "de", "en")):
        words = tokenize(pair.source, "de")
        row = as_ids(words, ids)[None, :-1]
        x = model.embedding(row)
        x = x + sinusoidal_positions(row.shape[1], x.shape[2])
        looked = model.attention(x, mask=model.mask(row.shape[1]))
        probabilities = model(row)[0].softmax(-1)
        wanted = [ids.get(word, 3) for word in words] + [2]
        found.append(
            {
                "line": line,
                "reads": ["<bos>", *words],
                "known": [word in ids for word in words],
                "weights": [
                    [[round(w, DIGITS) for w in r] for r in head]
                    for head in looked.weights[0].tolist()
                ],
                "next": [round(float(p[word]), DIGITS) for p, word in zip(probabilities, wanted)],
            }
        )
    return found


def main() -> None:
    """Train, judge, write."""
    options = study_parser("prefixes", __doc__).parse_args()
    study = Study("prefixes", options.work, options.result)
    torch.set_num_threads(1)
    runs = [study.run(f"self-attention-{seed}", train, seed) for seed in SEEDS]
    maps = runs[0].pop("maps")
    lines, test = captions("train"), held_out()
    endings = Counter(words[at] for words in test if (at := prefix_at(words)) is not None)
    learned = Counter(words[at] for words in lines if (at := prefix_at(words)) is not None)
    usual = learned.most_common(1)[0][0]
    study.write(
        {
            "card": study.card(
                seeds=len(SEEDS),
                updates=UPDATES,
                captions=len(lines),
                words=len(vocabulary(lines)),
                source=SOURCE,
                **{"processor seconds": round(sum(run["seconds"] for run in runs))},
            ),
            "runs": runs,
            "counting pairs": count_pairs(lines, test),
            # Who always says the prefix that ends most training captions.
            "always the most frequent": endings[usual] / endings.total(),
            "tested on": {"captions": len(test), "that end in a prefix": endings.total()},
            "endings": dict(endings.most_common()),
            "maps": maps,
        }
    )


if __name__ == "__main__":
    main()

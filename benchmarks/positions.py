"""What positions are worth, and how far they carry: ``python -m benchmarks.positions``.

Small Transformers learn short pairs of the toy corpus. They differ in how order is put in: by
sines on both sides, on the source side or the target side alone, by learned vectors, by turning
queries and keys, or not at all. Each translates test sentences, the
same sentences with their words shuffled, and longer ones than it was trained on. Others learn from
sentences as long as those: what they lose on long ones is not for want of having seen such places.
Nothing is chosen by how it fares: settings were fixed before.

Writes ``seqattn/data/measured/positions.json``. Finished trainings are kept in ``--work`` and not
repeated.
"""

import time
from collections import Counter, defaultdict
from random import Random

import torch

from benchmarks.study import Study, study_parser
from seqattn.data import FIVE, Batches, TextPair, Vocabularies, detokenize, encode_pairs, tokenize
from seqattn.data.grammar import Pair, by_length, splits
from seqattn.metrics import corpus_bleu
from seqattn.models import Transformer
from seqattn.models.transformer import NoPositions
from seqattn.training import fit
from seqattn.translator import Translator

SEEDS = (1, 2, 3)
KINDS = ("none", "sinusoidal", "learned", "rotary", "source alone", "target alone")
LAYERS, HEADS, D_MODEL, D_FEEDFORWARD = 2, 4, 48, 96
PAIRS, LONGEST, JUDGED = 12_000, 8, 400  # words of a source in training; test sentences
LONGER = ("rotary", "none", "sinusoidal", "learned", "source alone", "target alone")  # more updates
PRACTISED = ("none", "sinusoidal")  # more updates, and long sentences among them
UPDATES, MORE, LR, TOKENS = 400, 1000, 0.005, 512
TABLE = 16  # rows of the learned positions: more than training reaches
LENGTHS, EACH = (4, 6, 8, 10, 12, 16), 100  # words of a source; test sentences of each length
WHO = ("the cat sees the dog", "the dog sees the cat")


def read() -> tuple[dict[str, list[TextPair]], dict[int, list[TextPair]]]:
    """Draw short pairs, and test pairs of each length whose words they hold.

    What the chapter has translated is no training pair.
    """
    drawn = splits(PAIRS, 1, JUDGED, max_len=LONGEST)
    shown = {" ".join(tokenize(pair.source, "en")) for pair in FIVE} | {*WHO}
    learnt = [pair for pair in drawn.train if pair.source_text not in shown]
    longer = by_length(LENGTHS, EACH, known=[*drawn.train, *drawn.test], seed=1)
    groups = {n: [text(pair) for pair in longer if len(pair.source) == n] for n in LENGTHS}
    return {"train": [text(p) for p in learnt], "test": [text(p) for p in drawn.test]}, groups


def read_long(
    data: dict[str, list[TextPair]], groups: dict[int, list[TextPair]]
) -> dict[str, list[TextPair]]:
    """Draw as many training pairs of up to the longest of the lengths; the test pairs stay.

    None of them is a test pair, or a sentence that the chapter has translated.
    """
    judged = [pair for pairs in (data["test"], *groups.values()) for pair in pairs]
    kept = {" ".join(tokenize(pair.source, "en")) for pair in (*judged, *FIVE)} | {*WHO}
    drawn = splits(PAIRS, 1, 1, max_len=max(LENGTHS)).train
    return {**data, "train": [text(pair) for pair in drawn if pair.source_text not in kept]}


def text(pair: Pair) -> TextPair:
    """Give a pair as it is printed."""
    return TextPair(detokenize(pair.source, "en"), detokenize(pair.target, "fr"), pair.links)


def build(vocabularies: Vocabularies, kind: str, seed: int) -> Transformer:
    """Build a translator; kinds of one side are sinusoidal there, and nothing on the other."""
    torch.manual_seed(seed)
    model = Transformer(
        *map(len, vocabularies), d_model=D_MODEL, heads=HEADS, layers=LAYERS,
        d_feedforward=D_FEEDFORWARD, dropout=0.0, max_len=TABLE,
        positions="sinusoidal" if kind.endswith("alone") else kind,
    )  # fmt: skip
    if kind == "source alone":
        model.target_positions = NoPositions()
    if kind == "target alone":
        model.source_positions = NoPositions()
    return model


def shuffled(pairs: list[TextPair]) -> list[TextPair]:
    """Put each source's words into another order; the rest stays.

    Sentences of which no other order can be told are left as they are.
    """
    dice, found = Random(0), []
    for pair in pairs:
        words = tokenize(pair.source, "en")
        order = words[:]
        while order == words and len({*words}) > 1:
            dice.shuffle(order)
        found.append(TextPair(" ".join(order), pair.target, pair.links))
    return found


def bleu(texts: list[str], pairs: list[TextPair]) -> float:
    """Score translations."""
    return corpus_bleu(texts, [pair.target for pair in pairs]).score


def translate(translator: Translator, sources: list[str]) -> list[str]:
    """Translate by greedy search."""
    return [found.text for found in translator.translate(sources, beam=1)]


def train(
    data: dict[str, list[TextPair]],
    groups: dict[int, list[TextPair]],
    kind: str,
    seed: int,
    updates: int = UPDATES,
) -> dict:
    """Train one translator, and ask it everything."""
    vocabularies = Vocabularies.learn(data["train"], ("en", "fr"))
    model = build(vocabularies, kind, seed)
    batches = Batches(encode_pairs(data["train"], vocabularies), tokens=TOKENS)
    started = time.process_time()
    fit(model, batches, steps=updates, lr=LR, guess=True, seed=seed)
    seconds = time.process_time() - started
    translator = Translator(model.eval(), vocabularies)
    test = data["test"]
    mixed = shuffled(test)
    straight, crossed = (translate(translator, [p.source for p in ps]) for ps in (test, mixed))
    found = {
        "seconds": seconds,
        "weights": sum(p.numel() for p in model.parameters()),
        "bleu": bleu(straight, test),
        "shuffled": bleu(crossed, test),
        "same": sum(a == b for a, b in zip(straight, crossed, strict=True)) / len(test),
        "by length": {},
        "who": translate(translator, list(WHO)),
        "five": translate(translator, [pair.source for pair in FIVE]),
    }
    for length, pairs in groups.items():
        try:
            texts = translate(translator, [pair.source for pair in pairs])
        except ValueError as refusal:
            found["by length"][length] = str(refusal)
        else:
            found["by length"][length] = bleu(texts, pairs)
    if kind == "sinusoidal":
        model.source_positions = model.target_positions = NoPositions()
        found["taken away"] = {
            "bleu": bleu(translate(translator, [pair.source for pair in test]), test),
            "who": translate(translator, list(WHO)),
        }
    return found


def rules(data: dict[str, list[TextPair]]) -> dict[str, float]:
    """Score what needs no order, and what needs no learning.

    ``word by word``: for each source word the French word it is linked to most often in training.
    ``right words at random``: the reference's own words, shuffled.
    """
    counts: dict[str, Counter] = defaultdict(Counter)
    for pair in data["train"]:
        source, target = tokenize(pair.source, "en"), tokenize(pair.target, "fr")
        for i, j in pair.links:
            counts[source[i]][target[j]] += 1
    likely = {word: found.most_common(1)[0][0] for word, found in counts.items()}
    test, dice = data["test"], Random(0)

    def by_word(sentence: str) -> str:
        return detokenize([likely.get(w, "") for w in tokenize(sentence, "en")], "fr")

    def at_random(sentence: str) -> str:
        words = tokenize(sentence, "fr")
        return detokenize(dice.sample(words, len(words)), "fr")

    return {
        "word by word": bleu([by_word(pair.source) for pair in test], test),
        "right words at random": bleu([at_random(pair.target) for pair in test], test),
    }


def main() -> None:
    """Train, ask, write."""
    options = study_parser("positions", __doc__).parse_args()
    study = Study("positions", options.work, options.result)
    data, groups = read()
    runs: dict[str, list[dict]] = {kind: [] for kind in KINDS}
    for seed in SEEDS:
        for kind in KINDS:
            key = f"{kind.replace(' ', '-')}-seed{seed}"
            runs[kind].append(study.run(key, train, data, groups, kind, seed))
    # Some learn to use order later than others: the same with more updates.
    longer: dict[str, list[dict]] = {kind: [] for kind in LONGER}
    for seed in SEEDS:
        for kind in LONGER:
            key = f"{kind.replace(' ', '-')}-longer-seed{seed}"
            longer[kind].append(study.run(key, train, data, groups, kind, seed, MORE))
    # And with long sentences in training: is it their length, or that they were never seen?
    long = read_long(data, groups)
    practised: dict[str, list[dict]] = {kind: [] for kind in PRACTISED}
    for seed in SEEDS:
        for kind in PRACTISED:
            key = f"{kind}-practised-seed{seed}"
            practised[kind].append(study.run(key, train, long, groups, kind, seed, MORE))
    everyone = [r for found in (runs, longer, practised) for rs in found.values() for r in rs]
    card = study.card(
        layers=LAYERS, heads=HEADS, d_model=D_MODEL, updates={"few": UPDATES, "many": MORE},
        seeds=len(SEEDS), pairs={split: len(pairs) for split, pairs in data.items()},
        **{
            "words at most": LONGEST,
            "with long sentences": {"pairs": len(long["train"]), "words at most": max(LENGTHS)},
            "test pairs of each length": EACH,
            "rows of a learned table": TABLE,
            "processor seconds": round(sum(r["seconds"] for r in everyone)),
        },
    )  # fmt: skip
    mixed = shuffled(data["test"])
    shown = [
        {"source": pair.source, "shuffled": other.source}
        for pair, other in zip(data["test"][:3], mixed, strict=False)
    ]
    study.write(
        {
            "card": card,
            "rules": study.run("rules", rules, data),
            "runs": runs,
            "longer": longer,
            "practised": practised,
            "who": list(WHO),
            "shuffled": shown,
        }
    )


if __name__ == "__main__":
    main()

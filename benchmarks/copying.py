"""Let a translator meet names that it has never seen: ``python -m benchmarks.copying``.

A small language about people: who sees, helps or misses whom, or whose sister. Two names stand in
each sentence, drawn from a hundred invented ones, which the vocabulary does not hold; validation
and test sentences have others. Some verbs exchange subject and object, so that names come
in another order in French. Two models, alike up to the copying: the pointer-generator, and
attention that can write ``<unk>`` at best. What the second wrote is mended afterwards in two ways:
each ``<unk>`` gives way to the source word that its row looks at most, or, by a rule that sees no
weights, to the unknown words of the source in their order.

The learning rate of each model is chosen on validation sentences with one seed; then three others
are judged once on test sentences. Writes ``seqattn/data/measured/copying.json`` for the chapter on
coverage and copying. Finished trainings are kept in ``--work`` and not repeated.
"""

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from random import Random
from statistics import mean
from typing import Any, NamedTuple

import torch

from benchmarks.maps import yardsticks
from benchmarks.study import Study, study_parser
from seqattn.data import Batches, TextPair, Vocabularies, detokenize, encode_pairs, tokenize
from seqattn.data.batches import make_batch
from seqattn.evaluation import alignment_links
from seqattn.metrics import alignment_error_rate
from seqattn.models import ModelConfig, PointerGenerator, build_model, evaluating
from seqattn.training import fit
from seqattn.translator import Translation, Translator

NAMES, PAIRS, VALID, TEST = 100, 3_000, 200, 400
TOKENS, EPOCHS, RATES, SEEDS = 384, 4, (0.005, 0.01), 3
OPTIONS: dict[str, Any] = {"d_embed": 48, "d_hidden": 48, "dropout": 0.0, "readout": "linear"}
MODELS = {"copies": True, "writes": False}
UNKNOWN = "<unk>"
SHOWN = TextPair("ada misses bo's sister every day", "la sœur de bo manque à ada tous les jours")

VERBS = (
    "see voit,hear entend,know connaît,love aime,help aide,follow suit,invite invite,greet salue"
)
SWAPPING = "miss manque,like plaît"  # she misses him: il lui manque
NOUNS = (
    "brother le frère,sister la sœur,dog le chien,friend la copine,doctor le médecin,boss la cheffe"
)
WHEN = "today aujourd'hui,every day tous les jours,in the garden dans le jardin,at school à l'école"


class Said(NamedTuple):
    """A phrase in both languages; words that translate each other have a label in common."""

    en: list[tuple[str, str]]
    fr: list[tuple[str, str]]


def speak(names: Sequence[str], dice: Random) -> TextPair:
    """Draw a sentence about people of these names."""
    subject, object_ = (someone(name, dice) for name in dice.sample(names, 2))
    swaps, denied = dice.random() < 0.4, dice.random() < 0.25
    base, verb = dice.choice((SWAPPING if swaps else VERBS).split(",")).split()
    if denied:
        en = [("does", "not"), ("not", "not"), (base, "verb")]
        fr = [("n'" if verb[0] in "aeiou" else "ne", "not"), (verb, "verb"), ("pas", "not")]
    else:
        en, fr = [(base + ("es" if base[-1] == "s" else "s"), "verb")], [(verb, "verb")]
    first, last = (object_.fr, to(subject.fr)) if swaps else (subject.fr, object_.fr)
    when = dice.choice(["", *WHEN.split(",")])
    size = 1 if when.startswith("today") else 2 if when.startswith(("every", "at")) else 3
    tail = when.split()
    said = Said(
        [*subject.en, *en, *object_.en, *((word, "when") for word in tail[:size])],
        [*first, *fr, *last, *((w, "when") for w in tokenize(" ".join(tail[size:]), "fr"))],
    )
    links = {
        (i, t)
        for i, (_, one) in enumerate(said.en)
        for t, (_, other) in enumerate(said.fr)
        if one == other
    }
    return TextPair(
        detokenize([word for word, _ in said.en], "en"),
        detokenize([word for word, _ in said.fr], "fr"),
        frozenset(links),
    )


def someone(name: str, dice: Random) -> Said:
    """Speak of a person by name, or of somebody of that person's."""
    if dice.random() < 0.5:
        return Said([(name, name)], [(name, name)])
    noun, article, nom = dice.choice(NOUNS.split(",")).split()
    of, whose = "d'" if vowel(name) else "de", f"{name}'s {noun}"
    return Said(
        [(name, name), ("'s", "'s " + name), (noun, whose)],
        [(article, whose), (nom, whose), (of, "'s " + name), (name, name)],
    )


def to(phrase: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Put *à* in front; *à le* becomes *au*."""
    if phrase[0][0] == "le":
        return [("au", phrase[0][1]), *phrase[1:]]
    return [("à", "verb"), *phrase]


def invent(dice: Random) -> list[str]:
    """Make up names, every second of which begins with a vowel."""
    found: dict[str, None] = {}
    while len(found) < NAMES:
        name = "".join(dice.choice("bdgkmprtvz") + dice.choice("aeiou") for _ in range(3))
        found[name[1:] if len(found) % 2 else name] = None
    return list(found)


def vowel(name: str) -> bool:
    """Say whether *de* becomes *d'* before a name."""
    return name[0] in "aeiou"


def read() -> dict[str, list[TextPair]]:
    """Draw sentences; those of validation and test are about other people."""
    dice = Random(0)
    seen, unseen = invent(dice), invent(dice)
    unseen = [name for name in unseen if name not in seen]
    found = {
        split: [speak(names, dice) for _ in range(count)]
        for split, names, count in (
            ("train", seen, PAIRS), ("valid", unseen, VALID), ("test", unseen, TEST),
        )
    }  # fmt: skip
    # The vocabulary is that of the sentences without their names.
    found["vocabulary"] = [
        TextPair(*(without(text, seen, at) for text, at in zip(pair[:2], ("en", "fr"))))
        for pair in found["train"]
    ]
    return found


def without(text: str, names: Sequence[str], language: str) -> str:
    """Leave names out of a sentence."""
    words = [word for word in tokenize(text, language) if word not in names]
    return detokenize(words, language)


def train(data: dict[str, list[TextPair]], name: str, lr: float, seed: int) -> dict[str, Any]:
    """Train a model and judge it on validation and test sentences."""
    torch.manual_seed(seed)
    words = Vocabularies.learn(data["vocabulary"], ("en", "fr"), joint=True)
    model = build_model(ModelConfig(copy=MODELS[name], **OPTIONS), *map(len, words))
    batches = Batches(encode_pairs(data["train"], words, copying=MODELS[name]), tokens=TOKENS)
    started = time.process_time()
    fit(model, batches, steps=EPOCHS * len(batches.plan(0)), lr=lr, guess=True, seed=seed)
    seconds, translator = time.process_time() - started, Translator(model, words)
    found = {split: judge(translator, data[split]) for split in ("valid", "test")}
    return found | {
        "seconds": seconds,
        "words": len(words.source),
        "shown": cut_open(translator),
    }


def judge(translator: Translator, pairs: Sequence[TextPair]) -> dict[str, Any]:
    """Translate greedily, mend what is unknown in two ways, and count."""
    found = translator.translate([pair.source for pair in pairs], beam=1)
    # Without copying, a translation calls its unknown words <unk>; here they keep their names.
    read_as = [[*tokenize(pair.source, "en"), "<eos>"] for pair in pairs]
    found = [replace(one, source_tokens=words) for one, words in zip(found, read_as, strict=True)]
    unknown = [translator.vocabularies.source.unknown(pair.source) for pair in pairs]
    ways = {
        "as written": [one.tokens for one in found],
        "largest weight": [mend_by_weights(one) for one in found],
        "in order": [mend_in_order(one, own) for one, own in zip(found, unknown, strict=True)],
    }
    result: dict[str, Any] = {way: count(texts, pairs, unknown) for way, texts in ways.items()}
    # A row that writes a name, or the unknown word in its place: does it look at such a word most?
    looks = [
        one.source_tokens[row.argmax()] in ({token} if token != UNKNOWN else own)
        for one, own in zip(found, map(set, unknown), strict=True)
        for token, row in zip(one.tokens, one.weights, strict=True)
        if token == UNKNOWN or token in own
    ]
    gold = [pair.links for pair in pairs]
    maps = [alignment_links(one.weights) for one in translator.force(pairs)]
    return result | {
        "rows on the name": [sum(looks), len(looks)],
        "aer": alignment_error_rate(maps, gold, gold),
    }


def rules(data: dict[str, list[TextPair]]) -> dict[str, float]:
    """Give the error rates of links that look at no word: at random, and a stretched diagonal."""
    found = yardsticks(data["train"], data["test"])
    return {name: found[name] for name in ("at random", "diagonal")}


def at_random(pairs: Sequence[TextPair]) -> float:
    """Say how often a source word that is drawn at random is the name that belongs at a place."""
    return mean(1 / len(tokenize(pair.source, "en")) for pair in pairs)


def mend_by_weights(one: Translation) -> list[str]:
    """Put for each unknown word the source word with the largest weight in its row."""
    assert one.weights is not None
    rows = zip(one.tokens, one.weights[:, :-1].argmax(-1).tolist(), strict=True)
    return [one.source_tokens[best] if word == UNKNOWN else word for word, best in rows]


def mend_in_order(one: Translation, unknown: Sequence[str]) -> list[str]:
    """Put the unknown words of the source for those of the translation, the first for the first."""
    left = list(unknown)
    return [left.pop(0) if word == UNKNOWN and left else word for word in one.tokens]


def count(
    texts: Sequence[Sequence[str]], pairs: Sequence[TextPair], unknown: Sequence[Sequence[str]]
) -> dict[str, Any]:
    """Count names that are there, names in their place, whole sentences, and *de* before a name."""
    found: Counter[str] = Counter({"of a name": 0, "right de": 0, "of a vowel": 0})
    for text, pair, own in zip(texts, pairs, unknown, strict=True):
        wanted, got = tokenize(pair.target, "fr"), list(text[:-1])
        found["sentences"] += wanted == got
        # As if *de* and *d'* were one word:
        found["but for de"] += [{"d'": "de"}.get(w, w) for w in wanted] == [
            {"d'": "de"}.get(w, w) for w in got
        ]
        found["swapped"] += swapped(pair, own)
        found["swapped sentences"] += swapped(pair, own) and wanted == got
        for place, word in enumerate(wanted):
            if word not in own:
                continue
            found["names"] += 1
            found["written"] += word in got
            found["in place"] += got[place : place + 1] == [word]
            before = wanted[place - 1] if place else ""
            if before in ("de", "d'") and word in got[1:]:
                found["of a name"] += 1
                found["right de"] += got[got.index(word, 1) - 1] == before
                found["of a vowel"] += before == "d'"
    return dict(found) | {"of": len(pairs)}


def swapped(pair: TextPair, own: Sequence[str]) -> bool:
    """Say whether the names stand in another order in French."""
    return list(own) != [word for word in tokenize(pair.target, "fr") if word in own]


@torch.no_grad()
def cut_open(translator: Translator) -> dict[str, Any]:
    """Show every step of one sentence: the row of weights and, if there is one, the gate."""
    [one] = translator.translate([SHOWN.source], beam=1)
    assert one.weights is not None
    shown: dict[str, Any] = {
        "source": one.source_tokens,
        "tokens": one.tokens,
        "weights": [[round(x, 4) for x in row] for row in one.weights.tolist()],
    }
    model, words = translator.model, translator.vocabularies
    if isinstance(model, PointerGenerator):
        pair = TextPair(SHOWN.source, one.text)
        batch = make_batch(encode_pairs([pair], words, copying=True), [0])
        known = [x.masked_fill(x >= len(words.source), 3) for x in (batch.source, batch.inputs)]
        with evaluating(model):
            raw = model.model(known[0], batch.lengths, known[1]).logits[0]
        best = raw[:, :-1].softmax(-1).topk(3)
        shown["gate"] = [round(x, 4) for x in raw[:, -1].sigmoid().tolist()]
        shown["written"] = [
            [[token, round(p, 4)] for token, p in zip(words.target.tokens(ids), ps, strict=True)]
            for ids, ps in zip(best.indices.tolist(), best.values.tolist(), strict=True)
        ]
    return shown


def chosen_by(valid: dict[str, Any]) -> int:
    """Sentences that are right once unknown words gave way to those of the source in order."""
    return valid["in order"]["sentences"]


def main() -> None:
    """Train, judge, write."""
    options = study_parser("copying", __doc__).parse_args()
    study = Study("copying", options.work, options.result)
    data = read()

    def run(name: str, lr: float, seed: int) -> dict:
        return study.run(f"{name}-lr{lr}-seed{seed}", train, data, name, lr, seed)

    runs, rates = {}, {}
    for name in MODELS:
        rates[name] = {str(lr): chosen_by(run(name, lr, 0)["valid"]) for lr in RATES}
        best = max(RATES, key=lambda lr: rates[name][str(lr)])
        runs[name] = [run(name, best, seed) for seed in range(1, SEEDS + 1)]
    everyone = [r for found in runs.values() for r in found]
    card = study.card(
        **{
            "pairs": len(data["train"]),
            "names": NAMES,
            "tested on": len(data["test"]),
            "words": everyone[0]["words"],
            "source word at random": at_random(data["test"]),
            "epochs": EPOCHS,
            "seeds": SEEDS,
            "longest training": round(max(r["seconds"] for r in everyone)),
        }
    )
    study.write({"card": card, "yardsticks": rules(data), "runs": runs, "rates": rates})


if __name__ == "__main__":
    main()

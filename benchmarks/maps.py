"""Read the maps of translators trained from three seeds: ``python -m benchmarks.maps``.

The chapter on reading maps measures the translator that comes with the package, which is one
training. Here its questions are asked again of three smaller ones: how wrong are the links, and
how wrong if the rows are shifted? Which words are written with a wide look? Does a spread-out row
warn of a wrong word, a small total of a word left out? One that reads pieces of words has its maps
merged.

Writes ``seqattn/data/measured/maps.json``. Finished trainings are kept in ``--work`` and not
repeated.
"""

import tempfile
import time
from collections import defaultdict

import torch
from torch import Tensor

from benchmarks.study import Study, study_parser
from seqattn.data import (
    FIVE,
    Batches,
    CorpusConfig,
    TextPair,
    encode_pairs,
    toy_by_length,
    toy_corpus,
)
from seqattn.evaluation import alignment_links, ibm1_links, missing_words
from seqattn.evaluation.evaluate import METHOD, THRESHOLD
from seqattn.metrics import (
    alignment_error_rate,
    attention_entropy,
    corpus_bleu,
    coverage_report,
    merge_pieces,
    roc_area,
    symmetrize,
)
from seqattn.models import ModelConfig
from seqattn.training import TrainingConfig, new_run
from seqattn.translator import Translator

LR, PENALTY = 0.01, 0.2
SUBWORDS = 500  # tokens of each language, in the models that read pieces
CONFIG = ModelConfig("bahdanau", d_embed=64, d_hidden=96, dropout=0.0)
SEEDS = {"additive": (1, 2, 3), "pieces": (1,)}
UPDATES = {"additive": None, "pieces": 500}  # None: one pass over the pairs
EXAMPLE = 0  # of FIVE: the sentence whose map of pieces is kept
GROUPS = {"3 to 12": range(3, 13), "15 to 21": range(15, 22), "24 to 30": range(24, 31)}
SHIFTS = (-2, -1, 0, 1, 2)
THRESHOLDS = (0, 0.1, 0.25, 0.5)
OFTEN = 30  # rows of a word, at least, for a mean of its own


def train(name: str, seed: int) -> dict:
    """Train one model in a folder that is thrown away, and read its maps."""
    training = TrainingConfig(
        steps=UPDATES[name], epochs=1, batch_tokens=512, lr=LR, warmup=100, smoothing=0.0,
        doubly_stochastic_penalty=PENALTY, validate_every=10**6, seed=seed,
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        started = time.process_time()
        new_run(folder, CorpusConfig(), model=CONFIG, training=training, overwrite=True,
                subwords=SUBWORDS if name == "pieces" else 0, quiet=True).run()  # fmt: skip
        seconds = time.process_time() - started
        translator = Translator.load(folder)
    found = read(translator) if name == "additive" else in_pieces(translator, toy_corpus()["test"])
    return {"seconds": seconds, **found}


def bleu(translator: Translator, pairs: list[TextPair]) -> float:
    """Judge greedy translations."""
    texts = [t.text for t in translator.translate([pair.source for pair in pairs], beam=1)]
    return corpus_bleu(texts, [pair.target for pair in pairs]).score


def read(translator: Translator) -> dict:
    """Ask the chapter's questions of one translator of whole words."""
    test = toy_corpus()["test"]
    return {
        "bleu": bleu(translator, test),
        "links": error_rates(translator, test),
        "words": by_word(translator, test),
        "groups": {name: long_sentences(translator, lengths) for name, lengths in GROUPS.items()},
        "five": [t.text for t in translator.translate([pair.source for pair in FIVE])],
    }


def shifted(weights: Tensor, by: int) -> Tensor:
    """Move rows down by some steps; the rows that come free are empty."""
    return torch.stack(
        [
            weights[t - by] if 0 <= t - by < len(weights) else torch.zeros_like(weights[0])
            for t in range(len(weights))
        ]
    )


def error_rates(translator: Translator, pairs: list[TextPair]) -> dict[str, float]:
    """Give AER for several ways from a map to links, and for rows that are shifted."""
    gold = [pair.links for pair in pairs]
    maps = [known.weights for known in translator.force(pairs)]
    ways = {
        "rows": [alignment_links(w) for w in maps],
        "columns": [alignment_links(w, "source") for w in maps],
        METHOD: [alignment_links(w, METHOD, THRESHOLD) for w in maps],
        "swapped": [{(t, i) for i, t in alignment_links(w)} for w in maps],
    }
    ways |= {f"shift {n:+d}": [alignment_links(shifted(w, n)) for w in maps] for n in SHIFTS}
    return {way: alignment_error_rate(links, gold, gold) for way, links in ways.items()}


def in_pieces(translator: Translator, pairs: list[TextPair]) -> dict:
    """Give AER of a model of pieces with its maps merged, and of wrong ways to merge them.

    "any piece" links two words where the largest weight of any piece of the one is on any piece of
    the other; "first piece" keeps the first piece's row and column of each word.
    """
    gold = [pair.links for pair in pairs]
    ways: dict[str, list] = defaultdict(list)
    for pair, known in zip(pairs, translator.force(pairs), strict=True):
        rows, columns = words_of(translator, pair)
        ways["merged"].append(alignment_links(merge_pieces(known.weights, rows, columns)))
        links = alignment_links(known.weights)
        ways["any piece"].append({(columns[i], rows[t]) for i, t in links})
        ways["as if words"].append(links)
        first = [[ns.index(n) for n in range(ns[-1] + 1)] for ns in (rows, columns)]
        ways["first piece"].append(alignment_links(known.weights[first[0]][:, first[1]]))
    [example] = translator.force([FIVE[EXAMPLE]])
    rows, columns = words_of(translator, FIVE[EXAMPLE])
    kept = {
        "source": example.source_tokens,
        "target": example.tokens,
        "source_words": columns,
        "target_words": rows,
        "weights": [[round(w, 3) for w in row] for row in example.weights.tolist()],
    }
    rates = {way: alignment_error_rate(links, gold, gold) for way, links in ways.items()}
    return {"bleu": bleu(translator, pairs), "links": rates, "example": kept}


def words_of(translator: Translator, pair: TextPair) -> tuple[list[int], list[int]]:
    """Number the words of target and source pieces, the end of the sentence as one of its own."""
    texts = zip(translator.vocabularies, pair[:2], ("en", "fr"), strict=True)
    source, target = (v.word_numbers(text, language) for v, text, language in texts)
    return [*target, target[-1] + 1], [*source, source[-1] + 1]


def by_word(translator: Translator, pairs: list[TextPair]) -> dict[str, list[float]]:
    """Give for each frequent target word: rows, mean entropy in nats, share looked at rightly.

    The share is of the rows that have gold links; it is -1 where none has. Words that are not
    frequent, nearly all of them nouns, verbs and adjectives, are taken together.
    """
    rows = defaultdict(list)
    for pair, known in zip(pairs, translator.force(pairs), strict=True):
        links = dict((t, i) for i, t in alignment_links(known.weights))
        nats = attention_entropy(known.weights[None])[0].tolist()
        for t, (word, entropy) in enumerate(zip(known.tokens, nats, strict=True)):
            linked = any(target == t for _, target in pair.links)
            rows[word].append((entropy, (links.get(t), t) in pair.links if linked else None))
    often = {word: seen for word, seen in sorted(rows.items()) if len(seen) >= OFTEN}
    often["rarer words"] = [row for word, seen in rows.items() if word not in often for row in seen]
    found = {}
    for word, seen in often.items():
        judged = [right for _, right in seen if right is not None]
        share = sum(judged) / len(judged) if judged else -1.0
        found[word] = [len(seen), sum(e for e, _ in seen) / len(seen), share]
    return found


def long_sentences(translator: Translator, lengths: range) -> dict[str, float]:
    """Ask of sentences of some lengths what entropy and totals of the weights warn of."""
    source = translator.vocabularies.source
    pairs = [pair for pair in toy_by_length() if len(source.encode(pair.source)) in lengths]
    found = warnings_of_errors(translator, pairs)
    written = translator.translate([pair.source for pair in pairs], beam=1)
    found["bleu"] = corpus_bleu([t.text for t in written], [p.target for p in pairs]).score
    missing, totals, shares, default, absolute = [], [], [], [], []
    for pair, t in zip(pairs, written, strict=True):
        gone = missing_words(t.text, pair)
        words = slice(len(gone))
        report = coverage_report(t.weights[None])
        missing += gone
        totals += report.total[0, words].tolist()
        shares += (report.total[0, words] / report.share[0]).tolist()
        default += report.under[0, words].tolist()
        absolute += coverage_report(t.weights[None], expected=1.0).under[0, words].tolist()
    found |= {
        "words": len(missing),
        "missing": sum(missing),
        "area of totals": roc_area([-x for x in totals], missing),
        "area of shares": roc_area([-x for x in shares], missing),
    }
    for name, marked in (("share", default), ("absolute", absolute)):
        hits = sum(m and g for m, g in zip(marked, missing, strict=True))
        found[f"precision, {name}"] = hits / max(1, sum(marked))
        found[f"recall, {name}"] = hits / max(1, sum(missing))
    lengths_written = [(len(t.tokens), len(t.source_tokens)) for t in written]
    found["written per source token"] = sum(a for a, _ in lengths_written) / sum(
        b for _, b in lengths_written
    )
    return found


def warnings_of_errors(translator: Translator, pairs: list[TextPair]) -> dict[str, float]:
    """Force the true words; does a wide look, or a doubtful output, go with a wrong next word?"""
    examples = encode_pairs(pairs, translator.vocabularies)
    entropies, relative, doubts, wrong = [], [], [], []
    translator.model.eval()
    for batch in Batches(examples, tokens=4096).epoch(0):
        with torch.no_grad():
            logits, weights = translator.model(batch.source, batch.lengths, batch.inputs)
        real = batch.targets != 0
        best, guess = logits.softmax(-1).max(-1)
        wrong.append((guess != batch.targets)[real])
        doubts.append(1 - best[real])
        entropies.append(attention_entropy(weights)[real])
        # By the sentence's own length, the end of the sentence included.
        mask = batch.source != 0
        relative.append(attention_entropy(weights, mask, normalized=True)[real])
    errors = torch.cat(wrong)
    return {
        "tokens": len(errors),
        "errors": int(errors.sum()),
        "entropy": torch.cat(entropies).mean().item(),
        "relative entropy": torch.cat(relative).mean().item(),
        "area of entropy": roc_area(torch.cat(entropies), errors),
        "area of relative entropy": roc_area(torch.cat(relative), errors),
        "area of doubt": roc_area(torch.cat(doubts), errors),
    }


def figure(translator: Translator) -> dict[str, list[list[float]]]:
    """Give AER of the test pairs for each way, threshold (0 is none) and shift, for MapReader."""
    test = toy_corpus()["test"]
    gold, forced = [pair.links for pair in test], translator.force(test)
    found = {}
    ways = {"rows": "target", "columns": "source", METHOD: METHOD}
    for name, way in ways.items():
        found[name] = [
            [
                alignment_error_rate(
                    [alignment_links(shifted(f.weights, n), way, t or None) for f in forced],
                    gold,
                    gold,
                )
                for n in SHIFTS
            ]
            for t in THRESHOLDS
        ]
    return found


def yardsticks(train: list[TextPair], test: list[TextPair]) -> dict[str, float]:
    """Error rates of what needs no network: IBM Model 1, the diagonal, one link at random."""
    gold = [pair.links for pair in test]
    ends = [[max(side) + 1 for side in zip(*links, strict=True)] for links in gold]
    forward, backward = (ibm1_links(train, test, reverse=back) for back in (False, True))
    dice = torch.Generator().manual_seed(0)
    rules = {
        "ibm1": forward,
        "ibm1 grow-diag": [symmetrize(f, b) for f, b in zip(forward, backward, strict=True)],
        "diagonal": [{((2 * t + 1) * m // (2 * n), t) for t in range(n)} for m, n in ends],
        "at random": [
            {(int(torch.randint(m, (), generator=dice)), t) for t in range(n)} for m, n in ends
        ],
        "best of one a row": [{min(g for g in ls if g[1] == t) for _, t in ls} for ls in gold],
    }
    return {name: alignment_error_rate(links, gold, gold) for name, links in rules.items()}


def main() -> None:
    """Train, read, write."""
    options = study_parser("maps", __doc__).parse_args()
    study = Study("maps", options.work, options.result)
    runs = {
        name: [study.run(f"{name}-seed{seed}", train, name, seed) for seed in seeds]
        for name, seeds in SEEDS.items()
    }
    toy = Translator.load("toy")
    shipped = study.run("shipped", lambda: read(toy) | {"figure": figure(toy)})
    rules = study.run("yardsticks", lambda: yardsticks(*map(toy_corpus().get, ("train", "test"))))
    card = study.card(
        **{
            "pairs": len(toy_corpus()["train"]),
            "tested on": len(toy_corpus()["test"]),
            "long": len(toy_by_length()),
            "updates": {name: steps or "one pass" for name, steps in UPDATES.items()},
            "seeds": {name: len(seeds) for name, seeds in SEEDS.items()},
            "longest training": round(max(r["seconds"] for rs in runs.values() for r in rs)),
        }
    )
    study.write({"card": card, "yardsticks": rules, "shipped": shipped, "runs": runs})


if __name__ == "__main__":
    main()

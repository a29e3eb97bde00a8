"""Search wider, and look at what becomes of the translations: ``python -m benchmarks.searching``.

The toy translator that comes with the package translates sentences as short as those that it was
trained on, and sentences far longer, with beams of several widths and length penalties. For each
setting: BLEU, mean log-probability, length, and the errors of the search and of the model. For some
pairs of settings: by how much BLEU differs, with an interval from resampled sentences.

Writes ``seqattn/data/measured/searching.json`` for the chapter on training and searching.
"""

from typing import Any

import numpy as np
from sacrebleu.metrics import BLEU

from benchmarks.study import Study, study_parser
from seqattn.data import TextPair, tokenize, toy_by_length, toy_corpus
from seqattn.metrics import corpus_bleu
from seqattn.translator import Translator

SETTINGS = [(1, 0.0), (2, 0.0), (5, 0.0), (20, 0.0), (5, 0.6), (20, 0.6), (5, 1.0), (20, 1.0)]
PAIRED = [((5, 0.0), (1, 0.0)), ((20, 0.0), (5, 0.0)), ((5, 1.0), (5, 0.0)), ((20, 1.0), (20, 0.0))]
LONG, SHORT, SAMPLES = (18, 24), 300, 1000


def read() -> dict[str, list[TextPair]]:
    """Draw test pairs: short ones of the corpus, and long ones of the same words."""
    shortest, longest = LONG
    corpus = toy_corpus(40_000)
    return {
        "trained on": corpus["train"],
        "short": corpus["test"][:SHORT],
        "long": [
            pair
            for pair in toy_by_length()
            if shortest <= len(tokenize(pair.source, "en")) <= longest
        ],
    }


def name(beam: int, alpha: float) -> str:
    """Name a setting, as the table of results does."""
    return f"{beam}, {alpha:g}"


def judge(translator: Translator, pairs: list[TextPair]) -> dict[str, Any]:
    """Translate with every setting."""
    references = [pair.target for pair in pairs]
    forced = np.array([found.score for found in translator.force(pairs)])
    settings, counts = {}, {}
    for beam, alpha in SETTINGS:
        found = translator.translate(
            [pair.source for pair in pairs], beam=beam, length_penalty=alpha
        )
        texts = [one.text for one in found]
        scores = np.array([one.score for one in found])
        wrong = np.array([text != wanted for text, wanted in zip(texts, references, strict=True)])
        counts[beam, alpha] = np.array([_counts(*both) for both in zip(texts, references)])
        settings[name(beam, alpha)] = {
            "bleu": corpus_bleu(texts, references).score,
            "log_p": float(scores.mean()),
            "length": _words(texts) / _words(references),
            "exact": int((~wrong).sum()),
            # Up to rounding: one is computed step by step, the other all at once.
            "search errors": int((wrong & (scores < forced - 1e-3)).sum()),
            "model errors": int((wrong & (scores >= forced - 1e-3)).sum()),
        }
    rows = np.random.default_rng(0).integers(len(pairs), size=(SAMPLES, len(pairs)))
    differences = {}
    for one, other in PAIRED:
        by = _bleu(counts[one][rows].sum(1)) - _bleu(counts[other][rows].sum(1))
        differences[f"{name(*one)} against {name(*other)}"] = {
            "bleu": settings[name(*one)]["bleu"] - settings[name(*other)]["bleu"],
            "interval": np.quantile(by, [0.025, 0.975]).tolist(),
        }
    return {"settings": settings, "differences": differences, "forced": float(forced.mean())}


def _lengths(pairs: list[TextPair]) -> list[int]:
    """Give the fewest and the most words of a set of sources."""
    counts = [len(tokenize(pair.source, "en")) for pair in pairs]
    return [min(counts), max(counts)]


def _words(texts: list[str]) -> int:
    return sum(len(text.split()) for text in texts)


def _counts(text: str, reference: str) -> list[int]:
    """Count what BLEU adds up over sentences: n-grams found, n-grams written, words of both."""
    found = BLEU(effective_order=False).sentence_score(text, [reference])
    return [*found.counts, *found.totals, found.sys_len, found.ref_len]


def _bleu(counts: np.ndarray) -> np.ndarray:
    """BLEU of the sums (..., 10)."""
    precisions = np.log(counts[..., :4] / counts[..., 4:8]).mean(-1)
    brevity = np.minimum(0.0, 1 - counts[..., 9] / counts[..., 8])
    return 100 * np.exp(precisions + brevity)


def main() -> None:
    """Translate, judge, write."""
    options = study_parser("searching", __doc__).parse_args()
    study = Study("searching", options.work, options.result)
    translator, data = Translator.load("toy"), read()
    found = {split: study.run(split, judge, translator, data[split]) for split in ("short", "long")}
    card = study.card(
        sentences={split: len(data[split]) for split in found},
        **{
            "words": {split: _lengths(pairs) for split, pairs in data.items()},
            "resamples": SAMPLES,
        },
    )
    study.write({"card": card, **found})


if __name__ == "__main__":
    main()

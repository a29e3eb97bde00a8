"""Counting words beside self-attention on real reviews: ``python -m benchmarks.reviews``.

Sentences of film reviews, praise or not, for the chapter on self-attention: is a layer in which
words look at each other better than the mean of their embeddings, or than naive Bayes? The same
rates of dropout are tried for both readers; validation sentences choose rate and state, and test
sentences are looked at once. All judge the same sentences, so the two readers are also compared
sentence by sentence, each by the majority of its seeds. The text is downloaded, or read where
``SEQATTN_DATA`` says. Where it is not to be had, invented sentences stand in, and what they give is
written into the work folder: the book shows real ones alone.

Writes ``seqattn/data/measured/reviews.json``, without any of the text. Finished trainings are kept
in ``--work`` and not repeated.
"""

import math
import statistics
from functools import partial

import torch

from benchmarks.self_attention import CLASSIFIER, SEEDS, Labelled, Reader, classify, naive_bayes
from benchmarks.study import Study, study_parser
from seqattn.data import CorpusError, DownloadError, invented_reviews, read_reviews

READERS = {
    "bag of words": {"attends": False, "positions": False},
    "self-attention with positions": {"attends": True, "positions": True},
}
DROPOUTS = (0.0, 0.3, 0.6)
UPDATES, EVERY = 800, 50


SOURCE = "Pang and Lee (2005), sentence polarity data set v1.0"
INVENTED = "invented sentences, seqattn.data.invented_reviews: no real text could be read"
CUTS = {"train": slice(3_000), "valid": slice(3_000, 4_000), "test": slice(4_000, 5_000)}


def sentences() -> tuple[dict[str, Labelled], str]:
    """Read the splits, as words and labels; and say where they come from."""
    try:
        found, source = {split: read_reviews(split) for split in CUTS}, SOURCE
    except (CorpusError, DownloadError) as missing:
        print(f"reviews: {missing}\nreviews: going on with {INVENTED}", flush=True)
        drawn = invented_reviews(5_000)
        found, source = {split: drawn[cut] for split, cut in CUTS.items()}, INVENTED
    return {
        split: [(one.text.split(), int(one.positive)) for one in part]
        for split, part in found.items()
    }, source


def alone_right(one: list[list[int]], other: list[list[int]]) -> tuple[int, int, float]:
    """Count the sentences on which one reader alone is right, and those on which the other is.

    Of a reader's seeds the majority speaks. Also give how probable a division at least as uneven is
    if a coin divides.
    """
    first, second = (
        [2 * sum(marks) > len(marks) for marks in zip(*runs, strict=True)] for runs in (one, other)
    )
    gained = sum(a and not b for a, b in zip(first, second, strict=True))
    lost = sum(b and not a for a, b in zip(first, second, strict=True))
    n, least = gained + lost, min(gained, lost)
    luck = 2 * sum(math.comb(n, i) for i in range(least + 1)) / 2**n
    return gained, lost, min(1.0, luck)


def main() -> None:
    """Train, choose, write."""
    options = study_parser("reviews", __doc__).parse_args()
    torch.set_num_threads(1)
    (data, source), readers, marks, seconds = sentences(), {}, [], 0.0
    work, result = options.work, options.result
    if source == INVENTED:
        work, result = work / "invented", work / "invented.json"
    study = Study("reviews", work, result)
    for name, parts in READERS.items():
        tried = {}
        for dropout in DROPOUTS:
            build = partial(Reader, causal=False, hidden=False, dropout=dropout, **parts)
            tried[dropout] = [
                study.run(f"{name}-{dropout}-{seed}", classify, data, build, UPDATES, EVERY, seed)
                for seed in SEEDS
            ]
        seconds += sum(run["seconds"] for runs in tried.values() for run in runs)
        valid = {rate: [run["valid"] for run in runs] for rate, runs in tried.items()}
        best = max(valid, key=lambda rate: statistics.mean(valid[rate]))
        marks.append([run["right"] for run in tried[best]])
        readers[name] = {
            "dropout": best,
            "valid": {str(rate): shares for rate, shares in valid.items()},
            "test": [run["test"] for run in tried[best]],
        }
    labels = [label for _, label in data["test"]]
    positive = statistics.mean(labels)
    bayes = naive_bayes(data)
    bag, attends, luck = alone_right(*marks)
    study.write(
        {
            "card": study.card(
                seeds=len(SEEDS),
                sentences={split: len(part) for split, part in data.items()},
                classifier={**CLASSIFIER, "updates": UPDATES, "dropouts": list(DROPOUTS)},
                source=source,
                **{"processor seconds": round(seconds)},
            ),
            "readers": readers,
            "alone right": {"bag": bag, "attends": attends, "luck": luck},
            "naive Bayes": bayes,
            # Half of a 95 percent interval of such a share: what chance alone moves.
            "half interval": 1.96 * math.sqrt(bayes * (1 - bayes) / len(labels)),
            "larger class": max(positive, 1 - positive),
        }
    )


if __name__ == "__main__":
    main()

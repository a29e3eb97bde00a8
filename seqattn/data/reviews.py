"""Film reviews: 10,662 sentences, half of them praise, each with its label.

The text is not part of this package. It is downloaded on first use, checked, and kept in the user's
cache; with ``SEQATTN_DATA`` set, a local copy is read instead, from a folder ``rt-polarity``.

References
----------
Pang and Lee (2005), "Seeing Stars: Exploiting Class Relationships for Sentiment Categorization with
Respect to Rating Scales", whose sentence polarity data set v1.0 this is.
"""

import os
from pathlib import Path
from random import Random
from typing import NamedTuple

from seqattn.data.downloads import VARIABLE, cache_folder, fetch, local_copy

__all__ = ["Review", "read_reviews"]

FOLDER = "rt-polarity"
# A copy in which the two files lie as their authors made them, at a fixed commit.
URL = (
    "https://raw.githubusercontent.com/yoonkim/CNN_sentence/"
    "4abc8df1de694999ff54826854d3ebc53e3e9c20"
)
BY_HAND = (
    "get {name} from rt-polaritydata.tar.gz, sentence polarity data set v1.0, at "
    "https://www.cs.cornell.edu/people/pabo/movie-review-data"
)
SHA256 = {
    "rt-polarity.neg": "4ace77d558c3714723843f1d65b60c01e3417b208180f0728808d76ad0eeeaca",
    "rt-polarity.pos": "2da124ec187a9d5a29c9f04e91c540e02baed5af8868f550a26bd6fd4dbf8bf0",
}
HELD_OUT = 1_000  # sentences of validation, and as many of test


class Review(NamedTuple):
    """A sentence of a review.

    Attributes
    ----------
    text : str
        Lower case, with spaces between the words, as published.
    positive : bool
        Whether it is praise.
    """

    text: str
    positive: bool


def read_reviews(split: str, *, seed: int = 0) -> list[Review]:
    """Read a split of the sentences: 1,000 for validation, 1,000 for test, the rest to train on.

    A sentence that occurs more than once counts once, so that no test sentence was trained on.

    Parameters
    ----------
    split : {"train", "valid", "test"}
        Which part; the authors published none.
    seed : int
        Of the order in which the parts are cut.

    Returns
    -------
    list of Review
        In an order that follows from the seed.

    Raises
    ------
    ValueError
        If there is no such split.
    CorpusError
        If the local copy is incomplete.
    DownloadError
        If the files are neither here nor to be had, or altered.
    """
    if split not in ("train", "valid", "test"):
        raise ValueError(f"split is {split!r}; expected 'train', 'valid' or 'test'")
    found: dict[str, Review] = {}
    for name in SHA256:
        # A few quotation marks and dashes lie outside Latin-1.
        text = _file(name).read_text(encoding="cp1252", errors="replace")
        for line in text.split("\n"):
            if sentence := " ".join(line.split()):
                found.setdefault(sentence, Review(sentence, name.endswith(".pos")))
    every = list(found.values())
    Random(seed).shuffle(every)
    cuts = {"valid": slice(HELD_OUT), "test": slice(HELD_OUT, 2 * HELD_OUT)}
    return every[cuts.get(split, slice(2 * HELD_OUT, None))]


def _file(name: str) -> Path:
    by_hand = BY_HAND.format(name=name)
    if local := os.environ.get(VARIABLE):
        path = Path(local) / FOLDER / name
        return local_copy(path, SHA256[name], like=name, by_hand=by_hand)
    cache = cache_folder() / FOLDER
    return fetch(
        f"{URL}/{name}",
        cache / name,
        SHA256[name],
        otherwise=f". Or by hand: {by_hand}, and put it into {cache}",
    )

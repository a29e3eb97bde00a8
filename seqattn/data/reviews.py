"""Film reviews: 10,662 sentences, half of them praise, each with its label.

The text is not part of this package. It is downloaded on first use, checked, and kept in the user's
cache; with ``SEQATTN_DATA`` set, a local copy is read instead, from a folder ``rt-polarity``. Where
neither is to be had, :func:`invented_reviews` draws sentences that nobody wrote.

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
from seqattn.data.tasks import BAD, GOOD

__all__ = ["Review", "invented_reviews", "read_reviews"]

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

SUBJECTS = ("the film", "the story", "this comedy", "the second half", "its music", "the ending")
ASIDES = ("", ", which we saw twice ,", ", made on a small budget ,", ", as friends had told us ,")
NEGATIONS = ("not", "never")
DEGREES = ("", "really", "very", "quite")
TAILS = (".", "to me .", ", say the critics .", "from first to last .", "for children .")


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


def invented_reviews(count: int, *, seed: int = 0) -> list[Review]:
    """Draw sentences such as "the story was not really dull .", which stand in for real ones.

    One adjective praises or blames, and one in four stands behind *not* or *never*, which turns
    it round. Nothing else in a sentence has to do with its label.

    Parameters
    ----------
    count : int
        How many, from 1 to 10,000.
    seed : int
        Of the draw.

    Returns
    -------
    list of Review
        All different: slices of it are splits that share no sentence.

    Raises
    ------
    ValueError
        If there are not so many.

    Examples
    --------
    >>> one = invented_reviews(1, seed=4)[0]
    >>> one.text, one.positive
    ('the second half , as friends had told us , is not bad from first to last .', True)
    """
    if not 1 <= count <= 10_000:
        raise ValueError(f"count is {count}; expected 1 to 10,000")
    draw, found = Random(seed), dict[str, Review]()
    while len(found) < count:
        positive, negated = draw.random() < 0.5, draw.random() < 0.25
        words = [
            draw.choice(SUBJECTS),
            draw.choice(ASIDES),
            draw.choice(("is", "was")),
            draw.choice(NEGATIONS) if negated else "",
            draw.choice(DEGREES),
            draw.choice(GOOD if positive != negated else BAD),
            draw.choice(TAILS),
        ]
        text = " ".join(filter(None, words))
        found.setdefault(text, Review(text, positive))
    return list(found.values())


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

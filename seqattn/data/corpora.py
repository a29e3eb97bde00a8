"""Where sentence pairs come from: the toy grammar, Multi30k, or files of the user."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from seqattn.data.grammar import Pair, Splits, by_length, splits
from seqattn.data.multi30k import SPLITS, read_multi30k
from seqattn.data.pairs import (
    CorpusError,
    TextPair,
    hold_out,
    lower_case,
    read_pairs,
    read_table,
)
from seqattn.data.tokenization import detokenize

__all__ = ["CorpusConfig", "Reason", "read_split", "toy_by_length", "toy_corpus", "toy_reasons"]

# Held out of a user's own corpus where no files are named: at most so many
# for each part, and at most a tenth.
HELD_OUT = 1_000
# Of the toy corpus' test by length: words of the source, and pairs of each.
LENGTHS, EACH = range(3, 31, 3), 100
# Sentences with a reason, each of which comes twice.
REASONS = 1_200


# Which corpora read an option that not all of them read.
READ_BY = {
    **dict.fromkeys(("train", "valid", "test", "encoding"), ("files",)),
    "pairs": ("toy",),
    "seed": ("toy", "files"),
}


@dataclass(frozen=True)
class CorpusConfig:
    """A corpus as a few plain values: what a run stores, so that it can be read again.

    Attributes
    ----------
    name : {"toy", "multi30k", "files"}
        Where the pairs come from.
    source, target : str
        Languages, as in "en" and "fr".
    train, valid, test : tuple of str
        With "files": one path (a table with tabs, or the common beginning of two file names that
        end in the languages) or two (source and target). Where ``valid`` or ``test`` is empty,
        pairs are held out of ``train``.
    encoding : str
        Of the files.
    lowercase : bool
        Read everything in lower case, as much of the literature does.
    pairs : int
        With "toy": number of training pairs.
    seed : int
        Of the toy corpus, and of what is held out of files.

    Raises
    ------
    CorpusError
        If there is no such corpus, an option is of the wrong kind, or an option has no effect.
    """

    name: str = "toy"
    source: str = "en"
    target: str = "fr"
    train: tuple[str, ...] = ()
    valid: tuple[str, ...] = ()
    test: tuple[str, ...] = ()
    encoding: str = "utf-8"
    lowercase: bool = False
    pairs: int = 40_000
    seed: int = 0

    def __post_init__(self) -> None:
        if self.name not in ("toy", "multi30k", "files"):
            raise CorpusError(f"no corpus {self.name!r}; expected 'toy', 'multi30k' or 'files'")
        for option, kind, wanted in (
            ("encoding", str, "the name of an encoding"),
            ("lowercase", bool, "True or False"),
            ("pairs", int, "a whole number of at least 1"),
            ("seed", int, "a whole number"),
        ):
            value = getattr(self, option)
            right = isinstance(value, kind) and (kind is bool or not isinstance(value, bool))
            if not right or (option == "pairs" and value < 1):
                raise CorpusError(f"{option} is {value!r}; expected {wanted}")
        for split in ("train", "valid", "test"):
            if not isinstance(getattr(self, split), tuple):
                raise CorpusError(
                    f"{split} is {getattr(self, split)!r}; expected a tuple of one or two paths"
                )
        for option, users in READ_BY.items():
            value = getattr(self, option)
            if self.name not in users and value != getattr(type(self), option):
                meant = " and ".join(map(repr, users))
                raise CorpusError(
                    f"{option}={value!r} has no effect with {self.name!r}; it is for {meant}"
                )
        if self.name == "toy" and {self.source, self.target} != {"en", "fr"}:
            raise CorpusError(
                f"the toy corpus is English and French; got {self.source!r} and {self.target!r}"
            )
        if self.name == "files" and not self.train:
            raise CorpusError("no training files; expected one or two paths")

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "CorpusConfig":
        """Come back from ``dataclasses.asdict``, or from JSON, which knows no tuples.

        What had no effect, and was once let through, is left out.
        """
        plain: dict[str, Any] = {
            k: tuple(v) if isinstance(v, list) else v for k, v in values.items()
        }
        for option, users in READ_BY.items():
            if plain.get("name", cls.name) not in users:
                plain.pop(option, None)
        return cls(**plain)

    @property
    def languages(self) -> tuple[str, str]:
        """Source and target language."""
        return self.source, self.target


def read_split(corpus: CorpusConfig, split: str) -> list[TextPair]:
    """Read "train", "valid" or "test", or another test set of Multi30k by its name.

    Of the toy corpus, "long" is a test as well: 100 pairs each of 3, 6, ... 30 words, of which
    training has seen up to 12. With files, "all" is what the training files hold, before anything
    is held out.

    Raises
    ------
    CorpusError
        If there is no such split, or its files are not in order.

    Examples
    --------
    >>> read_split(CorpusConfig(pairs=800), "test")[0].target
    "le chat s'est assis sur le tapis"
    """
    pairs = _read_split(corpus, split)
    return [lower_case(pair) for pair in pairs] if corpus.lowercase else pairs


def _read_split(corpus: CorpusConfig, split: str) -> list[TextPair]:
    if corpus.name == "multi30k":
        return read_multi30k(split, corpus.source, corpus.target)
    if corpus.name == "files" and split == "all":
        return _read_files(corpus.train, corpus)
    if corpus.name == "toy" and split == "long":
        reverse = corpus.source == "fr"
        return toy_by_length(corpus.pairs, seed=corpus.seed, reverse=reverse).copy()
    if split not in ("train", "valid", "test"):
        last = "long" if corpus.name == "toy" else "all"
        other = f" ({split} is of Multi30k)" if split in SPLITS else ""
        raise CorpusError(f"no split {split!r}; expected train, valid, test or {last}{other}")
    if corpus.name == "toy":
        return toy_corpus(corpus.pairs, seed=corpus.seed, reverse=corpus.source == "fr")[
            split
        ].copy()
    paths = getattr(corpus, split)
    if paths and split != "train":
        return _read_files(paths, corpus)
    return _user_splits(corpus)[split]


@cache
def toy_corpus(
    train: int = 40_000, *, seed: int = 0, reverse: bool = False
) -> dict[str, list[TextPair]]:
    """Draw the toy corpus, as printed text with gold alignments.

    Parameters
    ----------
    train : int
        Number of training pairs; 500 are drawn for "valid" and 1,000 for "test" (fewer if there are
        few to train on).
    seed : int
        Of the draw.
    reverse : bool
        French to English.

    Returns
    -------
    dict of lists of TextPair
        "train", "valid" and "test", the same lists at each call: copy before you change them.
        :class:`~seqattn.data.Words` splits the text into the words that the links count.

    Examples
    --------
    >>> toy_corpus(800)["test"][0].source
    'the cat sat on the mat'
    """
    drawn = _draw_toy(train, seed)._asdict()
    return {split: _texts(pairs, reverse) for split, pairs in drawn.items()}


@cache
def toy_by_length(train: int = 40_000, *, seed: int = 0, reverse: bool = False) -> list[TextPair]:
    """Draw test pairs that grow, of words that the training pairs of :func:`toy_corpus` have.

    Parameters
    ----------
    train, seed, reverse
        Of the toy corpus that was trained on.

    Returns
    -------
    list of TextPair
        A hundred pairs each of 3, 6, ... 30 English tokens, none of them a training pair.

    Examples
    --------
    >>> len(toy_by_length(4000))
    1000
    """
    known = [*_draw_toy(train, seed).train, *_draw_toy(train, seed).valid]
    return _texts(by_length(LENGTHS, EACH, known=known, seed=seed + 1), reverse)


@dataclass(frozen=True)
class Reason:
    """A sentence, its class, and the one word that decides it.

    Attributes
    ----------
    tokens : tuple of str
        The sentence.
    label : int
        0 if it has *in*, 1 if it has *on*.
    place : int
        Position of that word, from 0.
    """

    tokens: tuple[str, ...]
    label: int
    place: int


@cache
def toy_reasons(train: int = 40_000, *, seed: int = 0) -> dict[str, list[Reason]]:
    """Give sentences of the toy corpus to classify for a known reason: is it *in* or *on*?

    Each sentence comes twice, once with either word, though one of the two may make little sense.
    So the other words say nothing, and whoever does not read this one is right half of the time.

    Parameters
    ----------
    train, seed
        Of the toy corpus, from which the first 1,200 sentences are taken that have exactly one of
        the two words, and not *in front*.

    Returns
    -------
    dict of list of Reason
        "train", "valid" (a tenth) and "test" (a fifth); the two of a kind stand side by side, in
        one part.

    Examples
    --------
    >>> one, other = toy_reasons(4000)["test"][:2]
    >>> [a == b for a, b in zip(one.tokens, other.tokens)].index(False) == one.place
    True
    """
    drawn = _draw_toy(train, seed)
    kept = dict.fromkeys(tuple(p.source) for p in (*drawn.train, *drawn.valid, *drawn.test))
    twins: dict[tuple[str, ...], tuple[Reason, Reason]] = {}
    for words in kept:
        places = [i for i, word in enumerate(words) if word in ("in", "on")]
        if len(places) == 1 and "front" not in words:
            before, after = words[: places[0]], words[places[0] + 1 :]
            one, other = (
                Reason((*before, word, *after), label, places[0])
                for label, word in enumerate(("in", "on"))
            )
            twins[one.tokens] = one, other
    pairs = [*twins.values()][:REASONS]
    test, valid = len(pairs) // 5, len(pairs) // 10
    parts = {
        "train": pairs[: -test - valid],
        "valid": pairs[-test - valid : -test],
        "test": pairs[-test:],
    }
    return {name: [one for two in part for one in two] for name, part in parts.items()}


@cache
def _draw_toy(train: int, seed: int) -> Splits:
    return splits(train, min(500, train // 4), min(1_000, train // 4), seed=seed)


def _texts(pairs: Iterable[Pair], reverse: bool) -> list[TextPair]:
    texts = [
        TextPair(detokenize(p.source, "en"), detokenize(p.target, "fr"), p.links) for p in pairs
    ]
    return [_reverse(pair) for pair in texts] if reverse else texts


def _reverse(pair: TextPair) -> TextPair:
    links = None if pair.links is None else frozenset((j, i) for i, j in pair.links)
    return TextPair(pair.target, pair.source, links)


def _user_splits(corpus: CorpusConfig) -> dict[str, list[TextPair]]:
    pairs = _read_files(corpus.train, corpus)
    size = min(HELD_OUT, len(pairs) // 10)
    missing = [split for split in ("test", "valid") if not getattr(corpus, split)]
    if missing and size < 1:
        raise CorpusError(
            f"{len(pairs)} pairs are too few to hold some out for {' and '.join(missing)}; "
            "expected at least 10, or files of their own"
        )
    train, *parts = hold_out(pairs, *[size] * len(missing), seed=corpus.seed)
    found = {"train": train, **dict(zip(missing, parts, strict=True))}
    for split, part in found.items():
        if not part:
            raise CorpusError(
                f"nothing is left for {split}: {len(pairs)} pairs have only "
                f"{len({pair.source for pair in pairs})} different sources, and equal sources stay "
                f"together; expected more, or files of their own for {split}"
            )
    return found


def _read_files(paths: tuple[str, ...], corpus: CorpusConfig) -> list[TextPair]:
    if len(paths) > 2:
        raise CorpusError(f"{len(paths)} files: {', '.join(paths)}; expected one or two")
    if len(paths) == 2:
        return read_pairs(*paths, encoding=corpus.encoding)
    [path] = paths
    if Path(path).is_file():
        return read_table(path, encoding=corpus.encoding)
    for end in ("", ".gz"):
        files = [f"{path}.{language}{end}" for language in corpus.languages]
        if any(Path(file).is_file() for file in files):
            return read_pairs(*files, encoding=corpus.encoding)
    if Path(path).is_dir():
        raise CorpusError(f"{path} is a folder; expected a table with tabs, or two aligned files")
    raise CorpusError(
        f"there is no file {path}, nor {path}.{corpus.source} and {path}.{corpus.target}; "
        "expected a table with tabs, two aligned files, or what two such names begin with"
    )

"""The words of the grammar: the tables, read into nouns, adjectives and verbs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TypeVar

from seqattn.data.grammar import english, french, tables

__all__ = ["Adjective", "Noun", "Verb", "adjective", "adjectives_for", "noun", "nouns_of", "verb"]

T = TypeVar("T")
UNCOUNTABLE = {"fare", "drink"}
ETRE = frozenset(["aller", "arriver", "partir", "rester", "revenir", "tomber", "venir"])


@dataclass(frozen=True, slots=True)
class Noun:
    """A noun or name; ``tags`` say what it is and hold its own English word."""

    en: str
    en_plural: str
    fr: str
    fr_plural: str
    feminine: bool
    tags: frozenset[str]

    @property
    def countable(self) -> bool:
        """Whether *a* can stand before it: an apple, but some bread."""
        return not self.tags & UNCOUNTABLE

    @property
    def human(self) -> bool:
        """Whether it is *who* rather than *that*."""
        return bool(self.tags & {"person", "kin", "name"})


@dataclass(frozen=True, slots=True)
class Adjective:
    """An adjective; ``before`` says where French puts it, ``comparative`` is "" if it has none."""

    en: str
    comparative: str
    fr: str
    feminine: str
    before: bool
    tags: frozenset[str]
    """What it may stand beside: "the tall tree"."""
    predicate_tags: frozenset[str]
    """What it may be said of: "the king is tall"."""


@dataclass(frozen=True, slots=True)
class Verb:
    """A verb of both languages, with who does it and to what."""

    base: str
    past: str
    participle: str
    particle: str
    infinitive: str
    clitic: str
    tail: str
    subjects: frozenset[str]
    objects: frozenset[str]
    traits: frozenset[str]

    @property
    def en(self) -> str:
        """The dictionary form, particle included: "look for"."""
        return f"{self.base} {self.particle}".strip()

    @property
    def with_etre(self) -> bool:
        """Whether its passé composé is made with être: elle est partie, elle s'est assise."""
        return self.clitic == "se" or self.infinitive in ETRE


def _read_noun(entry: str, group: str) -> Noun:
    en, fr, gender, *tags = entry.split()
    en, _, en_plural = en.partition("/")
    fr, _, fr_plural = fr.partition("/")
    return Noun(
        en=en,
        en_plural=en_plural or english.plural(en),
        fr=fr,
        fr_plural=fr_plural or french.plural(fr),
        feminine=gender == "f",
        tags=frozenset([en, group, *tags]),
    )


def _read_adjective(line: str, *, before: bool) -> Adjective:
    en, rest = line.split(">")
    words = rest.split()
    comparative = words.pop(0)
    if comparative == "more":
        comparative += " " + words.pop(0)
    fr, _, feminine = words.pop(0).partition("/")
    tags = frozenset(tag for tag in words if not tag.startswith("="))
    said_of = tags | {tag[1:] for tag in words if tag.startswith("=")}
    return Adjective(
        en=en.strip().removesuffix("!"),
        comparative="" if comparative == "~" else comparative,
        fr=fr,
        feminine=feminine or (fr if fr.endswith("e") else fr + "e"),
        before=before,
        tags=tags,
        predicate_tags=frozenset() if "!" in en else said_of,
    )


def _read_verb(line: str) -> Verb:
    en, fr, subjects, objects, traits = (column.strip() for column in line.split("|"))
    forms, _, particle = en.partition(" ")
    base, *irregular = forms.split("/")
    if base == "be":
        irregular = ["was", "been"]
    past, participle = irregular or [english.past(base)] * 2
    fr = fr.replace("s'", "se ")
    clitic, _, rest = fr.partition(" ") if fr.startswith(("se ", "y ")) else ("", "", fr)
    infinitive, _, tail = rest.partition(" ")
    return Verb(
        base=base,
        past=past,
        participle=participle,
        particle=particle,
        infinitive=infinitive,
        clitic=clitic,
        tail=tail,
        subjects=frozenset(subjects.split()),
        objects=frozenset(objects.split()),
        traits=frozenset(traits.split()),
    )


def _lines(table: str) -> list[str]:
    return table.strip().splitlines()


NOUNS = tuple(
    _read_noun(entry, group) for group, table in tables.NOUNS.items() for entry in table.split(",")
)
NAMES = tuple(
    _read_noun(f"{name} {name} {gender}", "name")
    for name, gender in (entry.split() for entry in tables.NAMES.split(","))
)
ADJECTIVES = tuple(
    _read_adjective(line, before=side == "before")
    for side, table in tables.ADJECTIVES.items()
    for line in _lines(table)
)
VERBS = {
    frame: tuple(_read_verb(line) for line in _lines(table))
    for frame, table in tables.VERBS.items()
}
NUMERALS = {
    "two": "deux",
    "three": "trois",
    "four": "quatre",
    "five": "cinq",
    "six": "six",
    "seven": "sept",
    "eight": "huit",
    "nine": "neuf",
    "ten": "dix",
    "eleven": "onze",
    "twelve": "douze",
}


@cache
def noun(en: str) -> Noun:
    """Find a noun or name by its English singular.

    Examples
    --------
    >>> noun("mouse").en_plural, noun("mouse").fr, noun("mouse").feminine
    ('mice', 'souris', True)
    """
    return _only([entry for entry in NOUNS + NAMES if entry.en == en], "noun", en)


@cache
def adjective(en: str) -> Adjective:
    """Find an adjective by its English form."""
    return _only([entry for entry in ADJECTIVES if entry.en == en], "adjective", en)


@cache
def verb(en: str, frame: str = "") -> Verb:
    """Find a verb by its English dictionary form, in one frame where several share it.

    Examples
    --------
    >>> verb("look for").infinitive, verb("sit").clitic, verb("play", "TRANSITIVE").tail
    ('chercher', 'se', 'de')
    """
    frames = [frame] if frame else list(VERBS)
    found = [entry for name in frames for entry in VERBS[name] if entry.en == en]
    return _only(found, "verb", en)


def _only(found: list[T], kind: str, en: str) -> T:
    if not found:
        raise KeyError(f"no {kind} {en!r} in the lexicon; see seqattn/data/grammar/tables.py")
    return found[0]


@cache
def nouns_of(tags: frozenset[str]) -> tuple[Noun, ...]:
    """List the nouns that have one of the tags, in the order of the table."""
    return tuple(entry for entry in NOUNS if entry.tags & tags)


@cache
def adjectives_for(entry: Noun, *, predicate: bool = False) -> tuple[Adjective, ...]:
    """List the adjectives that may be said of a noun."""
    return tuple(
        adj for adj in ADJECTIVES if (adj.predicate_tags if predicate else adj.tags) & entry.tags
    )

"""English forms: plurals, verbs, the choice between *a* and *an*."""

from seqattn.data.grammar.phrases import Features

__all__ = ["be", "do", "gerund", "have", "past", "plural", "present", "spell"]

DOUBLED = {"begin", "forget", "get", "prefer", "run", "sit", "swim", "travel"}
VOWELS = set("aeiou")
# Sound decides, not spelling: "an hour", "a useful book".
AN_BEFORE_CONSONANT_LETTER = {"hour", "honest"}
A_BEFORE_VOWEL_LETTER = {"useful", "unicorn", "one"}


def plural(noun: str) -> str:
    """Add the plural ending; irregular plurals stand in the lexicon."""
    if noun.endswith(("s", "sh", "ch", "x")):
        return noun + "es"
    if noun.endswith("y") and noun[-2] not in VOWELS:
        return noun[:-1] + "ies"
    return noun + "s"


def third_person(base: str) -> str:
    """Add the ending of *he eats*, *she goes*, *it flies*."""
    if base == "have":
        return "has"
    return base + "es" if base.endswith("o") else plural(base)


def gerund(base: str) -> str:
    """Add *-ing*: eating, making, running, lying."""
    if base in DOUBLED:
        return base + base[-1] + "ing"
    if base.endswith("ie"):
        return base[:-2] + "ying"
    if base.endswith("e") and not base.endswith(("ee", "oe")) and base != "be":
        return base[:-1] + "ing"
    return base + "ing"


def past(base: str) -> str:
    """Add *-ed*; irregular pasts stand in the lexicon."""
    if base in DOUBLED:
        return base + base[-1] + "ed"
    if base.endswith("e"):
        return base + "d"
    if base.endswith("y") and base[-2] not in VOWELS:
        return base[:-1] + "ied"
    return base + "ed"


def _takes_s(subject: Features) -> bool:
    return subject.person == 3 and not subject.plural


def be(subject: Features, *, was: bool = False) -> str:
    """Choose among am, is, are, was and were."""
    if subject.person == 1 and not subject.plural:
        return "was" if was else "am"
    if _takes_s(subject):
        return "was" if was else "is"
    return "were" if was else "are"


def do(subject: Features) -> str:
    """Choose between do and does."""
    return "does" if _takes_s(subject) else "do"


def have(subject: Features) -> str:
    """Choose between have and has."""
    return "has" if _takes_s(subject) else "have"


def present(base: str, subject: Features) -> str:
    """Inflect a main verb in the simple present."""
    return third_person(base) if _takes_s(subject) else base


def spell(tokens: list[str]) -> list[str]:
    """Write *an* before a vowel sound.

    Examples
    --------
    >>> spell("a owl sees a useful apple".split())
    ['an', 'owl', 'sees', 'a', 'useful', 'apple']
    """
    spelt = list(tokens)
    for i in range(len(tokens) - 1):
        if tokens[i] == "a" and _begins_with_vowel_sound(tokens[i + 1]):
            spelt[i] = "an"
    return spelt


def _begins_with_vowel_sound(word: str) -> bool:
    if word in AN_BEFORE_CONSONANT_LETTER:
        return True
    return word[0] in VOWELS and word not in A_BEFORE_VOWEL_LETTER
